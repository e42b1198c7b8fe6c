//! Runs in QEMU.

use std::env;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::cachescope;
use lab::hypervisor;
use lab::load;
use lab::run::{Clock, End, OnQemu, Options, Prepared};
use pyo3::prelude::*;

use crate::failure::{Failure, json};
use crate::interrupt::{After, detached};

/// Where the package `bulkhead` for Debian has the hypervisor; its plugin is beside it.
const INSTALLED: &str = "/usr/lib/bulkhead/build/hypervisor.elf";

/// Runs a description or plan: what the run came to, as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn run(
    py: Python<'_>,
    file: PathBuf,
    append: Vec<(String, String)>,
    deterministic: bool,
    short_turns: bool,
    cachescope: Option<PathBuf>,
    cachescope_options: Vec<String>,
    trace: Option<PathBuf>,
    until_off: bool,
    timeout_s: Option<f64>,
    log: Option<PathBuf>,
    hypervisor: Option<PathBuf>,
    arguments: Vec<String>,
) -> PyResult<String> {
    let options = || {
        Ok(Options {
            clock: clock(deterministic, short_turns, cachescope, cachescope_options)?,
            trace,
            live: None,
            until_off,
            timeout: timeout_s.map(timeout).transpose()?,
            log,
            arguments,
        })
    };
    let options = options().map_err(|failure: Failure| failure.raise(py))?;
    let work = move |stop: &AtomicBool| ran(file, append, hypervisor, options, stop);
    detached(py, After::Wait, work, |_| Ok(()))
}

fn ran(
    file: PathBuf,
    append: Vec<(String, String)>,
    hypervisor: Option<PathBuf>,
    options: Options,
    stop: &AtomicBool,
) -> Result<String, Failure> {
    let mut system = load::plan(&file)?;
    for (vm, arguments) in &append {
        system.append(vm, arguments)?;
    }
    let found = hypervisor::find(named(hypervisor).as_deref())?;
    let mut prepared = OnQemu::new(&system, &found, options)?;
    let Some(ran) = prepared.start()?.wait(|_| false, stop) else {
        // Nobody looks at what comes after Ctrl-C.
        return Ok(String::new());
    };
    Ok(json(&prepared.judge(ran, End::Itself)?.document()))
}

fn clock(
    deterministic: bool,
    short_turns: bool,
    cachescope: Option<PathBuf>,
    options: Vec<String>,
) -> Result<Clock, Failure> {
    let refused = |why: &str| Err(Failure::new(why));
    Ok(match (cachescope, short_turns) {
        (Some(_), true) => return refused("`cachescope` and `short_turns` exclude each other"),
        (Some(_), _) if !deterministic => return refused("`cachescope` needs `deterministic`"),
        (None, true) if !deterministic => return refused("`short_turns` needs `deterministic`"),
        (None, _) if !options.is_empty() => {
            return refused("`cachescope_options` needs `cachescope`");
        }
        (Some(folder), false) => Clock::Cachescope { folder, options: scope_options(options)? },
        (None, true) => Clock::ShortTurns,
        (None, false) if deterministic => Clock::Deterministic,
        (None, false) => Clock::Host,
    })
}

/// Options of cachescope that may be given.
pub fn scope_options(options: Vec<String>) -> Result<Vec<String>, Failure> {
    let option = |text: String| {
        cachescope::option(&text).map_err(|why| Failure::new(format!("`{text}`: {why}")))
    };
    options.into_iter().map(option).collect()
}

/// A time in seconds, which is more than 0.
pub fn timeout(seconds: f64) -> Result<Duration, Failure> {
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| Failure::new(format!("a timeout of {seconds} s cannot be")))
}

/// The hypervisor that was asked for, that the environment names, or, where none was built, that the package for Debian has.
pub fn named(hypervisor: Option<PathBuf>) -> Option<PathBuf> {
    let installed = || {
        let path = PathBuf::from(INSTALLED);
        (hypervisor::build_folder().is_none() && path.is_file()).then_some(path)
    };
    let variable = || env::var_os(hypervisor::VARIABLE).filter(|name| !name.is_empty());
    hypervisor.or_else(|| variable().map(PathBuf::from)).or_else(installed)
}
