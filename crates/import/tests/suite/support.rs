//! Files of other systems, and what becomes of them.

use std::path::Path;
use std::sync::Arc;

use import::Imported;
use system::description::System;
use system::diagnostic::{Errors, Source};
use system::plan::{self, Plan};

/// Returns a source with a name.
pub fn source(name: &str, text: &str) -> Arc<Source> {
    Source::new(name, text)
}

/// Returns the plan of a description whose marks are filled in: each of `answers` is a key, and its value in
/// TOML for all marks of that key; marks of other keys stay.
pub fn filled(imported: &Imported, answers: &[(&str, &str)]) -> (String, Result<Plan, Errors>) {
    let mut text = String::new();
    for line in imported.text.lines() {
        let mark = line.strip_prefix("# ").filter(|it| it.contains("   # fill in: "));
        let key = mark.and_then(|it| it.split_once(" = ")).map(|it| it.0);
        match answers.iter().find(|it| Some(it.0) == key) {
            Some((key, value)) => text.push_str(&format!("{key} = {value}\n")),
            None => text.push_str(&format!("{line}\n")),
        }
    }
    let system = System::from_toml("imported.toml", &text, Path::new(""));
    let plan = system.and_then(|system| plan::make(&system));
    (text, plan)
}

/// Checks that all these parts are in the text.
#[track_caller]
pub fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}
