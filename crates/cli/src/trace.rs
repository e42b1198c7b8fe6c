//! `bulkhead trace`: shows the events in a system, compares them and decides again.

mod compare;
mod export;
mod options;
mod replay;

use std::path::Path;

use ::trace::TraceFile;
use lab::record;

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

/// Opens a trace; says so if there are gaps in it.
pub fn open_trace(path: &Path) -> Result<TraceFile, Failure> {
    let (name, trace) = (path.display(), record::open_trace(path)?);
    if trace.is_cut_off {
        output::error(&format!("note: {name} was not written to its end\n"));
    }
    let lost = trace.lost();
    if lost > 0 {
        output::error(&format!("note: {lost} records are missing in {name}\n"));
    }
    Ok(trace)
}
