//! Reads the text of an experiment, with all of its mistakes.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use system::diagnostic::{Diagnostic, Errors, Place, Source};
use system::suggest;

/// Reads the text of `source`. The parser stops at the first mistake, so the wrong lines are
/// removed and the rest is read again, until no more mistake is found.
///
/// # Errors
///
/// The mistakes, each with its place.
pub fn read<T: DeserializeOwned>(source: &Arc<Source>) -> Result<T, Errors> {
    let mut text = source.text().to_owned();
    let mut mistakes = Vec::new();
    // Keys that were taken out, or written wrong: they are not missed a second time.
    let mut told: Vec<String> = Vec::new();
    loop {
        let error = match toml::from_str(&text) {
            Ok(read) => return Errors::unless_none(mistakes, read),
            Err(error) => error,
        };
        let (message, span) = (error.message(), error.span().unwrap_or(0..0));
        let follows =
            named(message, "missing field").is_some_and(|key| told.iter().any(|it| it == key));
        // Not even TOML any more: what was taken out was more than a line.
        let damaged = !mistakes.is_empty() && toml::from_str::<toml::Table>(&text).is_err();
        if follows || damaged {
            break;
        }
        mistakes.push(mistake(message, &Place::new(source, span.clone())));
        told.extend(meant(message));
        let Some(lines) = lines(&text, &span) else { break };
        told.extend(text[lines.clone()].split('=').next().map(|key| key.trim().to_owned()));
        let blank: String = text[lines.clone()]
            .bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
            .collect();
        text.replace_range(lines, &blank);
    }
    Err(Errors::unless_none(mistakes, ()).expect_err("the first mistake was noted"))
}

/// Returns a diagnostic at `place` for the `message` of the parser.
fn mistake(message: &str, place: &Place) -> Diagnostic {
    match named(message, "unknown field") {
        Some(key) => Diagnostic::new("unknown-key", format!("unknown key `{key}`"))
            .at(place, "not a key of this table")
            .help(suggest::help(key, &known(message))),
        None => Diagnostic::new("toml", message).at(place, "here"),
    }
}

/// Returns the name between the quotes behind `what`, with which the `message` begins.
fn named<'m>(message: &'m str, what: &str) -> Option<&'m str> {
    message.strip_prefix(what)?.strip_prefix(" `")?.split('`').next()
}

/// Returns the keys that the message of an unknown one names as known.
fn known(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).skip(1).collect()
}

/// Returns the key that was meant by one that is unknown.
fn meant(message: &str) -> Option<String> {
    let key = named(message, "unknown field")?;
    suggest::closest(key, known(message)).map(str::to_owned)
}

/// Returns the lines to remove because of a mistake at `span`: its line, or if the line is the
/// header of a table, all lines up to the next header. `None` if the mistake concerns more than a
/// line.
fn lines(text: &str, span: &Range<usize>) -> Option<Range<usize>> {
    let place =
        text.get(span.clone()).filter(|place| !place.trim().is_empty() && !place.contains('\n'))?;
    let start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
    let end = |from: usize| text[from..].find('\n').map_or(text.len(), |length| from + length);
    let is_header = |line: &str| line.trim_start().starts_with('[');
    if !is_header(&text[start..]) {
        return Some(start..end(span.start));
    }
    // Something about a whole table, such as a key that it lacks, is not the fault of its header.
    if place.starts_with('[') {
        return None;
    }
    let mut last = end(start);
    while last < text.len() && !is_header(&text[last + 1..]) {
        last = end(last + 1);
    }
    Some(start..last)
}
