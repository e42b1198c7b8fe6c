//! A child process that does not outlive its guard.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::outcome::Exit;

/// Interval at which a process that is about to end is polled.
const POLL: Duration = Duration::from_millis(5);

/// Time that a process has to end after its timeout, so that plugins can write their results.
const GRACE: Duration = Duration::from_secs(5);

/// The guard of a running process.
///
/// A thread of its own starts the process and lives as long as the guard:
/// Linux sends the "parent died" signal when the *thread* dies that forked.
#[derive(Debug)]
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    timed_out: Arc<AtomicBool>,
    /// Closed to send the keeper home.
    keep: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

/// The ends of the pipes to a process.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Process {
    /// Starts `program` with pipes; after `timeout`, if one is given, it is asked to end, and killed if it
    /// does not.
    pub(crate) fn start(
        program: &str,
        arguments: &[String],
        timeout: Option<Duration>,
    ) -> io::Result<(Self, Pipes)> {
        let mut command = guarded(program);
        // A group of its own: Ctrl-C at the terminal is the caller's business.
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let timed_out = Arc::new(AtomicBool::new(false));
        let (keep, kept) = mpsc::channel::<()>();
        let (started, start) = mpsc::channel();
        let late = Arc::clone(&timed_out);
        let keeper = thread::Builder::new().name("qemu-keeper".into()).spawn(move || {
            let child = match command.spawn() {
                Ok(mut child) => {
                    let pipes = take_pipes(&mut child);
                    let child = Arc::new(Mutex::new(child));
                    let _ = started.send(pipes.map(|pipes| (Arc::clone(&child), pipes)));
                    child
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            if let Some(timeout) = timeout
                && kept.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout)
            {
                terminate(&child, || late.store(true, Ordering::SeqCst));
                let end = Instant::now() + GRACE;
                while is_running(&child)
                    && Instant::now() < end
                    && kept.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout)
                {}
                kill(&child);
            }
            let _ = kept.recv();
            kill(&child);
        })?;
        let (child, pipes) = start.recv().map_err(io::Error::other)??;
        Ok((Self { child, timed_out, keep: Some(keep), keeper: Some(keeper) }, pipes))
    }

    /// Returns how the process ended, or `None` while it runs.
    pub(crate) fn exit(&self) -> Option<Exit> {
        let status = lock(&self.child).try_wait().ok().flatten()?;
        Some(self.classify(status))
    }

    /// Waits up to `timeout` for the end of the process.
    pub(crate) fn wait(&self, timeout: Duration) -> Option<Exit> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(exit) = self.exit() {
                return Some(exit);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(POLL);
        }
    }

    /// Asks the process to end. Where it has gone already, nothing happens.
    pub(crate) fn terminate(&self) {
        terminate(&self.child, || {});
    }

    /// Kills the process if it still runs. Returns how it ended, `killed` if by this.
    pub(crate) fn kill(&self, killed: Exit) -> Exit {
        self.exit().unwrap_or_else(|| {
            kill(&self.child);
            killed
        })
    }

    fn classify(&self, status: ExitStatus) -> Exit {
        match status.code() {
            _ if self.timed_out.load(Ordering::SeqCst) => Exit::TimedOut,
            Some(code) => Exit::Code(code),
            None => Exit::Signal(status.signal().unwrap_or_default()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.keep.take());
        kill(&self.child);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Asks the process to end if it still runs. Before that calls `before`, so that whoever sees it end knows why.
fn terminate(child: &Mutex<Child>, before: impl FnOnce()) {
    let mut child = lock(child);
    // Not yet reaped, which needs the lock: the number is that of no other process.
    let running = matches!(child.try_wait(), Ok(None));
    if running {
        before();
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
    }
}

fn is_running(child: &Mutex<Child>) -> bool {
    matches!(lock(child).try_wait(), Ok(None))
}

/// Kills and reaps; does nothing if the process is gone.
fn kill(child: &Mutex<Child>) {
    let mut child = lock(child);
    let _ = child.kill();
    let _ = child.wait();
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take_pipes(child: &mut Child) -> io::Result<Pipes> {
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Pipes { stdin, stdout, stderr }),
        _ => Err(io::Error::other("the pipes are missing")),
    }
}

/// Returns a command for `program` that the kernel kills when its parent dies.
///
/// `setpriv` (util-linux, on every Debian) sets that up and then becomes the
/// program. Where it is missing, the process is guarded by everything else.
fn guarded(program: &str) -> Command {
    const SETPRIV: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    let available = *AVAILABLE.get_or_init(|| {
        Command::new(SETPRIV[0])
            .args(&SETPRIV[1..])
            .arg("true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    });
    if !available {
        return Command::new(program);
    }
    let mut command = Command::new(SETPRIV[0]);
    command.args(&SETPRIV[1..]).arg("--").arg(program);
    command
}
