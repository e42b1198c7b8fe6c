//! The progress of a proof.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

/// A line on a terminal, nothing elsewhere. It goes away with this value.
pub struct Steps(ProgressBar);

impl Steps {
    /// Begins; nothing is done yet.
    pub fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        Self(ProgressBar::new_spinner().with_style(style))
    }

    /// Shows the step that begins.
    pub fn begin(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.tick();
    }

    /// Shows that the step goes on.
    pub fn tick(&self) {
        self.0.tick();
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
