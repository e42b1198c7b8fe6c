//! Options of `bulkhead measure`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use measure::isolation::leech::Leech;
use measure::isolation::workload::Workload;
use measure::isolation::{self, Context};

use super::host::HostOptions;
use crate::words::time;

/// Most leeches at a time.
const LEECHES_MAX: usize = 1024;

/// Measure how well this machine isolates programs from each other
///
/// A victim is a program that runs alone and then beside leeches. A leech is a program that loads
/// one resource: the victim's CPU, the cache, the memory bus, address translation, the disk, or
/// interrupts. The isolation coefficient is I = P / C - 1, where C is the victim's median time
/// alone, and P its median time beside leeches. Run it as root, so that the victim has
/// real-time priority and locked memory.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  sudo bulkhead measure                        all kinds of leeches, in two minutes
  sudo bulkhead measure --full -o results      the sweeps of the paper, with a report
  bulkhead measure --victim matrix:512 --leech copy:64KiB..8MiB --count 1..3
  bulkhead measure --victim 'command:make -s' --leech copy:64MiB
  bulkhead measure --context native= --context cell='ssh board bulkhead'
  sudo bulkhead measure colors                 can page colours be observed here?

Workloads: matrix:ROWS, chase:SIZE, read:SIZE, write:SIZE, command:TEXT.
Leeches: cpu, copy:SIZE, non-temporal:SIZE, tlb:SIZE, bank:SIZE, disk:SIZE, timers, loopback;
A leech with @25ms behind its name sleeps for 25 ms after each round.
A range is measured at several points: chase:64KiB..8MiB, copy:64KiB..8MiB, cpu@25..200ms.

Exit status: 0 isolated, 1 not isolated, 2 bad input, 3 the measurement cannot tell."
)]
pub struct MeasureOptions {
    #[command(flatten)]
    pub isolation: IsolationOptions,
    #[command(subcommand)]
    pub what: Option<Measurement>,
}

/// Options of a measurement of isolation.
#[derive(Args, Debug)]
pub struct IsolationOptions {
    /// Measure less, in 20 seconds
    #[arg(long, conflicts_with_all = ["full", "victim"])]
    pub quick: bool,
    /// Measure all ranges with 50 runs each; the command first estimates the duration
    #[arg(long, conflicts_with = "victim")]
    pub full: bool,
    /// Workload of the victim; each one given is a test of its own [default: the workloads of the standard set]
    #[arg(long, value_name = "WORKLOAD", requires = "leech", value_parser = victims)]
    pub victim: Vec<Victims>,
    /// Leech beside the victim; may be given several times
    #[arg(long, value_name = "LEECH", requires = "victim", value_parser = leeches)]
    pub leech: Vec<Sweep>,
    /// Number of leeches of each kind at a time, or a range such as 1..3
    #[arg(long, value_name = "N", requires = "leech", value_parser = counts)]
    pub count: Option<RangeInclusive<usize>>,
    /// Number of runs for each median
    #[arg(long, value_name = "N", value_parser = runs)]
    pub runs: Option<usize>,
    /// A victim counts as isolated if its I is at most this, in percent
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub tolerance: f64,
    /// CPU of the victim [default: the last CPU]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// CPUs of the leeches, separated by commas [default: all CPUs but the victim's]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub leech_cpus: Vec<usize>,
    /// Measure in this context: a name, and the command that starts `bulkhead` there, or nothing
    /// behind `=` for this machine; a report compares several contexts
    #[arg(long, value_name = "NAME=COMMAND", value_parser = context)]
    pub context: Vec<Context>,
    /// Stop with an error if one run takes longer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub timeout: Duration,
    /// Folder for results.json with every run, results.csv and report.html
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// The workloads that one `--victim` names.
#[derive(Clone, Debug)]
pub struct Victims(pub Vec<Workload>);

/// The leeches that one `--leech` names.
#[derive(Clone, Debug)]
pub struct Sweep(pub Vec<Leech>);

/// Measurements besides that of isolation.
#[derive(Debug, Subcommand)]
pub enum Measurement {
    Colors(ColorsOptions),
    Host(HostOptions),
    #[command(hide = true)]
    Worker(WorkerOptions),
}

/// Act as a victim or a leech for the process that started this one
#[derive(Args, Debug)]
pub struct WorkerOptions {
    #[command(subcommand)]
    pub role: WorkerRole,
}

/// Roles of a worker.
#[derive(Debug, Subcommand)]
pub enum WorkerRole {
    /// Run a workload on each command from the standard input
    Victim {
        /// The workload
        workload: Workload,
        /// Repeat the workload in each run, so that a run takes about this time
        #[arg(long, value_name = "MS", default_value_t = 0)]
        at_least_ms: u64,
        #[command(flatten)]
        common: WorkerCommon,
    },
    /// Run a workload at once, for measurements by another program
    Run {
        /// The workload
        workload: Workload,
        /// Number of runs
        #[arg(long, value_name = "N", default_value_t = 1)]
        times: u32,
    },
    /// Load a resource until killed, for measurements by another program
    Take {
        /// The leech
        leech: Leech,
    },
    /// Load a resource on each command from the standard input
    Leech {
        /// The leech
        leech: Leech,
        #[command(flatten)]
        common: WorkerCommon,
    },
}

/// Options of victims and leeches.
#[derive(Args, Debug)]
pub struct WorkerCommon {
    /// Run on this CPU
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// End after this many seconds
    #[arg(long, value_name = "S", default_value_t = 3600)]
    pub lifetime_s: u64,
}

/// Find out whether page colours of a cache can be observed here
///
/// The colour of a page is the part of the cache that its physical address selects. The command
/// reads pages of one colour, and measures whether they evict each other while pages of other
/// colours do not. It needs root, because the kernel shows physical addresses to root only.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo bulkhead measure colors              the last-level cache
  sudo bulkhead measure colors --level 2

Exit status: 0 observable, 1 not observable here, 2 there is no such cache, 3 the measurement cannot
tell.")]
pub struct ColorsOptions {
    /// Level of the cache, 2 or more [default: the last level]
    #[arg(long, value_name = "N")]
    pub level: Option<u32>,
    /// Duration of the measurement
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    pub time: Duration,
}

/// Reads `copy:64KiB..8MiB`.
fn leeches(text: &str) -> Result<Sweep, String> {
    isolation::leeches(text).map(Sweep)
}

/// Reads `chase:64KiB..8MiB`.
fn victims(text: &str) -> Result<Victims, String> {
    isolation::workloads(text).map(Victims)
}

/// Reads `2` or `1..3`.
fn counts(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if 1 <= first && first <= last && last <= LEECHES_MAX => {
            Ok(first..=last)
        }
        _ => Err(format!("expected a number from 1 to {LEECHES_MAX}, or a range such as 1..3")),
    }
}

/// Reads a number of runs.
fn runs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(runs) if (5..=100_000).contains(&runs) => Ok(runs),
        _ => Err("expected a number from 5 to 100000: fewer runs have no interval".into()),
    }
}

/// Reads `3` or `0.5%`.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("expected a number of percent from 0 to 1000, such as 3".into()),
    }
}

/// Reads `cell=ssh board bulkhead` or `native=`.
fn context(text: &str) -> Result<Context, String> {
    match text.split_once('=') {
        Some((name, command)) if !name.trim().is_empty() => Ok(Context {
            name: name.trim().to_owned(),
            command: Some(command.trim().to_owned()).filter(|command| !command.is_empty()),
        }),
        _ => Err("expected a name, `=` and a command, such as cell='ssh board bulkhead'".into()),
    }
}
