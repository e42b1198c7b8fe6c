//! Mistakes in descriptions, each found where it is.

use std::path::Path;

use system::description::System;
use system::diagnostic::Errors;

/// `(what to replace, by what, code, part of the line, part of the message)`
pub type Mistake = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Reads a description.
pub fn read(text: &str) -> Result<System, Errors> {
    System::from_toml("s.toml", text, Path::new(""))
}

/// Checks that a description with this mistake is refused for it; returns the number of messages.
#[track_caller]
pub fn found(right: &str, (from, to, code, line, part): &Mistake) -> usize {
    assert!(right.contains(from), "{from}");
    let text = right.replacen(from, to, 1);
    let errors = read(&text).map(|_| ()).expect_err(to);
    let shown = errors.to_string();
    let entries = errors.entries();
    let found = entries.iter().any(|entry| {
        let at = entry.line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
        entry.code == *code && at.contains(line)
    });
    assert!(found && shown.contains(part), "{to}\n{shown}");
    entries.len()
}
