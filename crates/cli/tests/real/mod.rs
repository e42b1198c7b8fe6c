//! The command with the real hypervisor and guests, which must have been built (`make build`).
#![allow(dead_code)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trace::Trace;

/// How often a run is recorded before it counts as one whose records cannot be read fast enough.
const ATTEMPTS: u32 = 5;
/// QEMU gives way to who reads the records.
const PATIENT_QEMU: &str = "#!/bin/sh\nexec nice -n 10 \"${REAL_QEMU}\" \"$@\"\n";

pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bulkhead(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(project()).args(arguments);
    command
}

#[track_caller]
pub fn succeeds(arguments: &[&str]) -> String {
    success(bulkhead(arguments))
}

#[track_caller]
fn success(command: Command) -> String {
    match outcome(command) {
        Ok(out) => out,
        Err(out) => panic!("{out}"),
    }
}

/// What a command says; an error if its status is not 0.
fn outcome(mut command: Command) -> Result<String, String> {
    let output = command.output().expect("bulkhead starts");
    let out = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(out.into_owned());
    }
    Err(format!(
        "{command:?}: {}\n{out}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Runs a system for as long as its guests run, in deterministic time, and records it without a gap;
/// returns what the command says.
#[track_caller]
pub fn record(system: &str, arguments: &[&str], trace: &Path) -> String {
    let trace = trace.to_str().expect("a path in UTF-8");
    let run = ["run", system, "--deterministic", "--until-off", "--timeout", "7200s"];
    let arguments = [&run[..], arguments, &["--trace", trace]].concat();
    let folder = tempfile::tempdir().expect("a folder");
    let qemu = folder.path().join("qemu");
    std::fs::write(&qemu, PATIENT_QEMU).expect("the folder is writable");
    std::fs::set_permissions(&qemu, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let real = std::env::var("BULKHEAD_QEMU").unwrap_or_else(|_| "qemu-system-aarch64".into());
    for attempt in 1.. {
        let mut command = bulkhead(&arguments);
        command.env("BULKHEAD_QEMU", &qemu).env("REAL_QEMU", &real);
        // The recorder may have had to wait too long for a CPU; what is recorded is the same each time.
        match outcome(command) {
            Ok(out) if out.contains(" records, none lost\n") => return out,
            Ok(out) | Err(out) => assert!(out.contains(" LOST") && attempt < ATTEMPTS, "{out}"),
        }
    }
    unreachable!()
}

/// A system that was run, and what is known of it.
pub struct Recorded {
    folder: TempDir,
    /// What the command and the guests said.
    pub out: String,
}

impl Recorded {
    /// Runs and records a system that is given as TOML.
    #[track_caller]
    pub fn new(system: &str) -> Self {
        Self::with(system, &[])
    }

    /// The same with arguments for `bulkhead run`.
    #[track_caller]
    pub fn with(system: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("system.toml"), system).expect("the folder is writable");
        let mut recorded = Self { folder, out: String::new() };
        let path = recorded.path("system.toml");
        recorded.out = record(&path, arguments, Path::new(&recorded.path("trace")));
        recorded
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a path in UTF-8").into()
    }

    pub fn trace(&self) -> Trace {
        let file = std::fs::File::open(self.path("trace")).expect("the trace was written");
        Trace::read(std::io::BufReader::new(file)).expect("it is a trace")
    }

    /// Tells the recorded inputs to the code that decides; what that says, if it agrees.
    #[track_caller]
    pub fn replay(&self) -> String {
        let out = succeeds(&[
            "trace",
            "replay",
            &self.path("trace"),
            "--plan",
            &self.path("system.toml"),
        ]);
        assert!(out.ends_with("\nall decisions are the same\n"), "{out}");
        out
    }

    /// By how many nanoseconds the latest input of a scheduler came after the time for which it had set its timer, if all
    /// decisions come out again.
    #[track_caller]
    pub fn latest_timer_ns(&self) -> u64 {
        let (trace, plan) = (self.path("trace"), self.path("system.toml"));
        let out = succeeds(&["--json", "trace", "replay", &trace, "--plan", &plan]);
        let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(document["ok"], true, "{document}");
        let pcpus = document["pcpus"].as_array().expect("PCPUs");
        let late = |pcpu: &serde_json::Value| pcpu["late_max_ns"].as_u64().expect("a number");
        pcpus.iter().map(late).max().expect("somebody decides")
    }

    /// Value of `key=` in the first line of a VM that starts with `start` and has it.
    #[track_caller]
    pub fn value(&self, vm: &str, start: &str, key: &str) -> i64 {
        let lines = self.out.lines().filter_map(|line| {
            let (label, text) = line.strip_prefix('[')?.split_once("] ")?;
            (label.trim_end() == vm && text.starts_with(start)).then_some(text)
        });
        lines
            .flat_map(str::split_whitespace)
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
            .unwrap_or_else(|| panic!("{vm} has no {key} after {start:?}\n{}", self.out))
    }
}

/// A number that `make campaign` gives, in place of that which `make test` has time for.
pub fn campaign(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => otherwise,
    }
}
