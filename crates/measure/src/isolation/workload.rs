//! Workloads of victims.

mod chase;
mod command;
mod matrix;
mod stream;

use std::fmt;
use std::str::FromStr;

use super::room;
use super::size::Size;
use chase::Chase;
pub(crate) use command::{Command, end_command};
use matrix::Matrix;
use stream::Stream;

/// The work of a victim in one run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Workload {
    /// The product of two square matrices with this number of rows (IsoTest, section IV).
    Matrix(u32),
    /// Reads every line of a buffer in an order that no prefetcher guesses, each address
    /// out of the line before.
    Chase(Size),
    /// Reads a buffer from its beginning to its end.
    Read(Size),
    /// Writes a buffer from its beginning to its end.
    Write(Size),
    /// A command of a shell.
    Command(String),
}

/// Most rows of a matrix: three of them fill 3 GiB.
const ROWS_MAX: u32 = 1 << 14;
/// A chain has indices of 32 bits, of words of 4 bytes.
const CHASE_BYTES_MAX: u64 = 1 << 34;

impl Workload {
    /// Bytes of memory that it needs.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Matrix(rows) => 3 * 4 * u64::from(*rows).pow(2),
            Self::Chase(size) | Self::Read(size) | Self::Write(size) => size.0,
            Self::Command(_) => 0,
        }
    }

    /// Returns the workload, ready to run.
    ///
    /// # Errors
    ///
    /// A requirement is not met; the message is for the user.
    pub(crate) fn prepare(&self) -> Result<Box<dyn Work>, String> {
        room::for_bytes(self.bytes())?;
        Ok(match self {
            Self::Matrix(rows) => Box::new(Matrix::new(*rows as usize)),
            Self::Chase(size) => Box::new(Chase::new(size.0)),
            Self::Read(size) => Box::new(Stream::reading(size.0)),
            Self::Write(size) => Box::new(Stream::writing(size.0)),
            Self::Command(text) => Box::new(Command::new(text)),
        })
    }
}

/// A workload that is ready.
pub(crate) trait Work {
    /// Does it once. The same number of operations every time.
    ///
    /// # Errors
    ///
    /// The failure, in words for people.
    fn run(&mut self) -> Result<(), String>;
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, value) = text.split_once(':').unwrap_or((text, ""));
        let size = || value.parse::<Size>().map_err(|why| format!("{kind}: {why}"));
        match kind {
            "matrix" => match value.parse() {
                Ok(rows) if (2..=ROWS_MAX).contains(&rows) => Ok(Self::Matrix(rows)),
                _ => Err(format!("matrix: expected a number of rows from 2 to {ROWS_MAX}")),
            },
            "chase" => match size()? {
                Size(CHASE_BYTES_MAX..) => Err("chase: expected less than 16GiB".into()),
                size => Ok(Self::Chase(size)),
            },
            "read" => size().map(Self::Read),
            "write" => size().map(Self::Write),
            "command" if !value.trim().is_empty() => Ok(Self::Command(value.into())),
            _ => Err(format!(
                "`{text}` is no workload: expected matrix:512, chase:8MiB, read:8MiB, \
                 write:8MiB or command:..."
            )),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matrix(rows) => write!(f, "matrix:{rows}"),
            Self::Chase(size) => write!(f, "chase:{size}"),
            Self::Read(size) => write!(f, "read:{size}"),
            Self::Write(size) => write!(f, "write:{size}"),
            Self::Command(text) => write!(f, "command:{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_shown_as_they_are_read() {
        for text in ["matrix:256", "chase:8MiB", "read:64KiB", "write:1GiB", "command:sleep 1"] {
            assert_eq!(text.parse::<Workload>().map(|it| it.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn typos_are_named() {
        for text in ["", "matrix", "matrix:1", "matrix:20000", "chase", "chase:8", "mtrix:8"] {
            let why = text.parse::<Workload>().expect_err(text);
            assert!(why.contains("expected"), "{why}");
        }
        assert!("command: ".parse::<Workload>().is_err());
    }

    #[test]
    fn all_of_them_run() {
        for text in ["matrix:16", "chase:64KiB", "read:1MiB", "write:1MiB", "command:true"] {
            let mut work = text.parse::<Workload>().expect(text).prepare().expect(text);
            assert_eq!(work.run(), Ok(()), "{text}");
            assert_eq!(work.run(), Ok(()), "{text}, again");
        }
        let mut fails = Workload::Command("exit 3".into()).prepare().expect("a command");
        assert!(fails.run().expect_err("it fails").contains("exit status: 3"));
    }
}
