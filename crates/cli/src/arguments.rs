//! The command line.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use bulkhead_export::Target;
use bulkhead_measure::isolation::leech::Leech;
use bulkhead_measure::isolation::workload::Workload;
use bulkhead_measure::isolation::{self, Context};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use lab::{cachescope, hypervisor};

use crate::prove::ProveOptions;
use crate::sim::SimOptions;
use crate::sweep::SweepOptions;
use crate::trace::TraceOptions;
use crate::words::{append, time};

/// Most leeches at a time.
const LEECHES_MAX: usize = 1024;

/// Several real-time systems on one multicore chip, each with its timing intact.
#[derive(Debug, Parser)]
#[command(name = "bulkhead", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Example:
  bulkhead run systems/demo.toml      run a system on QEMU

Exit status: 0 yes, 1 the answer is no, 2 bad input, 3 the answer is open; 129, 130 and 143: ended
by SIGHUP, SIGINT (Ctrl-C) and SIGTERM.")]
pub struct Arguments {
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    Check(CheckOptions),
    Plan(PlanOptions),
    Export(ExportOptions),
    Sim(SimOptions),
    Run(RunOptions),
    Prove(ProveOptions),
    Trace(TraceOptions),
    Measure(MeasureOptions),
    Reproduce(ReproduceOptions),
    Sweep(SweepOptions),
}

/// Check a description or a plan: is it sound, and is every deadline met?
///
/// All mistakes are reported at once, each with its place. Response times are
/// upper bounds: a task that is in time here is in time, whatever happens. For
/// one that is not, the longest parts of its bound are shown.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead check systems/demo.toml
  bulkhead check systems/servers.toml --sensitivity
  make-description | bulkhead check -

Exit status: 0 ok, 1 a task can miss its deadline, 2 the file has mistakes.")]
pub struct CheckOptions {
    /// Description (.toml) or plan (.dts, .dtb); `-` is the standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Say also by how much each execution time, and all together, can grow until a task can be late
    #[arg(long)]
    pub sensitivity: bool,
}

/// Make a plan out of a description
///
/// The plan is a device tree in source form: read it, compare it, edit it, and
/// run it with `bulkhead run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead plan systems/demo.toml                writes systems/demo.plan.dts
  bulkhead plan systems/demo.toml -o - | less    shows the plan")]
pub struct PlanOptions {
    /// Description (.toml), or a plan to write anew (.dts, .dtb)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where the plan goes; `-` is the standard output [default: FILE with the ending .plan.dts]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Write a plan's colours, CPUs and bandwidth for another system
///
/// For Xen, Bao, Xvisor, Jailhouse, or cache ways and bandwidth of a Linux host (resctrl).
/// None of them can do all that a plan may ask for: what is lost is listed, and stands at
/// the head of each file.
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
    /// The other system
    #[arg(long, value_name = "SYSTEM", value_parser = target())]
    pub to: Target,
    /// The folder for the files; `-` is the standard output [default: FILE with the ending .SYSTEM]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Run a system on QEMU
///
/// Shows the lines of all VMs, each with its label, and a summary at the end.
/// With --console, your keyboard belongs to one VM.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead run systems/demo.toml --until-off --timeout 60s
  bulkhead run systems/demo.toml --console linux    Ctrl-] q leaves, Ctrl-] ? helps
  bulkhead run systems/demo.toml --append linux=bulkhead.job=demo
  bulkhead run demo.plan.dts --deterministic        the same run every time
  bulkhead run demo.plan.dts --deterministic --cachescope build/scope
                                                    who evicts whom from the caches
  bulkhead run systems/demo.toml --trace build/demo.trace
                                                    what runs when, see `bulkhead trace`

