//! `bulkhead trace`: what happened in a system, shown, compared and decided again.

mod compare;
mod export;
pub mod header;
mod options;
pub mod record;
pub mod replay;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use trace::Trace;

pub use options::TraceOptions;

use crate::failure::Failure;
use crate::output;
use crate::status::Status;
use options::TraceCommand;

/// Runs the command.
pub fn trace(options: &TraceOptions, as_json: bool) -> Result<Status, Failure> {
    match &options.what {
        TraceCommand::Export(options) => export::export(options, as_json),
        TraceCommand::Compare(options) => compare::compare(options, as_json),
        TraceCommand::Replay(options) => replay::replay(options, as_json),
    }
}

/// Reads a trace; says so if there are gaps in it.
pub fn read_trace(path: &Path) -> Result<Trace, Failure> {
    let name = path.display();
    let file = File::open(path)
        .map_err(|error| Failure::new("cannot-read", format!("cannot read {name}: {error}")))?;
    let trace = Trace::read(BufReader::new(file))
        .map_err(|error| Failure::new("not-a-trace", format!("{name}: {error}")))?;
    if trace.is_cut_off {
        output::error(&format!("note: {name} was not written to its end\n"));
    }
    let lost = trace.lost();
    if lost > 0 {
        output::error(&format!("note: {lost} records are missing in {name}\n"));
    }
    Ok(trace)
}

/// A time for people: microseconds with three digits behind the point.
fn micros(ns: i64) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    format!("{sign}{}.{:03} us", ns / 1000, ns % 1000)
}

/// A length of time for people.
fn length(ns: u64) -> String {
    micros(i64::try_from(ns).unwrap_or(i64::MAX))
}
