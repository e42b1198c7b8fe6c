//! A running board: its console, and its end.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::log_file::{Log, LogEnd};
use crate::machine::Options;
use crate::outcome::{Exit, Outcome, tail};
use crate::process::{Pipes, Process};

/// Most bytes of the console in one piece.
const CHUNK_BYTES: usize = 4096;
/// Pieces that wait for a slow reader; then QEMU's console waits, not our memory.
const CHUNKS_WAITING: usize = 4096;
/// Time that QEMU has to end after it has closed its console.
const GRACE: Duration = Duration::from_secs(5);

/// A piece of console output.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chunk {
    /// Time of the output since the start of QEMU.
    pub time: Duration,
    /// The bytes; a chunk may end within a line or a character.
    pub bytes: Vec<u8>,
}

/// Result of [`Session::next`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Next {
    /// Output of the console.
    Output(Chunk),
    /// No output came in time.
    Idle,
    /// The console is closed: QEMU ends or has ended.
    Ended,
}

/// A handle that sends to the console from any thread.
#[derive(Clone, Debug)]
pub struct Input(Sender<Vec<u8>>);

impl Input {
    /// Returns a handle whose bytes come out of the other end of a channel, for machines that are not QEMU's.
    pub fn new(bytes: Sender<Vec<u8>>) -> Self {
        Self(bytes)
    }

    /// Sends bytes to the console and does not wait for them to be read. They
    /// are lost when QEMU has ended.
    pub fn send(&self, bytes: &[u8]) {
        let _ = self.0.send(bytes.to_vec());
    }
}

/// A running QEMU. It is killed when the session is dropped.
#[derive(Debug)]
pub struct Session {
    process: Process,
    start: Instant,
    output: Receiver<Chunk>,
    input: Input,
    stderr: Arc<Mutex<String>>,
    stderr_reader: Option<JoinHandle<()>>,
    /// Output that [`Session::wait_for`] has read and not yet passed over.
    pending: Vec<u8>,
    log: Option<Vec<u8>>,
    log_file: Option<PathBuf>,
    log_end: LogEnd,
}

impl Session {
    pub(crate) fn new(process: Process, pipes: Pipes, log: Option<Log>, options: &Options) -> Self {
        let start = Instant::now();
        let stderr = Arc::new(Mutex::new(String::new()));
        let (chunks, output) = mpsc::sync_channel(CHUNKS_WAITING);
        let (input, bytes) = mpsc::channel();
        let log_end = log.as_ref().map(Log::end).unwrap_or_default();
        thread::spawn(move || read_console(pipes.stdout, start, log, &chunks));
        thread::spawn(move || write_console(pipes.stdin, &bytes));
        let messages = Arc::clone(&stderr);
        let stderr_reader = thread::spawn(move || read_stderr(pipes.stderr, &messages));
        Self {
            process,
            start,
            output,
            input: Input::new(input),
            stderr,
            stderr_reader: Some(stderr_reader),
            pending: Vec::new(),
            log: options.keep_log.then(Vec::new),
            log_file: options.log_file.as_ref().map(|it| it.path().to_owned()),
            log_end,
        }
    }

    /// Sends bytes to the console; see [`Input::send`].
    pub fn send(&self, bytes: &[u8]) {
        self.input.send(bytes);
    }

    /// Returns a handle that sends to the console.
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// Waits up to `timeout` for the next output.
    pub fn next(&mut self, timeout: Duration) -> Next {
        if !self.pending.is_empty() {
            let bytes = std::mem::take(&mut self.pending);
            return Next::Output(Chunk { time: self.start.elapsed(), bytes });
        }
        self.receive(timeout)
    }

    /// Waits until `pattern` has appeared on the console after the place where
    /// the last call ended. Returns the output up to it, `pattern` included.
    ///
    /// The error shows the last lines of the console.
    pub fn wait_for(&mut self, pattern: &str, timeout: Duration) -> Result<String, Error> {
        let deadline = Instant::now() + timeout;
        let mut searched = 0;
        loop {
            if let Some(at) = find(&self.pending[searched..], pattern.as_bytes()) {
                let rest = self.pending.split_off(searched + at + pattern.len());
                let passed = std::mem::replace(&mut self.pending, rest);
                return Ok(String::from_utf8_lossy(&passed).into_owned());
            }
            searched = self.pending.len().saturating_sub(pattern.len().saturating_sub(1));
            match self.receive(deadline.saturating_duration_since(Instant::now())) {
                Next::Output(chunk) => self.pending.extend(chunk.bytes),
                Next::Idle => {
                    let tail = self.tail();
                    return Err(Error::Timeout { pattern: pattern.into(), after: timeout, tail });
                }
                Next::Ended => {
                    let exit = self.reap(Exit::Stopped);
                    let tail = self.tail();
                    return Err(Error::Ended { pattern: pattern.into(), exit, tail });
                }
            }
        }
    }

