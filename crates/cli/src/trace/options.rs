//! Options of `bulkhead trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use units::Duration;

/// Show, compare and check what happened in a system
///
/// Traces come from `bulkhead run --trace FILE` and `bulkhead sim --trace FILE`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead trace export run.trace --to perfetto    then open run.pftrace in ui.perfetto.dev
  bulkhead trace compare run.trace sim.trace --tolerance 50us
  bulkhead trace replay run.trace --plan systems/servers.toml")]
pub struct TraceOptions {
    /// What to do with it.
    #[command(subcommand)]
    pub what: TraceCommand,
}

/// What can be done with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    Export(ExportOptions),
    Compare(CompareOptions),
    Replay(ReplayOptions),
}

/// Write a trace for other programs
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead trace export run.trace --to perfetto
  bulkhead trace export run.trace --to csv -o - | head
  bulkhead trace export run.trace --to svg --from 100ms --until 160ms

Exit status: 0 written, 2 bad input.")]
pub struct ExportOptions {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: Format,
    /// Where it goes; `-` is the standard output [default: FILE with the ending of the format]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Show only what happens from then on (svg, html)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<Duration>,
    /// Show only what happens until then (svg, html)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Duration>,
}

/// What traces can be written as.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Format {
    /// For the viewer of Perfetto
    Perfetto,
    /// A table, one line for each event
    Csv,
    /// A chart
    Svg,
    /// A page with the chart and tables
    Html,
}

impl Format {
    /// The ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Perfetto => "pftrace",
            Self::Csv => "csv",
            Self::Svg => "svg",
            Self::Html => "html",
        }
    }
}

/// Lay two traces of a system beside each other and name the first difference
///
/// Times count from the start of the servers' first period. They differ where a PCPU does
/// something else in each for longer than the tolerance, or where a job is released or
/// complete at another time. PCPUs whose VCPU has them for itself are not compared.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead trace compare run.trace sim.trace --tolerance 50us --from 20ms

Exit status: 0 they agree, 1 they differ, 2 bad input.")]
pub struct CompareOptions {
    /// One trace
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// The other one
    #[arg(value_name = "B")]
    pub second: PathBuf,
    /// Differences of this length are none
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = time)]
    pub tolerance: Duration,
    /// Compare from then on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<Duration>,
    /// Compare until then
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Duration>,
    /// Let everything in B happen so much later
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub shift: Option<Duration>,
}

/// Decide again what was decided: recorded inputs must give the recorded decisions
///
/// All that the schedulers of the PCPUs were told is in the trace. The same code on this
/// machine, told the same, must choose the same VCPUs with the same budgets.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead trace replay run.trace --plan systems/servers.toml

Exit status: 0 all decisions are the same, 1 one is not or records were lost, 2 bad input.")]
pub struct ReplayOptions {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Plan (.dts, .dtb) or description (.toml) of the system
    #[arg(long, value_name = "PLAN")]
    pub plan: PathBuf,
}

fn time(text: &str) -> Result<Duration, String> {
    units::parse(text).map_err(|_| "expected a time with a unit, such as 50us or 10ms".into())
}
