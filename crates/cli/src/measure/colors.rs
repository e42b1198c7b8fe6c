//! `bulkhead measure colors`: can page colours be observed here?

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};
use measure::colors::{Options, Report, Verdict, probe};
use measure::{Interval, Missing};
use report::text::table;
use serde::Serialize;
use units::Bytes;

use super::options::ColorsOptions;
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::signals::Signals;
use crate::status::Status;

/// Seed of the order in which pages are read.
const SEED: u64 = 1;
/// Steps of the progress bar.
const STEPS: f64 = 1000.0;

/// Runs the command.
pub fn colors(options: &ColorsOptions, as_json: bool) -> Result<Status, Failure> {
    let signals = Signals::catch()?;
    let bar = progress();
    let answer = probe(&Options { level: options.level, time: options.time, seed: SEED }, |part| {
        bar.set_position((part * STEPS) as u64);
        signals.caught().is_none()
    });
    bar.finish_and_clear();
    let (status, report, why) = match answer {
        Ok(report) => match &report.verdict {
            Verdict::Observable { .. } => (Status::Yes, Some(report), None),
            Verdict::NotObservable { why } => (Status::No, Some(report.clone()), Some(why.clone())),
        },
        Err(Missing::Ended) => return Ok(signals.caught().map_or(Status::No, Status::Signal)),
        Err(missing @ Missing::Level { .. }) => return Err(Failure::new("no-level", missing)),
        Err(missing @ Missing::OneColor { .. }) => (Status::No, None, Some(missing.to_string())),
        Err(missing) => (Status::Open, None, Some(missing.to_string())),
    };
    if as_json {
        let verdict = report.as_ref().map(|report| &report.verdict);
        let (colors, colors_at_least) = match verdict {
            Some(Verdict::Observable { colors, at_least }) => (Some(*colors), *at_least),
            _ => (None, false),
        };
        let observable = (status != Status::Open).then_some(status == Status::Yes);
        let (why, report) = (why.as_deref(), &report);
        json::print(&Document { observable, why, colors, colors_at_least, report })?;
    } else {
        let mut text = match (&why, &report) {
            (None, Some(Report { verdict: Verdict::Observable { colors, at_least }, .. })) => {
                let least = if *at_least { "at least " } else { "" };
                format!("observable: {least}{colors} colours\n")
            }
            _ if status == Status::Open => format!("cannot tell: {}\n", why.unwrap_or_default()),
            _ => format!("not observable here: {}\n", why.unwrap_or_default()),
        };
        text.extend(report.as_ref().map(evidence));
        output::print(&text)?;
    }
    Ok(status)
}

/// A bar on a terminal, nothing elsewhere.
fn progress() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg}  {wide_bar} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(STEPS as u64).with_style(style).with_message("reading pages")
}

/// Returns the measured values, for people.
fn evidence(report: &Report) -> String {
    let cache = &report.cache;
    let row = |after: String, line: Interval, verdict: &str| {
        let shown = [line.median, line.low, line.high].map(|ns| format!("{ns:.1}"));
        let [median, low, high] = shown;
        vec![after, median, format!("{low} .. {high}"), verdict.into()]
    };
    let mut rows = vec![
        row("of its colour".into(), report.same_color_line_ns, ""),
        row("of any colour (control)".into(), report.control_line_ns, ""),
    ];
    rows.extend(report.bits.iter().map(|bit| {
        let verdict = if bit.separates { "a colour bit" } else { "no colour bit" };
        row(format!("that differ in address bit {}", bit.address_bit), bit.line_ns, verdict)
    }));
    let heading = [&*format!("after {} pages", report.pages), ">ns a line", ">95 %", ""];
    let moved = match report.moved_pages {
        0 => String::new(),
        moved => format!(", {moved} pages moved meanwhile"),
    };
    format!(
        "\nL{} of CPU {}: {}, {} ways, {} sets, {}\n\
         a page takes {:.2} times as long ({:.2} .. {:.2}) after others of its colour as in the \
         control\n\n{}\n{} rounds in {:.1} s{moved}\n",
        cache.level,
        report.cpu,
        Bytes(cache.size_bytes),
        cache.ways,
        cache.sets,
        match cache.shared_by {
            1 => "of this CPU alone".into(),
            cpus => format!("shared by {cpus} CPUs"),
        },
        report.ratio.median,
        report.ratio.low,
        report.ratio.high,
        table(&heading, &rows),
        report.rounds,
        report.seconds,
    )
}

#[derive(Serialize)]
struct Document<'a> {
    observable: Option<bool>,
    why: Option<&'a str>,
    colors: Option<u32>,
    colors_at_least: bool,
    report: &'a Option<Report>,
}
