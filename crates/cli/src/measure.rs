//! `bulkhead measure`: measurements on the machine at hand.

mod alone;
mod colors;
mod folder;
mod host;
mod isolation;
mod options;
mod page;
mod progress;
mod rows;
mod text;
mod worker;

pub use options::MeasureOptions;

use crate::failure::Failure;
use crate::status::Status;
use options::Measurement;

/// Runs the command.
pub fn measure(options: &MeasureOptions, as_json: bool) -> Result<Status, Failure> {
    match &options.what {
        None => isolation::isolation(&options.isolation, as_json),
        Some(Measurement::Colors(options)) => colors::colors(options, as_json),
        Some(Measurement::Host(options)) => host::host(options, as_json),
        Some(Measurement::Worker(options)) => worker::worker(options),
    }
}
