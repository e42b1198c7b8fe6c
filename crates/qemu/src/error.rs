//! Errors of starting and using QEMU.

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error as ThisError;

use crate::outcome::Exit;
use crate::version::{LEAST_VERSION, Version};

/// Returns how to install a QEMU.
fn install(program: &str) -> String {
    let (setup, package) = match program.ends_with("x86_64") {
        true => ("scripts/setup host-x86", "qemu-system-x86"),
        false => ("make setup", "qemu-system-arm"),
    };
    format!(
        "Debian 13, Ubuntu 25.10 and newer: `apt-get install {package}`; Debian 12: add the suite bookworm-backports, then `apt-get install -t \
         bookworm-backports {package}`; in a work tree `{setup}` does so; elsewhere, build it from QEMU's sources"
    )
}

/// Why QEMU did not start, or did not print an expected text.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The program cannot be started.
    #[error(
        "cannot start `{program}`: {source}\nhelp: QEMU {LEAST_VERSION} or newer is needed; {}",
        install(program)
    )]
    NoQemu {
        /// The program.
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The program does not print a version.
    #[error("`{program} --version` answers `{answer}`: is it QEMU?")]
    UnknownVersion {
        /// The program.
        program: String,
        /// First line of its answer.
        answer: String,
    },
    /// QEMU is too old.
    #[error(
        "`{program}` is QEMU {found}, {LEAST_VERSION} or newer is needed\nhelp: {}",
        install(program)
    )]
    OldQemu {
        /// The program.
        program: String,
        /// Its version.
        found: Version,
    },
    /// The image is not there.
    #[error("cannot read the image {}: {source}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The log file cannot be made.
    #[error("cannot write the log {}: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The text did not appear in time.
    #[error("`{pattern}` did not appear within {} s{tail}", after.as_secs_f64())]
    Timeout {
        /// The expected text.
        pattern: String,
        /// Duration of the wait.
        after: Duration,
        /// The last lines of the console and where the log is, on lines of their own.
        tail: String,
    },
    /// QEMU ended before the text appeared.
    #[error("QEMU ended ({exit}) before `{pattern}` appeared{tail}")]
    Ended {
        /// The expected text.
        pattern: String,
        /// The end of QEMU.
        exit: Exit,
        /// The last lines of QEMU's errors and of the console, and where the log is.
        tail: String,
    },
}
