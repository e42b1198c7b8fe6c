//! The command in a folder of its own, with a script in place of QEMU.

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::elf::Elf;
use crate::files;

const FAKE_QEMU: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../qemu/tests/fake-qemu.sh");

/// A folder with a plan for the VMs `linux` and `rt`, their files and a hypervisor.
#[derive(Debug)]
pub struct Sandbox {
    /// The command.
    program: PathBuf,
    folder: TempDir,
}

/// Makes a [`Sandbox`] for the command of the package whose tests these are.
#[macro_export]
macro_rules! sandbox {
    () => {
        $crate::Sandbox::new(env!("CARGO_BIN_EXE_bulkhead"))
    };
}

impl Sandbox {
    /// Makes the folder, in which this program is the command.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let folder = files::folder();
        files::write(folder.path(), "test.dts", files::plan().to_dts().as_bytes());
        files::write(folder.path(), "hypervisor.elf", &Elf::default().to_bytes());
        Self { program: program.into(), folder }
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, text: &str) {
        files::write(self.folder.path(), name, text.as_bytes());
    }

    /// Returns the command with some arguments, in the folder, without a terminal.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("BULKHEAD_QEMU", FAKE_QEMU)
            .env("XDG_CACHE_HOME", self.path("cache"))
            // Documents of the same result are the same.
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .env_remove("BULKHEAD_HYPERVISOR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the command to its end.
    pub fn bulkhead(&self, arguments: &[&str]) -> Result {
        Result::of(self.command(arguments).output().expect("the command starts"))
    }

    /// Returns `bulkhead run` with a QEMU that does what `script` says.
    pub fn run_command(&self, script: &str, arguments: &[&str]) -> Command {
        let script = format!("echo $$ > pid; {script}");
        let mut command = self.command(&["run", "test.dts", "--hypervisor", "hypervisor.elf"]);
        command.args(arguments).args(["--qemu-arg", &script]);
        command
    }

    /// Runs it to its end.
    pub fn run(&self, script: &str, arguments: &[&str]) -> Result {
        Result::of(self.run_command(script, arguments).output().expect("the command starts"))
    }

    /// Starts a run and waits until its QEMU runs too.
    pub fn start(&self, script: &str, arguments: &[&str]) -> Child {
        let child = self.run_command(script, arguments).spawn().expect("the command starts");
        eventually("QEMU starts", || self.qemu().is_some());
        child
    }

    /// Returns the folder of the process of QEMU in `/proc`, if it has started.
    pub fn qemu(&self) -> Option<PathBuf> {
        let pid = std::fs::read_to_string(self.path("pid")).ok()?;
        pid.ends_with('\n').then(|| Path::new("/proc").join(pid.trim()))
    }

    /// Returns true if QEMU, which has been started, has ended.
    pub fn qemu_has_gone(&self) -> bool {
        !self.qemu().expect("QEMU has started").exists()
    }
}

/// The end of the command.
#[derive(Clone, Debug)]
pub struct Result {
    /// Its exit status; `None`: a signal ended the command.
    pub status: Option<i32>,
    /// Its output.
    pub stdout: String,
    /// Its messages.
    pub stderr: String,
}

impl Result {
    /// Reads the texts of an output.
    pub fn of(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Checks for what follows bad input: status 2, these parts in the message, and nothing else printed.
    #[track_caller]
    pub fn assert_refused(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not in: {}", self.stderr);
        }
        assert_eq!((self.status, self.stdout.as_str()), (Some(2), ""), "{}", self.stderr);
        assert!(self.stderr.starts_with("error"), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }

    /// Checks that there is no plan: the answer is no, and all these parts are in the reason.
    #[track_caller]
    pub fn assert_no_plan(&self, parts: &[&str]) {
        self.assert_status(1);
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is not in: {}", self.stderr);
        }
    }

    /// Checks the exit status.
    #[track_caller]
    pub fn assert_status(&self, status: i32) {
        assert_eq!(self.status, Some(status), "{}{}", self.stdout, self.stderr);
    }

    /// Returns the document that is the standard output.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).expect("the standard output is one document")
    }
}

/// Waits for something that takes a moment.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a process: `INT`, `TERM` or `HUP`.
#[track_caller]
pub fn signal(child: &Child, name: &str) {
    let signal = match name {
        "INT" => Signal::INT,
        "TERM" => Signal::TERM,
        "HUP" => Signal::HUP,
        _ => panic!("no signal is called {name}"),
    };
    kill_process(Pid::from_child(child), signal).expect("the process is there");
}

/// Returns both ends of a terminal: ours, and the one of the command.
pub fn terminal() -> (OwnedFd, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("ours");
    unlockpt(&ours).expect("unlocked");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("text");
    let theirs = File::options().read(true).write(true).open(name).expect("the other end");
    (ours, theirs)
}
