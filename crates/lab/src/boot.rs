//! Starts a planned system in a machine, and follows it to its end.

use std::path::Path;
use std::time::Duration;

use qemu::{Board, Exit, Input, LogFile, Next, Options, Outcome, Session, Time};

use crate::board::board;
use crate::cachescope::Cachescope;
use crate::console::{Known, Tally};
use crate::failure::Failure;
use crate::load::System;
use crate::record::{Live, NewTrace, Recorded, Recording, SharedRam, What};
use crate::watch::Watch;
use crate::workspace::{ImageFile, Workspace};

/// Interval at which a caller that waits for a machine can stop it.
const TICK: Duration = Duration::from_millis(50);

/// Time that a machine has to write its results when it is asked to end. It needs less than a second, but the host may have
/// much else to do.
const RESULTS: Duration = Duration::from_secs(120);

/// A machine that runs a system. QEMU's boards are such machines. Another backend implements this trait and gives the
/// machine to [`Running::new`], with a [`Recording`] of its RAM if a trace is wanted; [`crate::run::judge`] then judges the run.
pub trait Machine {
    /// Waits up to `timeout` for the next output of the console.
    fn next(&mut self, timeout: Duration) -> Next;
    /// Returns a handle that sends to the console.
    fn input(&self) -> Input;
    /// Waits up to `grace` for the machine to end, then kills it.
    fn finish(self: Box<Self>, grace: Duration) -> Outcome;
    /// Asks the machine to end, so that results are written, and kills it after `grace`.
    fn end(self: Box<Self>, grace: Duration) -> Outcome;
    /// Kills the machine.
    fn stop(self: Box<Self>);
}

impl Machine for Session {
    fn next(&mut self, timeout: Duration) -> Next {
        Session::next(self, timeout)
    }

    fn input(&self) -> Input {
        Session::input(self)
    }

    fn finish(self: Box<Self>, grace: Duration) -> Outcome {
        Session::finish(*self, grace)
    }

    fn end(self: Box<Self>, grace: Duration) -> Outcome {
        Session::end(*self, grace)
    }

    fn stop(self: Box<Self>) {
        Session::stop(*self);
    }
}

/// A system whose image is written: it can be started any number of times.
#[derive(Debug)]
pub struct Prepared<'a> {
    system: &'a System,
    board: Board,
    image: ImageFile,
    scope: Option<Cachescope>,
}

/// Options of a start.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// The clock of the guests.
    pub time: Time,
    /// The machine is asked to end after this time.
    pub timeout: Option<Duration>,
    /// The file for all output of the console.
    pub log: LogFile,
    /// Returns the output of the console with the outcome, too.
    pub keep_log: bool,
    /// The file for a trace, and its contents.
    pub record: Option<(&'a Path, What)>,
    /// Is told the records, while they are recorded.
    pub live: Option<Live>,
    /// More arguments for QEMU.
    pub arguments: &'a [String],
}

impl<'a> Prepared<'a> {
    /// Writes the `image` of a system into a folder for runs.
    pub fn new(system: &'a System, image: &[u8], place: &Workspace) -> Result<Self, Failure> {
        let board = board(system)?;
        Ok(Self { system, board, image: place.image(image)?, scope: None })
    }

    /// Lets `scope` count the events in the caches.
    pub fn with_cachescope(self, scope: Option<Cachescope>) -> Self {
        Self { scope, ..self }
    }

    /// Returns true if a trace of the system can be recorded.
    pub fn can_record(&self) -> bool {
        self.board.memory_bytes.is_some()
    }

