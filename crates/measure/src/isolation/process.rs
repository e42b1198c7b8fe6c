//! Victims and leeches, from the side of the process that started them.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Error;
use super::protection::Protection;
use super::worker::{Answer, Order, Run};

/// Time that a process has to end after the command to end.
const GRACE: Duration = Duration::from_millis(500);
/// The signal of a process that was killed,
const SIGKILL: i32 = 9;
/// and what may be behind it.
const MEMORY: &str = ", which the kernel does where memory is short";
/// Time that a signal may need from one process to the other.
const MOMENT: Duration = Duration::from_millis(100);
/// Time between looks at whether it has ended, or whether the user wants to.
const LOOK: Duration = Duration::from_millis(5);

/// A process that is a victim or a leech. It ends with this value.
pub(crate) struct Process {
    name: String,
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<String>,
    complaints: Option<thread::JoinHandle<String>>,
    timeout: Duration,
    /// The protection that the process got.
    pub protection: Protection,
    /// Number of times that a run repeats its workload.
    pub repeats: u32,
    /// About how long a run takes.
    pub run_time: Duration,
    /// Events that are not counted, and why.
    pub uncounted: Vec<String>,
}

impl Process {
    /// Starts it and waits until it is ready.
    pub fn start(
        name: String,
        mut command: Command,
        timeout: Duration,
        ended: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| Error::Process { name: name.clone(), why: error.to_string() })?;
        let (sender, answers) = channel();
        if let Some(out) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let complaints = child.stderr.take().map(|errors| {
            thread::spawn(move || {
                let mut text = Vec::new();
                // More is not shown.
                let _ = errors.take(4096).read_to_end(&mut text);
                String::from_utf8_lossy(&text).trim().to_owned()
            })
        });
        let protection =
            Protection { cpu: None, priority: None, locked: false, missing: Vec::new() };
        let orders = child.stdin.take();
        let mut process = Self {
            name,
            child,
            orders,
            answers,
            complaints,
            timeout,
            protection,
            repeats: 1,
            run_time: Duration::ZERO,
            uncounted: Vec::new(),
        };
        match process.answer(ended)? {
            Answer::Ready { protection, repeats, run_ns, uncounted } => {
                process.run_time = Duration::from_nanos(run_ns);
                process.protection = protection;
                process.repeats = repeats;
                process.uncounted = uncounted;
                Ok(process)
            }
            other => Err(process.failed(format!("said {other:?} where it had to be ready"))),
        }
    }

    /// Lets a victim run once.
    pub fn run(&mut self, ended: &dyn Fn() -> bool) -> Result<Run, Error> {
        match self.order(Order::Run, ended)? {
            Answer::Ran(run) => Ok(run),
            other => Err(self.failed(format!("said {other:?} where it had to run"))),
        }
    }

    /// Lets a leech take, or rest.
    pub fn leech(&mut self, order: Order, ended: &dyn Fn() -> bool) -> Result<(), Error> {
        self.order(order, ended).map(|_| ())
    }

    fn order(&mut self, order: Order, ended: &dyn Fn() -> bool) -> Result<Answer, Error> {
        let line = format!("{}\n", order.line());
        if let Some(orders) = &mut self.orders {
            // If it has ended, its answer is missing, and says more.
            let _ = orders.write_all(line.as_bytes()).and_then(|()| orders.flush());
        }
        self.answer(ended)
    }

    fn answer(&mut self, ended: &dyn Fn() -> bool) -> Result<Answer, Error> {
        let start = Instant::now();
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(Answer::Failed(why)) => return Err(self.failed(why)),
                    Ok(answer) => return Ok(answer),
                    Err(_) => {
                        return Err(self.failed(format!("said {line:?}, which is not an answer")));
                    }
                },
                // Ctrl-C on a terminal reaches it too, and may end it first.
                Err(RecvTimeoutError::Disconnected) if soon(ended) => return Err(Error::Ended),
                Err(RecvTimeoutError::Disconnected) => {
                    let said = self.complaints();
                    let status = self.child.wait().ok();
                    let killed = status.and_then(|it| it.signal()) == Some(SIGKILL);
                    let status = status.map(|it| it.to_string()).unwrap_or_default();
                    let status = if killed { format!("{status}{MEMORY}") } else { status };
                    let said = if said.is_empty() { said } else { format!(": {said}") };
                    return Err(self.failed(format!("ended ({status}){said}")));
                }
                Err(RecvTimeoutError::Timeout) if ended() => return Err(Error::Ended),
                Err(RecvTimeoutError::Timeout) if start.elapsed() > self.timeout => {
                    return Err(Error::Timeout { name: self.name.clone(), limit: self.timeout });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn failed(&self, why: String) -> Error {
        Error::Process { name: self.name.clone(), why }
    }

    fn complaints(&mut self) -> String {
        self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

/// Returns true if the user wants to end, now or in a moment.
fn soon(ended: &dyn Fn() -> bool) -> bool {
    let start = Instant::now();
    while !ended() {
        if start.elapsed() > MOMENT {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

impl Drop for Process {
    /// Ends it: by the end of its input, and if that does not help, by force.
    fn drop(&mut self) {
        drop(self.orders.take());
        let start = Instant::now();
        while start.elapsed() < GRACE {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
