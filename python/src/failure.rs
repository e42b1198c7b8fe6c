//! Why something was not done, as an exception.

use pyo3::prelude::*;
use system::diagnostic::Errors;

/// Why something was not done. Made where there is no interpreter lock.
pub enum Failure {
    /// Mistakes in a description, plan or experiment: `DescriptionError`.
    Mistakes(Errors),
    /// There is no plan: `NoPlanError`.
    NoPlan(Errors),
    /// A file that cannot be read or written: `FileError`.
    File(String),
    /// Something else: `BulkheadError`.
    Text(String),
}

impl Failure {
    /// Out of any error.
    pub fn new(error: impl ToString) -> Self {
        Self::Text(error.to_string())
    }

    /// The exception.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        let (class, text, errors) = match self {
            Self::Mistakes(errors) => ("DescriptionError", errors.to_string(), Some(errors)),
            Self::NoPlan(errors) => ("NoPlanError", errors.to_string(), Some(errors)),
            Self::File(text) => ("file_error", text, None),
            Self::Text(text) => ("BulkheadError", text, None),
        };
        let entries = errors.map(|errors| json(&errors.entries())).unwrap_or_else(|| "[]".into());
        let exception = || py.import("bulkhead.errors")?.getattr(class)?.call1((text, entries));
        exception().map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self::Mistakes(errors)
    }
}

impl From<lab::Failure> for Failure {
    fn from(failure: lab::Failure) -> Self {
        match failure {
            lab::Failure::Mistakes(errors) => Self::Mistakes(errors),
            lab::Failure::NoPlan(errors) => Self::NoPlan(errors),
            lab::Failure::File { text, .. } => Self::File(text),
            lab::Failure::Message { text, .. } => Self::Text(text),
        }
    }
}

impl From<sweep::Error> for Failure {
    fn from(error: sweep::Error) -> Self {
        Self::new(error)
    }
}

/// A document. All that goes over can be written as JSON.
pub fn json(document: &impl serde::Serialize) -> String {
    serde_json::to_string(document).unwrap_or_else(|error| format!("\"{error}\""))
}