    /// Starts the machine.
    pub fn start(&self, start: Start<'_>) -> Result<Running, Failure> {
        let mut arguments: Vec<String> =
            self.scope.iter().flat_map(Cachescope::arguments).collect();
        let mut recording = None;
        if let Some((path, what)) = start.record {
            let ram = SharedRam::of(&self.system.plan, &self.board)?;
            arguments.extend(ram.arguments());
            let trace = NewTrace::create(path, what)?.with_live(start.live);
            recording = Some(Recording::from_ram(trace, self.system, ram)?);
        }
        arguments.extend(start.arguments.iter().cloned());
        let options = Options {
            program: None,
            time: start.time,
            timeout: start.timeout,
            log_file: Some(start.log),
            keep_log: start.keep_log,
            arguments,
        };
        let session = qemu::Machine::start(&self.board, self.image.path(), &options)?;
        Ok(Running::new(Box::new(session), self.system, recording))
    }

    /// Returns the plugin cachescope, if the system runs with it.
    pub fn cachescope(&self) -> Option<&Cachescope> {
        self.scope.as_ref()
    }
}

/// A machine that runs.
pub struct Running {
    machine: Box<dyn Machine>,
    tally: Tally,
    recording: Option<Recording>,
}

/// The result of a machine that has ended.
#[derive(Debug)]
pub struct Ran {
    /// The end of the machine.
    pub outcome: Outcome,
    /// The facts that the lines of the console showed.
    pub known: Known,
    /// The recorded trace, or why there is none; `None`: no trace was wanted.
    pub recorded: Option<Result<Recorded, String>>,
    /// True if the machine was asked to end.
    pub asked: bool,
}

impl Running {
    /// Returns a machine that runs the system, and the recording of its trace, if one was started. QEMU's boards come from
    /// [`Prepared::start`].
    pub fn new(machine: Box<dyn Machine>, system: &System, recording: Option<Recording>) -> Self {
        let names = system.plan.vms.iter().map(|vm| vm.name.clone());
        Self { machine, tally: Tally::new(names), recording }
    }

    /// Waits up to `timeout` for the next output of the console, and takes note of what the output says.
    pub fn next(&mut self, timeout: Duration) -> Next {
        let next = self.machine.next(timeout);
        if let Next::Output(chunk) = &next {
            self.tally.feed(chunk);
        }
        next
    }

    /// Returns the facts that the console has shown so far.
    pub fn known(&self) -> &Known {
        self.tally.known()
    }

    /// Returns a handle that sends to the console.
    pub fn input(&self) -> Input {
        self.machine.input()
    }

    /// Follows the machine until it ends by itself, or until `is_over` returns true and the machine, which is asked to
    /// end, has written its results. `None`: `watch` stopped it.
    pub fn wait(mut self, is_over: impl Fn(&Known) -> bool, watch: &dyn Watch) -> Option<Ran> {
        while !is_over(self.known()) {
            if watch.stops() {
                self.machine.stop();
                return None;
            }
            match self.next(TICK) {
                Next::Output(_) => {}
                Next::Idle => watch.tick(),
                Next::Ended => return Some(self.finish(RESULTS)),
            }
        }
        Some(self.end(RESULTS))
    }

    /// Waits up to `grace` for the end of the machine, whose console is closed.
    pub fn finish(self, grace: Duration) -> Ran {
        let Self { machine, tally, recording } = self;
        Ran::new(machine.finish(grace), tally, recording, false)
    }

    /// Asks the machine to end, and waits up to `grace` until it has written its results.
    pub fn end(self, grace: Duration) -> Ran {
        let Self { machine, tally, recording } = self;
        Ran::new(machine.end(grace), tally, recording, true)
    }
}

impl Ran {
    fn new(outcome: Outcome, tally: Tally, recording: Option<Recording>, asked: bool) -> Self {
        Self { outcome, known: tally.end(), recorded: recording.map(Recording::finish), asked }
    }

    /// Returns a remark on a machine that was asked to end and had to be killed: its results are missing.
    pub fn without_results(&self) -> Option<String> {
        let killed = self.asked && self.outcome.exit == Exit::TimedOut;
        let seconds = RESULTS.as_secs();
        killed.then(|| {
            format!(
                "the machine did not write its results within {seconds} s of being asked to: \
                 run it again on a host that has less to do"
            )
        })
    }
}
