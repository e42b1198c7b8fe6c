//! Exit status.

use std::process::ExitCode;

/// The end of a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// Done, or the answer is yes.
    Yes,
    /// The answer is no.
    No,
    /// The input cannot be used.
    BadInput,
    /// The answer is open: neither yes nor no could be shown.
    Open,
    /// Ended by this signal.
    Signal(i32),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Yes => Self::SUCCESS,
            Status::No => Self::from(1),
            Status::BadInput => Self::from(2),
            Status::Open => Self::from(3),
            Status::Signal(signal) => Self::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        }
    }
}
