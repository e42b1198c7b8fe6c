//! The errors of arguments.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::GeometryError;
use crate::owners::OwnersError;

/// The reason why arguments cannot be used.
#[derive(Debug, Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("unknown option \"{0}\"; expected one of {KEYS}")]
    Unknown(String),
    /// The value is not of the kind that the option takes.
    #[error("{key}={value}: expected {expected}")]
    Value {
        /// The option.
        key: String,
        /// The value that was given.
        value: String,
        /// A description of the values that it takes.
        expected: &'static str,
    },
    /// There is no such cache.
    #[error("{key}: {source}")]
    Geometry {
        /// The option.
        key: &'static str,
        /// The reason why not.
        source: GeometryError,
    },
    /// Pseudo-LRU needs a power of two of ways.
    #[error("{key}=plru with {ways} ways: expected a power of two of ways; use lru or random")]
    Plru {
        /// The option.
        key: &'static str,
        /// Ways of the cache.
        ways: u32,
    },
    /// Memory cannot be given to an owner.
    #[error("{key}={value}: {source}")]
    Owners {
        /// The option.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The reason why not.
        source: OwnersError,
    },
    /// A CPU was given to two VMs.
    #[error("cpu={0} is given twice")]
    CpuTwice(usize),
    /// A CPU has a VM without memory.
    #[error("cpu={cpu}:{vm}: no vm={vm}:START+SIZE says which memory \"{vm}\" has")]
    NoMemory {
        /// The CPU.
        cpu: usize,
        /// Its VM.
        vm: String,
    },
    /// No folder for the results.
    #[error("out=DIR is missing: the folder in which the results go")]
    NoOut,
    /// The model's time without turns of CPUs.
    #[error(
        "time=model with quantum=0: expected a quantum above 0, within which timers are served"
    )]
    NoQuantum,
    /// A file of ranges cannot be read.
    #[error("ranges={path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason why not.
        source: io::Error,
    },
    /// A line of a file of ranges cannot be used.
    #[error("{path}:{line}: {source}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The reason why not.
        source: Box<OptionError>,
    },
}

const KEYS: &str = "out, format, preset, l1, l1-policy, l1i, fetch, llc, llc-shared, llc-policy, line, inclusive, prefetch, seed, \
                    page, mhz, l1-hit, llc-hit, memory, bus, quantum, time, bin, start, vm, cpu, \
                    uncached, ranges";
