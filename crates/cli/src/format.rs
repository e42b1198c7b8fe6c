//! The format of the output: text for people, or a document.

use std::io;

use clap::ValueEnum;
use report::verdicts::{Form, Verdicts};

use crate::output;

/// A format of the standard output.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Junit,
    Sarif,
    Markdown,
}

impl Format {
    /// The form of a document of verdicts, if it is one.
    pub fn form(self) -> Option<Form> {
        match self {
            Self::Text | Self::Json => None,
            Self::Junit => Some(Form::Junit),
            Self::Sarif => Some(Form::Sarif),
            Self::Markdown => Some(Form::Markdown),
        }
    }

    /// Prints the verdicts of a command.
    pub fn print(
        self,
        verdicts: impl FnOnce() -> Verdicts,
        json: impl FnOnce() -> io::Result<()>,
        text: impl FnOnce() -> String,
    ) -> io::Result<()> {
        match self.form() {
            Some(form) => output::document(&verdicts().document(form)),
            None if self == Self::Json => json(),
            None => output::print(&text()),
        }
    }
}