    /// Waits up to `timeout` for the end of QEMU, then kills it.
    pub fn finish(mut self, timeout: Duration) -> Outcome {
        let deadline = Instant::now() + timeout;
        let exit = loop {
            match self.receive(deadline.saturating_duration_since(Instant::now())) {
                Next::Output(_) if Instant::now() < deadline => {}
                Next::Ended => break self.reap(Exit::TimedOut),
                Next::Output(_) | Next::Idle => break self.process.kill(Exit::TimedOut),
            }
        };
        self.outcome(exit)
    }

    /// Asks QEMU to end and waits up to `timeout` for that, then kills it. Unlike
    /// [`Session::stop`], this lets plugins write their results.
    pub fn end(self, timeout: Duration) -> Outcome {
        self.process.terminate();
        self.finish(timeout)
    }

    /// Kills QEMU if it still runs.
    pub fn stop(self) -> Outcome {
        let exit = self.process.kill(Exit::Stopped);
        self.outcome(exit)
    }

    fn receive(&mut self, timeout: Duration) -> Next {
        match self.output.recv_timeout(timeout) {
            Ok(chunk) => {
                if let Some(log) = &mut self.log {
                    log.extend(&chunk.bytes);
                }
                Next::Output(chunk)
            }
            Err(RecvTimeoutError::Timeout) => Next::Idle,
            Err(RecvTimeoutError::Disconnected) => Next::Ended,
        }
    }

    /// Returns how QEMU ended. QEMU has closed its console, and gets a moment to end.
    fn reap(&mut self, killed: Exit) -> Exit {
        let exit = self.process.wait(GRACE).unwrap_or_else(|| self.process.kill(killed));
        if let Some(reader) = self.stderr_reader.take() {
            let _ = reader.join();
        }
        exit
    }

    fn outcome(mut self, exit: Exit) -> Outcome {
        let elapsed = self.start.elapsed();
        if let Some(reader) = self.stderr_reader.take() {
            let _ = reader.join();
        }
        // What came before the end and has not been read yet.
        while let Next::Output(_) = self.receive(GRACE) {}
        Outcome {
            exit,
            log: self.log.as_deref().map(lossy).unwrap_or_default(),
            log_file: self.log_file.clone(),
            log_error: self.log_end.error(),
            stderr: self.messages(),
            elapsed,
        }
    }

    fn messages(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tail(&self) -> String {
        let log = self.log.as_deref().unwrap_or(&self.pending);
        tail(&self.messages(), &lossy(log), self.log_file.as_deref())
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    if pattern.is_empty() {
        return Some(0);
    }
    text.windows(pattern.len()).position(|window| window == pattern)
}

fn read_console(
    mut stdout: ChildStdout,
    start: Instant,
    mut log: Option<Log>,
    chunks: &SyncSender<Chunk>,
) {
    let mut buffer = [0; CHUNK_BYTES];
    while let Ok(count @ 1..) = stdout.read(&mut buffer) {
        let bytes = &buffer[..count];
        if let Some(log) = &mut log {
            log.write(bytes);
        }
        if chunks.send(Chunk { time: start.elapsed(), bytes: bytes.to_vec() }).is_err() {
            return;
        }
    }
}

fn write_console(mut stdin: ChildStdin, bytes: &Receiver<Vec<u8>>) {
    while let Ok(bytes) = bytes.recv() {
        if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_stderr(mut stderr: ChildStderr, messages: &Mutex<String>) {
    let mut buffer = [0; CHUNK_BYTES];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        note(messages, &String::from_utf8_lossy(&buffer[..count]));
    }
}

fn note(messages: &Mutex<String>, text: &str) {
    messages.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
}
