//! The command line.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand};
use export::Target;

use crate::diff::DiffOptions;
use crate::failure::Failure;
use crate::format::Format;
use crate::help::{CompletionsOptions, ManOptions};
use crate::import::ImportOptions;
use crate::init::InitOptions;
use crate::measure::MeasureOptions;
use crate::plan::PlanOptions;
use crate::prove::ProveOptions;
use crate::run::RunOptions;
use crate::schema::SchemaOptions;
use crate::sim::SimOptions;
use crate::sweep::SweepOptions;
use crate::top::TopOptions;
use crate::trace::TraceOptions;
use crate::view::ViewOptions;
use crate::words::jobs;

/// Runs several real-time systems on one multicore chip, and bounds how much they delay each other.
#[derive(Debug, Parser)]
#[command(name = "bulkhead", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "\
Example:
  bulkhead run systems/demo.toml      run a system on QEMU

A description (.toml) has the board, the virtual machines (VMs) and their tasks. A plan (.dts, .dtb)
gives each VM its memory, devices and virtual CPUs (VCPUs), and each VCPU a physical CPU (PCPU) or a
share of one. A cache colour is a part of the shared cache that one VM can have alone.

Exit status: 0 yes, 1 the answer is no, 2 bad input, 3 the answer is open; 129, 130, 141 and 143: ended
by SIGHUP, SIGINT (Ctrl-C), SIGPIPE (the reader of the output has gone) and SIGTERM.")]
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
    Top(TopOptions),
    Prove(ProveOptions),
    View(ViewOptions),
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

Exit status: 0 all deadlines are met, or a plan, which has no tasks, is sound; 1 a task can miss its
deadline; 2 the file has mistakes.")]
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

/// Measure again what papers have published
///
/// The command boots the systems of an experiment in QEMU with the plugin cachescope, and compares the measured
/// values with the published ones: data.csv, plot.svg and table.md in a folder for each experiment. Ctrl-C ends the
/// command and keeps all finished results.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
