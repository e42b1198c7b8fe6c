//! Builds QEMU's command line and starts it.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::board::Board;
use crate::error::Error;
use crate::log_file::LogFile;
use crate::process::Process;
use crate::session::Session;
use crate::version::{LEAST_VERSION, Version};

/// Environment variable that names another QEMU than the one in the path.
pub const PROGRAM_VARIABLE: &str = "BULKHEAD_QEMU";
const PROGRAM: &str = "qemu-system-aarch64";

/// The clock of the guest.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Time {
    /// Guest time is real time; CPUs run in parallel.
    #[default]
    Real,
    /// Each instruction takes 1 ns, so that every run is the same, bit by bit.
    Deterministic,
}

/// Options of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// The QEMU to start; `None`: what [`PROGRAM_VARIABLE`] names, else `qemu-system-aarch64`.
    pub program: Option<String>,
    /// The clock of the guest.
    pub time: Time,
    /// QEMU is asked to end after this time, so that plugins write their results, and killed if it does not.
    pub timeout: Option<Duration>,
    /// File for all output of the console.
    pub log_file: Option<LogFile>,
    /// True if the output is also kept in memory for [`crate::Outcome::log`].
    pub keep_log: bool,
    /// More arguments for QEMU, behind all others.
    pub arguments: Vec<String>,
}

impl Default for Options {
    /// Real time, no timeout, the log in memory only.
    fn default() -> Self {
        Self {
            program: None,
            time: Time::Real,
            timeout: None,
            log_file: None,
            keep_log: true,
            arguments: Vec::new(),
        }
    }
}

/// A board that runs an image.
#[derive(Debug)]
pub struct Machine;

impl Machine {
    /// Starts `image` on `board`.
    ///
    /// Before that, the version of QEMU is checked.
    pub fn start(board: &Board, image: &Path, options: &Options) -> Result<Session, Error> {
        let program = match &options.program {
            Some(program) => program.clone(),
            None => std::env::var(PROGRAM_VARIABLE).unwrap_or_else(|_| PROGRAM.into()),
        };
        let found = Version::of(&program)?;
        if found < LEAST_VERSION {
            return Err(Error::OldQemu { program, found });
        }
        File::open(image).map_err(|source| Error::Image { path: image.to_owned(), source })?;
        let log = options.log_file.as_ref().map(LogFile::create).transpose()?;
        let arguments = Self::arguments(board, image, options);
        let (process, pipes) = Process::start(&program, &arguments, options.timeout)
            .map_err(|source| Error::NoQemu { program, source })?;
        Ok(Session::new(process, pipes, log, options))
    }

    /// Returns the arguments that [`Machine::start`] gives to QEMU.
    pub fn arguments(board: &Board, image: &Path, options: &Options) -> Vec<String> {
        let mut machine = board.machine.clone();
        if options.time == Time::Deterministic && board.has_random_device_tree() {
            machine.push_str(",dtb-randomness=off");
        }
        let mut arguments = vec!["-machine".into(), machine];
        if let Some(cpu) = &board.cpu {
            arguments.extend(["-cpu".into(), cpu.clone()]);
        }
        if let Some(cpus) = board.cpus {
            arguments.extend(["-smp".into(), cpus.to_string()]);
        }
        if let Some(bytes) = board.memory_bytes {
            // Without a suffix QEMU reads MiB; `k` keeps every size exact.
            arguments.extend(["-m".into(), format!("{}k", bytes >> 10)]);
        }
        let fixed: &[&str] = match options.time {
            Time::Real => &["-accel", "tcg,thread=multi"],
            Time::Deterministic => &[
                "-icount",
                "shift=0,sleep=off",
                "-rtc",
                "base=2020-01-01T00:00:00,clock=vm",
                "-seed",
                "1",
            ],
        };
        arguments.extend(fixed.iter().map(|&argument| argument.into()));
        arguments.extend(
            ["-nodefaults", "-nographic", "-monitor", "none", "-serial", "stdio", "-no-reboot"]
                .map(String::from),
        );
        // Without this, boards with sound do not start.
        arguments.extend(["-audio".into(), "none".into()]);
        arguments.extend(["-kernel".into(), image.to_string_lossy().into_owned()]);
        arguments.extend(options.arguments.iter().cloned());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(options: &Options) -> String {
        Machine::arguments(&Board::virt(), Path::new("a.img"), options).join(" ")
    }

    #[test]
    fn deterministic_time_leaves_nothing_to_chance() {
        let options = Options { time: Time::Deterministic, ..Options::default() };
        let line = line(&options);
        for part in [
            "-machine virt,virtualization=on,gic-version=3,dtb-randomness=off",
            "-icount shift=0,sleep=off",
            "-rtc base=2020-01-01T00:00:00,clock=vm",
            "-seed 1",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!line.contains("thread=multi"));
    }

    #[test]
    fn real_time_uses_several_threads_and_extra_arguments_come_last() {
        let options = Options { arguments: vec!["-d".into(), "int".into()], ..Options::default() };
        let line = line(&options);
        assert!(line.contains("-smp 4 -m 1048576k -accel tcg,thread=multi"), "{line}");
        assert!(line.ends_with("-kernel a.img -d int"), "{line}");
        assert!(!line.contains("icount"));
    }
}