Exit status: 0 all is well, 1 a VM crashed or was stopped, a task missed its deadline or
took longer than its bound, a guest says that something FAILED, or the time was over,
2 bad input; 129, 130 and 143: ended by SIGHUP, SIGINT (Ctrl-C) and SIGTERM.")]
pub struct RunOptions {
    /// Description (.toml) or plan (.dts, .dtb)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Work at the console of this VM
    #[arg(long, value_name = "VM")]
    pub console: Option<String>,
    /// Append to the command line of a VM; may be given several times
    #[arg(long, value_name = "VM=ARGS", value_parser = append)]
    pub append: Vec<(String, String)>,
    /// One instruction is 1 ns: every run is the same; Linux shows its first line after half a minute
    #[arg(long)]
    pub deterministic: bool,
    /// Count who evicts whom from the caches; the results go into this folder (needs --deterministic and `make cachescope`)
    #[arg(long, value_name = "DIR", requires = "deterministic")]
    pub cachescope: Option<PathBuf>,
    /// An option of cachescope, such as preset=exynos-5422; may be given several times
    #[arg(long, value_name = "KEY=VALUE", requires = "cachescope", value_parser = cachescope::option)]
    pub cachescope_option: Vec<String>,
    /// CPUs take turns of 500 instructions: timers are then some us late at most, not 1 ms and more beside busy CPUs; half as fast (needs --deterministic and `make cachescope`)
    #[arg(long, requires = "deterministic", conflicts_with = "cachescope")]
    pub short_turns: bool,
    /// Record what the hypervisor does in this file, for `bulkhead trace`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// It is a failure if a VM does not switch itself off
    #[arg(long)]
    pub until_off: bool,
    /// Stop after this time, with exit status 1
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub timeout: Option<Duration>,
    /// Write the bootable image to this file and do not run it
    #[arg(long, value_name = "OUT", conflicts_with_all = ["console", "deterministic", "cachescope", "short_turns", "trace", "until_off", "timeout", "log"])]
    pub image_only: Option<PathBuf>,
    /// Write all output of the console to this file [default: a log beside the image, named after the system]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The hypervisor [default: build/hypervisor.elf here or in a folder above]
    #[arg(long, value_name = "ELF", env = hypervisor::VARIABLE, hide_env_values = true)]
    pub hypervisor: Option<PathBuf>,
    /// One more argument for QEMU; may be given several times
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub qemu_arg: Vec<String>,
}

/// Measure how well this machine isolates programs from each other
///
/// A victim runs alone and beside leeches, which take one resource each: its CPU, the
/// cache, the memory bus, translations, the disk, interrupts. The isolation coefficient
/// is I = P / C - 1: P is the median time beside leeches, C the one alone. Runs best as
/// root: with real-time priority and locked memory.
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
@25ms behind one lets it sleep after each round.
Ranges sweep: chase:64KiB..8MiB, copy:64KiB..8MiB, cpu@25..200ms.

Exit status: 0 isolated, 1 not isolated, 2 bad input, 3 cannot tell."
)]
pub struct MeasureOptions {
    #[command(flatten)]
    pub isolation: IsolationOptions,
    #[command(subcommand)]
    pub what: Option<Measurement>,
}

