//! A command of the user as workload.

use std::os::unix::process::CommandExt;
use std::process::{Command as Process, Stdio};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process_group};

use super::Work;

/// The running command, for the code that has to end it.
static RUNNING: Mutex<Option<Pid>> = Mutex::new(None);

/// A command of a shell. What it prints is of no interest here.
pub struct Command {
    text: String,
}

impl Command {
    /// This command.
    pub fn new(text: &str) -> Self {
        Self { text: text.into() }
    }
}

impl Work for Command {
    fn run(&mut self) -> Result<(), String> {
        let failed = |why: String| format!("the command `{}` {why}", self.text);
        let mut child = Process::new("/bin/sh")
            .args(["-c", &self.text])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        note(Some(Pid::from_child(&child)));
        let ended = child.wait();
        note(None);
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("failed ({status})"))),
            Err(error) => Err(failed(format!("was lost: {error}"))),
        }
    }
}

fn note(pid: Option<Pid>) {
    *RUNNING.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = pid;
}

/// Ends the command that runs and all its children, if one runs.
pub fn end_command() {
    let running = RUNNING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(pid) = *running {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}
