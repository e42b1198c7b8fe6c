//! The outcome of a session.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lines of the console that an error message shows.
const TAIL_LINES: usize = 20;

/// The end of QEMU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// QEMU ended by itself, with this status; 0 after the board was powered off or reset.
    Code(i32),
    /// This signal, which did not come from the session, ended QEMU.
    Signal(i32),
    /// QEMU was ended because its timeout was over.
    TimedOut,
    /// QEMU was killed because the session was stopped.
    Stopped,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// The result of a session. Its text is made for failed tests: how QEMU ended, its errors, the end
/// of the console, the log.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The end of QEMU.
    pub exit: Exit,
    /// All output of the console, unless [`crate::Options::keep_log`] was off.
    pub log: String,
    /// The file that has the output too.
    pub log_file: Option<PathBuf>,
    /// The reason why the file ends before the console does, if it does.
    pub log_error: Option<String>,
    /// QEMU's own messages.
    pub stderr: String,
    /// Time from the start to the end of QEMU.
    pub elapsed: Duration,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QEMU ended ({}) after {:.1} s", self.exit, self.elapsed.as_secs_f64())?;
        f.write_str(&tail(&self.stderr, &self.log, self.log_file.as_deref()))
    }
}

/// Returns the end of QEMU's messages and of the console, and the name of the log, each on lines of
/// their own.
pub(crate) fn tail(stderr: &str, log: &str, log_file: Option<&Path>) -> String {
    let mut text = String::new();
    for (title, part) in [("QEMU says", stderr), ("end of the console", log)] {
        let lines: Vec<&str> = part.lines().collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n{title}:");
            for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
                let _ = write!(text, "\n  {}", line.trim_end());
            }
        }
    }
    if let Some(path) = log_file {
        let _ = write!(text, "\nlog: {}", path.display());
    }
    text
}