/// How isolation is measured.
#[derive(Args, Debug)]
pub struct IsolationOptions {
    /// A short look, in 20 seconds
    #[arg(long, conflicts_with_all = ["full", "victim"])]
    pub quick: bool,
    /// All sweeps with 50 runs each; the estimate tells how long
    #[arg(long, conflicts_with = "victim")]
    pub full: bool,
    /// What the victim does; may be given several times, each is a test [default: what each test of the standard set needs]
    #[arg(long, value_name = "WORKLOAD", requires = "leech", value_parser = victims)]
    pub victim: Vec<Victims>,
    /// What it is exposed to; may be given several times
    #[arg(long, value_name = "LEECH", requires = "victim", value_parser = leeches)]
    pub leech: Vec<Sweep>,
    /// How many of each leech at a time, one number or a range such as 1..3
    #[arg(long, value_name = "N", requires = "leech", value_parser = counts)]
    pub count: Option<RangeInclusive<usize>>,
    /// Runs for each median
    #[arg(long, value_name = "N", value_parser = runs)]
    pub runs: Option<usize>,
    /// I of a victim that is isolated is at most this, in percent
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub tolerance: f64,
    /// CPU of the victim [default: the last one]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// CPUs of leeches [default: all others]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub leech_cpus: Vec<usize>,
    /// Where the victim runs: a name and the command that is `bulkhead` there, or nothing
    /// behind `=` for here; several are compared
    #[arg(long, value_name = "NAME=COMMAND", value_parser = context)]
    pub context: Vec<Context>,
    /// A run that takes longer is an error
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub timeout: Duration,
    /// Folder for results.json with every run, results.csv and report.html
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Workloads of one option.
#[derive(Clone, Debug)]
pub struct Victims(pub Vec<Workload>);

/// Leeches of one option.
#[derive(Clone, Debug)]
pub struct Sweep(pub Vec<Leech>);

/// What else can be measured.
#[derive(Debug, Subcommand)]
pub enum Measurement {
    Colors(ColorsOptions),
    #[command(hide = true)]
    Worker(WorkerOptions),
}

/// Be a victim or a leech of a measurement, for the process that started this one
#[derive(Args, Debug)]
pub struct WorkerOptions {
    #[command(subcommand)]
    pub role: WorkerRole,
}

/// What to be.
#[derive(Debug, Subcommand)]
pub enum WorkerRole {
    /// Run a workload when told
    Victim {
        /// The workload
        workload: Workload,
        /// A run repeats it until it takes about so long
        #[arg(long, value_name = "MS", default_value_t = 0)]
        at_least_ms: u64,
        #[command(flatten)]
        common: WorkerCommon,
    },
    /// Run a workload, for who measures from outside
    Run {
        /// The workload
        workload: Workload,
        /// How often
        #[arg(long, value_name = "N", default_value_t = 1)]
        times: u32,
    },
    /// Take until killed, for who measures from outside
    Take {
        /// What to take
        leech: Leech,
    },
    /// Take when told
    Leech {
        /// What to take
        leech: Leech,
        #[command(flatten)]
        common: WorkerCommon,
    },
}

/// What victims and leeches have in common.
#[derive(Args, Debug)]
pub struct WorkerCommon {
    /// The CPU
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// End by itself after so many seconds
    #[arg(long, value_name = "S", default_value_t = 3600)]
    pub lifetime_s: u64,
}

/// Find out whether page colours of a cache can be observed here
///
/// Reads pages whose frames have the same colour by their numbers, and measures whether
/// they push each other out of the cache while pages of other colours do not. Needs root,
/// because the kernel tells the numbers of frames to nobody else.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo bulkhead measure colors              the last-level cache
  sudo bulkhead measure colors --level 2

Exit status: 0 observable, 1 not observable here, 2 there is no such cache, 3 cannot tell.")]
pub struct ColorsOptions {
    /// Level of the cache, from 2 [default: the last]
    #[arg(long, value_name = "N")]
    pub level: Option<u32>,
    /// Time for the measurement
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    pub time: Duration,
}

/// Measure again what papers have published
///
/// Boots the systems of an experiment in QEMU with the plugin cachescope, and
/// puts what was measured beside what was published: data.csv, plot.svg and
/// table.md in a folder for each experiment. Ctrl-C keeps what is finished.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead reproduce --list
  bulkhead reproduce vcache-fig7 --quick
  bulkhead reproduce vcache-fig8 xviso-fig5 --output results
  bulkhead reproduce all --expect docs/reproduce

Exit status: 0 no statement is refuted (with --expect: no verdict has changed),
1 one is, 2 bad input or a boot without result.")]
pub struct ReproduceOptions {
    /// Name of an experiment, or path of its folder (with a `/`); `all`: all of
    /// the project, and a page of all verdicts, published.md
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub names: Vec<String>,
    /// List the experiments
    #[arg(long, conflicts_with = "names")]
    pub list: bool,
    /// Where the results go [default: build/reproduce in the folder of the project]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Measure a few places only
    #[arg(long)]
    pub quick: bool,
    /// Boot nothing: judge the values of an earlier run in the output folder again
    #[arg(long, conflicts_with_all = ["quick", "jobs"])]
    pub judge: bool,
    /// Earlier results: hold each verdict against the one there
    #[arg(long, value_name = "DIR")]
    pub expect: Option<PathBuf>,
    /// How many systems are booted at a time [default: number of CPUs]
    #[arg(long, value_name = "N")]
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
