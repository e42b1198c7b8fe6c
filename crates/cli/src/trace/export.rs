//! `bulkhead trace export`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use lab::keep;
use lab::{WholeFile, record};
use serde::Serialize;
use trace::{Source, TraceFile};
use units::Duration;

use super::options::{ExportOptions, Format};
use crate::failure::Failure;
use crate::json;
use crate::output;
use crate::status::Status;

/// Runs the command.
pub fn export(options: &ExportOptions, as_json: bool) -> Result<Status, Failure> {
    let is_chart = matches!(options.to, Format::Svg | Format::Html);
    if !is_chart && (options.from.is_some() || options.until.is_some()) {
        return Err(Failure::new(
            "no-window",
            "`--from` and `--until` are for charts\nhelp: leave them out, or write svg or html",
        ));
    }
    let trace = super::open_trace(&options.file)?;
    check_window(&trace, options)?;
    let target = match &options.output {
        Some(path) if path == Path::new("-") => {
            let out = BufWriter::new(io::stdout().lock());
            write(&trace, options, out).map_err(|error| error.into_failure(None))?;
            return Ok(Status::Yes);
        }
        Some(path) => path.clone(),
        None => options.file.with_extension(options.to.ending()),
    };
    keep::files(&target, [options.file.as_path()])?;
    let failed = |error: Error| error.into_failure(Some(&target));
    let mut out = WholeFile::create(&target).map_err(|error| failed(error.into()))?;
    write(&trace, options, BufWriter::new(&mut out)).map_err(failed)?;
    out.finish().map_err(|error| failed(error.into()))?;
    let entries = trace.count();
    if as_json {
        json::print(&Document { ok: true, file: &target, entries, lost: trace.lost() })?;
    } else {
        output::print(&format!("wrote {} ({entries} events)\n", target.display()))?;
    }
    Ok(Status::Yes)
}

/// Refuses a time of `options` in which nothing is in the `trace`.
fn check_window(trace: &TraceFile, options: &ExportOptions) -> Result<(), Failure> {
    if options.from.is_none() && options.until.is_none() {
        return Ok(());
    }
    let clock = trace.clock();
    let (first, last) = (clock.ns(trace.first()), clock.ns(trace.last()));
    let signed = |time: Duration| i64::try_from(time.0).unwrap_or(i64::MAX);
    let (from, until) = (options.from.map_or(first, signed), options.until.map_or(last, signed));
    if from.max(first) < until.min(last) {
        return Ok(());
    }
    let what = match options.from.zip(options.until) {
        Some((from, until)) if from >= until => {
            format!("`--from` ({from}) is not before `--until` ({until})")
        }
        _ => format!("{} has nothing in this time", options.file.display()),
    };
    let milliseconds = |ns: i64| format!("{:.3} ms", ns as f64 / 1e6);
    let (first, last) = (milliseconds(first), milliseconds(last));
    Err(Failure::new("no-window", format!("{what}\nhelp: the trace goes from {first} to {last}")))
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    file: &'a PathBuf,
    entries: u64,
    lost: u64,
}

fn write(trace: &TraceFile, options: &ExportOptions, mut out: impl Write) -> Result<(), Error> {
    let failed = |error| Error::Trace(record::unreadable(&options.file, error));
    match options.to {
        Format::Perfetto => trace::perfetto::write(trace, &mut out)?,
        Format::Csv => trace::csv::write(trace, &mut out)?,
        Format::Svg | Format::Html => {
            let from = options.from.map(|time| time.0);
            let until = options.until.map(|time| time.0);
            // Charts draw a short time: all of it is in memory.
            let trace = trace.load().map_err(failed)?;
            let text = match options.to {
                Format::Html => trace::gantt::html(&trace, from, until),
                _ => trace::gantt::svg(&trace, from, until),
            };
            out.write_all(text.map_err(|error| Error::Chart(error.to_string()))?.as_bytes())?;
        }
    }
    trace.check().map_err(failed)?;
    Ok(out.flush()?)
}

/// The reason why nothing was written.
enum Error {
    Io(io::Error),
    Chart(String),
    Trace(lab::Failure),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<csv::Error> for Error {
    fn from(error: csv::Error) -> Self {
        match error.into_kind() {
            // As it is, so that a reader that goes away is known.
            csv::ErrorKind::Io(error) => Self::Io(error),
            other => Self::Io(io::Error::other(format!("{other:?}"))),
        }
    }
}

impl Error {
    fn into_failure(self, target: Option<&Path>) -> Failure {
        match (self, target) {
            (Self::Chart(error), _) => Failure::new("no-chart", error),
            (Self::Trace(failure), _) => failure.into(),
            (Self::Io(error), None) => error.into(),
            (Self::Io(error), Some(target)) => {
                let name = target.display();
                Failure::file("cannot-write", format!("cannot write {name}: {error}"))
            }
        }
    }
}
