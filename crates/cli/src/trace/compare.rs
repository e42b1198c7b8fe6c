//! `bulkhead trace compare`.

mod tables;

use lab::amount::{length, micros};
use lab::comparison::{Document, describe, sides};
use trace::compare::{self, Comparison, Options};
use trace::{Header, Source};

use super::options::CompareOptions;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Runs the command.
pub fn compare(options: &CompareOptions, as_json: bool) -> Result<Status, Failure> {
    let traces = [super::open_trace(&options.first)?, super::open_trace(&options.second)?];
    let signed = |time: units::Duration| i64::try_from(time.0).unwrap_or(i64::MAX);
    let limits = Options {
        tolerance_ns: options.tolerance.0,
        from_ns: options.from.map(signed),
        until_ns: options.until.map(signed),
        shift_ns: options.shift.map_or(0, signed),
    };
    let comparison = compare::compare([&traces[0], &traces[1]], limits)
        .map_err(|error| Failure::new("not-comparable", error))?;
    let headers = [traces[0].header(), traces[1].header()];
    if as_json {
        json::print(&Document::new(&comparison, headers))?;
    } else {
        output::print(&text(&comparison, headers, options))?;
    }
    Ok(if comparison.first.is_none() { Status::Yes } else { Status::No })
}

fn text(comparison: &Comparison, headers: [&Header; 2], options: &CompareOptions) -> String {
    let (window, sides) = (&comparison.window_ns, sides(headers));
    let mut text = format!(
        "{}: {}\n{}: {}\ncompared from {} to {}\n",
        sides[0],
        options.first.display(),
        sides[1],
        options.second.display(),
        micros(window.start),
        micros(window.end)
    );
    for table in [
        tables::tasks(comparison, headers[0], sides),
        tables::vcpus(comparison, headers[0], sides),
        tables::pcpus(comparison),
    ] {
        text.extend(table.map(|table| format!("\n{table}")));
    }
    text.push('\n');
    match &comparison.first {
        None => text.push_str(&format!("no difference above {}\n", length(options.tolerance.0))),
        Some(first) => {
            let first = describe(first, headers[0], sides);
            text.push_str(&format!("first difference: {first}\n"));
        }
    }
    text
}
