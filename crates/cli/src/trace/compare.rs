//! `bulkhead trace compare`.

mod document;
mod tables;

use lab::amount::{length, micros};
use trace::compare::{self, Comparison, Difference, Options};
use trace::timeline::State;
use trace::{Header, Source, Step};

use super::options::CompareOptions;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;
use document::Document;

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
    let (window, sides) = (&comparison.window_ns, tables::sides(headers));
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

/// A difference in words; `sides` are the names of the traces.
fn describe(difference: &Difference, header: &Header, sides: [&str; 2]) -> String {
    let [first, second] = sides;
    match *difference {
        Difference::Pcpu { pcpu, from_ns, until_ns, states } => {
            let [a, b] = states.map(|state| match state {
                State::Runs(vcpu) => header.vcpu_name(vcpu),
                State::Idle => "nothing".into(),
                State::Unknown => "an unknown VCPU (records are missing)".into(),
            });
            format!(
                "from {} on, for {}, PCPU {pcpu} runs {a} in {first} and {b} in {second}",
                micros(from_ns),
                length(until_ns.abs_diff(from_ns))
            )
        }
        Difference::Job { vcpu, task, job, step, at_ns } => {
            let what = match step {
                Step::Release => "released",
                Step::Start => "started",
                Step::Finish => "complete",
            };
            let [a, b] =
                at_ns.map(|at| at.map_or("not at all".into(), |at| format!("at {}", micros(at))));
            let (vcpu, task) = (header.vcpu_name(vcpu), header.task_name(vcpu, task));
            format!("job {job} of {task} in {vcpu} is {what} {a} in {first} and {b} in {second}")
        }
    }
}
