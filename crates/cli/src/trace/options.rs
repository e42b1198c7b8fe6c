//! Options of `bulkhead trace`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use units::Duration;

/// Export, compare and replay traces of a system
///
/// `bulkhead run --trace FILE` and `bulkhead sim --trace FILE` write traces.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead trace export run.trace --to perfetto    then open run.pftrace in ui.perfetto.dev
  bulkhead trace compare run.trace sim.trace --tolerance 50us
  bulkhead trace replay run.trace --plan systems/servers.toml")]
pub struct TraceOptions {
    /// What to do with a trace.
    #[command(subcommand)]
    pub what: TraceCommand,
}

/// The commands for traces.
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
    /// Format of the output
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: Format,
    /// The file for the output; `-` is the standard output [default: FILE with the ending of the format]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Show only events from this time on (svg, html)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<Duration>,
    /// Show only events until this time (svg, html)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Duration>,
}

/// Formats of an exported trace.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Format {
    /// A file for the viewer of Perfetto
    Perfetto,
    /// A table with one line for each event
    Csv,
    /// A chart
    Svg,
    /// A page with the chart and with tables
    Html,
}

impl Format {
    /// Returns the ending of files in this format.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Perfetto => "pftrace",
            Self::Csv => "csv",
            Self::Svg => "svg",
            Self::Html => "html",
        }
    }
}

/// Compare two traces of a system and show the first difference
///
/// Times count from the start of the servers' first period. Two traces differ if a PCPU executes
/// different VCPUs for longer than the tolerance, or if the times at which a job is released or
/// completes differ by more. PCPUs that belong to one VCPU alone are not compared.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead trace compare run.trace sim.trace --tolerance 50us --from 20ms

Exit status: 0 the traces agree, 1 they differ, 2 bad input.")]
pub struct CompareOptions {
    /// The first trace
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// The second trace
    #[arg(value_name = "B")]
    pub second: PathBuf,
    /// Ignore differences up to this length
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = time)]
    pub tolerance: Duration,
    /// Compare from this time on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<Duration>,
    /// Compare until this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Duration>,
    /// Add this time to all times of B
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub shift: Option<Duration>,
}

/// Repeat each scheduling decision from its recorded inputs, and compare the results
///
/// The trace has every input of the schedulers of the PCPUs. The same code, executed on this
/// machine with these inputs, must choose the same VCPUs with the same budgets.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  bulkhead trace replay run.trace --plan systems/servers.toml

Exit status: 0 all decisions are the same, 1 a decision differs, records were lost, or the trace was cut off,
2 bad input.")]
pub struct ReplayOptions {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Description (.toml) or plan (.dts, .dtb) of the system
    #[arg(long, value_name = "PLAN")]
    pub plan: PathBuf,
}

fn time(text: &str) -> Result<Duration, String> {
    units::parse(text).map_err(|_| "expected a time with a unit, such as 50us or 10ms".into())
}
