//! The command line.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand};
use export::Target;
use measure::isolation::leech::Leech;
use measure::isolation::workload::Workload;
use measure::isolation::{self, Context};

use crate::diff::DiffOptions;
use crate::failure::Failure;
use crate::format::Format;
use crate::help::{CompletionsOptions, ManOptions};
use crate::import::ImportOptions;
use crate::init::InitOptions;
use crate::measure::HostOptions;
use crate::plan::PlanOptions;
use crate::prove::ProveOptions;
use crate::run::RunOptions;
use crate::schema::SchemaOptions;
use crate::sim::SimOptions;
use crate::sweep::SweepOptions;
use crate::trace::TraceOptions;
use crate::words::{jobs, time};

/// Most leeches at a time.
const LEECHES_MAX: usize = 1024;

/// Runs several real-time systems on one multicore chip, and bounds how much they delay each other.
#[derive(Debug, Parser)]
#[command(name = "bulkhead", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Example:
  bulkhead run systems/demo.toml      run a system on QEMU

A description (.toml) has the board, the virtual machines (VMs) and their tasks. A plan (.dts, .dtb)
gives each VM its memory, devices and virtual CPUs (VCPUs), and each VCPU a physical CPU (PCPU) or a
share of one. A cache colour is a part of the shared cache that one VM can have alone.

Exit status: 0 yes, 1 the answer is no, 2 bad input, 3 the answer is open; 129, 130 and 143: ended
by SIGHUP, SIGINT (Ctrl-C) and SIGTERM.")]
pub struct Arguments {
    /// Print one JSON document instead of text, as `--format json` does
    #[arg(long, global = true)]
    pub json: bool,
    /// Print this instead of text; the last three are documents of the verdicts of check, diff, prove and run
    #[arg(long, global = true, value_enum)]
    pub format: Option<Format>,
    /// Colour the text; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub color: ColorChoice,
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// The format of the output, which must be one that the command has.
    pub fn format(&self) -> Result<Format, Failure> {
        let format = self.format.unwrap_or(if self.json { Format::Json } else { Format::Text });
        let image_only = matches!(&self.command, Command::Run(run) if run.image_only.is_some());
        let text = match format.form() {
            _ if self.json && format != Format::Json => {
                "`--json` and `--format` name different formats\nhelp: remove one of them"
            }
            Some(_) if self.command.judged().is_none() || image_only => {
                "this command has no verdict for a document in that format\n\
                 help: `junit`, `sarif` and `markdown` are for `check`, `diff`, `prove` and `run`; use `json`"
            }
            _ => return Ok(format),
        };
        Err(Failure::new("usage", text))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Init(InitOptions),
    Import(ImportOptions),
    Check(CheckOptions),
    Plan(PlanOptions),
    Diff(DiffOptions),
    Export(ExportOptions),
    Sim(SimOptions),
    Run(RunOptions),
    Prove(ProveOptions),
    Trace(TraceOptions),
    Measure(MeasureOptions),
    Reproduce(ReproduceOptions),
    Sweep(SweepOptions),
    Schema(SchemaOptions),
    Completions(CompletionsOptions),
    Man(ManOptions),
}

impl Command {
    /// The name and the file of a command with a verdict on a file.
    pub fn judged(&self) -> Option<(&'static str, &Path)> {
        match self {
            Self::Check(options) => Some(("check", &options.file)),
            Self::Diff(options) => Some(("diff", &options.after)),
            Self::Prove(options) => Some(("prove", &options.file)),
            Self::Run(options) => Some(("run", &options.file)),
            _ => None,
        }
    }
}

/// Check a description or a plan: is it sound, and is every deadline met?
///
/// The command reports all mistakes at once, each with its place. It computes an upper bound for
/// the response time of each task. If the bound is later than the deadline, the command shows the
/// longest parts of the bound.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead check systems/demo.toml
  bulkhead check systems/servers.toml --sensitivity
  bulkhead check systems/servers.toml --certificate build/certificate && make -C build/certificate
  make-description | bulkhead check -

Exit status: 0 all deadlines are met, 1 a task can miss its deadline, 2 the file has mistakes.")]
pub struct CheckOptions {
    /// Description (.toml) or plan (.dts, .dtb); `-` is the standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show also how much each execution time, and all of them together, can grow before a task can be late
    #[arg(long)]
    pub sensitivity: bool,
    /// Write the bounds as theorems into this folder, with all that Coq needs to check them: `make -C DIR`
    #[arg(long, value_name = "DIR")]
    pub certificate: Option<PathBuf>,
}

/// Write a plan's colours, CPUs and bandwidth for another system
///
/// The other system is Xen, Bao, Xvisor, Jailhouse, or a Linux host that divides cache ways and
/// bandwidth (resctrl) or gives VCPUs under KVM budgets (sched-deadline). None of them can do everything that a plan can contain: the command lists
/// what is lost, and the head of each file has the same list.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead export systems/colors.toml --to xen             writes systems/colors.xen/
  bulkhead export demo.plan.dts --to bao -o - | less       shows the files

Exit status: 0 written, 1 the other system cannot run this plan, 2 bad input.")]
pub struct ExportOptions {
    /// Description (.toml) or plan (.dts, .dtb)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The system that reads the files
    #[arg(long, value_name = "SYSTEM", value_parser = target())]
    pub to: Target,
    /// The folder for the files; `-` is the standard output [default: FILE with the ending .SYSTEM]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

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

/// Measure again what papers have published
///
/// The command boots the systems of an experiment in QEMU with the plugin cachescope, and compares
/// the measured values with the published ones: data.csv, plot.svg and table.md in a folder for
/// each experiment. Ctrl-C keeps what is finished.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead reproduce --list
  bulkhead reproduce vcache-fig7 --quick
  bulkhead reproduce vcache-fig8 xviso-fig5 --output results
  bulkhead reproduce all --expect docs/reproduce

Exit status: 0 no statement is refuted, 1 a statement is refuted, 2 bad input or a boot without
result. With --expect: 0 no verdict has changed, 1 a verdict has changed.")]
pub struct ReproduceOptions {
    /// Name of an experiment, or path of its folder (with a `/`); `all` measures all experiments of
    /// the project and writes a page of all verdicts, published.md
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub names: Vec<String>,
    /// List the experiments
    #[arg(long, conflicts_with = "names")]
    pub list: bool,
    /// Folder for the results [default: build/reproduce in the folder of the project]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Measure only some points of each figure
    #[arg(long)]
    pub quick: bool,
    /// Boot nothing, and judge the values again that an earlier run left in the output folder
    #[arg(long, conflicts_with_all = ["quick", "jobs"])]
    pub judge: bool,
    /// Compare each verdict with the one in this folder of earlier results
    #[arg(long, value_name = "DIR")]
    pub expect: Option<PathBuf>,
    /// Boot this many systems at a time [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<NonZeroUsize>,
}

/// Reads `xen`.
fn target() -> impl TypedValueParser<Value = Target> {
    let named = |word: String| Target::ALL.into_iter().find(|target| target.as_str() == word);
    let words = PossibleValuesParser::new(Target::ALL.map(Target::as_str));
    words.try_map(move |word| named(word).ok_or("expected another system"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
