//! The reasons why a command could not do its work, and their output.

use std::io;
use std::path::Path;

use lab::load;
use lab::made::Made;
use lab::verdicts::of_failure;
use serde::Serialize;
use system::diagnostic::{Entry, Errors, Style};

use crate::format::Format;
use crate::json;
use crate::output;
use crate::status::Status;

/// The reason why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// The command could not do its work.
    Lab(lab::Failure),
    /// This signal came before there was a result.
    Interrupted(i32, &'static str),
    /// The other system that a plan is exported to cannot run it: the answer is no.
    Impossible(String),
    /// The reader of our output has gone.
    Pipe,
}

impl Failure {
    /// A failure out of any error.
    pub fn new(code: &'static str, error: impl ToString) -> Self {
        Self::Lab(lab::Failure::new(code, error))
    }

    /// A failure of a file or folder out of any error.
    pub fn file(code: &'static str, error: impl ToString) -> Self {
        Self::Lab(lab::Failure::file(code, error))
    }

    /// Shows the failure of a command, which may have a verdict on a file; returns the exit status.
    pub fn report(self, format: Format, judged: Option<(&'static str, &Path)>) -> Status {
        let status = match &self {
            // As other programs end: no answer was given.
            Self::Pipe => return Status::Signal(rustix::process::Signal::PIPE.as_raw()),
            Self::Lab(lab::Failure::NoPlan(_)) | Self::Impossible(_) => Status::No,
            Self::Lab(_) => Status::BadInput,
            Self::Interrupted(signal, _) => Status::Signal(*signal),
        };
        if format == Format::Json {
            let made = judged.map(|(command, _)| Made::now(command));
            let file = judged.map(|(_, file)| file.display().to_string());
            let system = judged.and_then(|(_, file)| load::default_name(file));
            let _ = json::print(&Report { ok: false, file, system, errors: self.entries(), made });
            return status;
        }
        // People read why in the log of their checks, and tools in the document.
        output::error(&self.text());
        if let (Self::Lab(failure), Some(form), Some((command, file))) =
            (&self, format.form(), judged)
        {
            let verdicts = of_failure(command, &file.display().to_string(), failure);
            let _ = output::document(&verdicts.document(form));
        }
        status
    }

    fn entries(&self) -> Vec<Entry> {
        match self {
            Self::Lab(lab::Failure::Mistakes(errors) | lab::Failure::NoPlan(errors)) => {
                errors.entries()
            }
            Self::Lab(lab::Failure::File { code, text } | lab::Failure::Message { code, text }) => {
                vec![entry(code, text)]
            }
            Self::Impossible(text) => vec![entry("impossible", text)],
            Self::Interrupted(_, text) => vec![entry("interrupted", text)],
            Self::Pipe => Vec::new(),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Lab(lab::Failure::Mistakes(errors) | lab::Failure::NoPlan(errors)) => {
                let style =
                    if output::errors_are_colored() { Style::Colored } else { Style::Plain };
                errors.render(style)
            }
            Self::Lab(lab::Failure::File { text, .. } | lab::Failure::Message { text, .. })
            | Self::Impossible(text) => {
                format!("error: {text}\n")
            }
            Self::Interrupted(_, text) => format!("{text}\n"),
            Self::Pipe => String::new(),
        }
    }
}

/// A message without a place; its help stands behind it.
fn entry(code: &'static str, text: &str) -> Entry {
    let (message, help) = match text.split_once("\nhelp: ") {
        Some((message, help)) => (message, Some(help.to_owned())),
        None => (text, None),
    };
    Entry { code, message: message.into(), file: None, line: None, column: None, node: None, help }
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    /// The file that should have been judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The name of the system, unless the file says another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    errors: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    made: Option<Made>,
}

impl From<lab::Failure> for Failure {
    fn from(failure: lab::Failure) -> Self {
        Self::Lab(failure)
    }
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self::Lab(errors.into())
    }
}

impl From<image::Error> for Failure {
    fn from(error: image::Error) -> Self {
        Self::Lab(error.into())
    }
}

/// Errors of our own output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Pipe,
            _ => Self::new("output", format!("cannot write the output: {error}")),
        }
    }
}
