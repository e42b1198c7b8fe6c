//! Errors of this crate.

use std::fmt;

use system::diagnostic::Errors;

/// The reason why an operation failed.
#[derive(Debug)]
pub enum Failure {
    /// There are mistakes in a description or plan.
    Mistakes(Errors),
    /// No plan was found for the open parts of a description: the answer is no.
    NoPlan(Errors),
    /// A file or folder cannot be read or written.
    File {
        /// A word for documents, such as `cannot-read`.
        code: &'static str,
        /// The message, and `help: ...` on a line of its own.
        text: String,
    },
    /// Another failure, with the stable name of its kind.
    Message {
        /// A word for documents, such as `no-memory`.
        code: &'static str,
        /// The message, and `help: ...` on a line of its own.
        text: String,
    },
}

impl Failure {
    /// Returns a failure out of any error.
    pub fn new(code: &'static str, error: impl ToString) -> Self {
        Self::Message { code, text: error.to_string() }
    }

    /// Returns a failure of a file or folder out of any error.
    pub fn file(code: &'static str, error: impl ToString) -> Self {
        Self::File { code, text: error.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistakes(errors) | Self::NoPlan(errors) => errors.fmt(f),
            Self::File { text, .. } | Self::Message { text, .. } => f.write_str(text),
        }
    }
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self::Mistakes(errors)
    }
}

impl From<image::Error> for Failure {
    fn from(error: image::Error) -> Self {
        Self::new("image", error)
    }
}

impl From<qemu::Error> for Failure {
    fn from(error: qemu::Error) -> Self {
        match error {
            qemu::Error::Log { .. } => Self::file("cannot-write", error),
            _ => Self::new("qemu", error),
        }
    }
}
