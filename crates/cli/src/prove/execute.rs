//! Runs a system on QEMU until its tasks have ended, with a trace and counts of the caches.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bulkhead_qemu::{Board, Exit, Machine, Next, Options, Outcome, Session, Time};
use trace::Trace;

use super::options::ProveOptions;
use super::steps::Steps;
use crate::failure::Failure;
use crate::input::System;
use crate::run::boards;
use crate::run::cachescope::{Cachescope, Counts};
use crate::run::hypervisor::Found;
use crate::run::signals::Signals;
use crate::run::tally::{Known, Tally};
use crate::run::workspace::{ImageFile, Workspace};
use crate::trace::read_trace;
use crate::trace::record::{Recording, What};

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long QEMU may take to write its results.
const GRACE: Duration = Duration::from_secs(20);
/// The trace in the folder of a run.
pub const TRACE: &str = "run.trace";
/// The console in the folder of a run.
const CONSOLE: &str = "console.log";

/// A system that can be started.
pub struct Prepared<'a> {
    system: &'a System,
    board: Board,
    image: ImageFile,
    scope: Cachescope,
    folder: PathBuf,
}

/// How often a run is recorded until no record is missing: all of them are the same.
const ATTEMPTS: u32 = 3;

/// What was seen of a run.
pub struct Executed {
    /// What happened.
    pub trace: Trace,
    /// What the console said.
    pub known: Known,
    /// Evictions.
    pub counts: Counts,
    /// Where the results of the cache model are.
    pub folder: PathBuf,
    /// What was not as it should be, a sentence each.
    pub problems: Vec<String>,
}

impl<'a> Prepared<'a> {
    /// Builds the image, and finds what is needed to run it.
    pub fn new(
        system: &'a System,
        found: &Found,
        folder: &Path,
        bin_ns: Option<u64>,
        options: &ProveOptions,
    ) -> Result<Self, Failure> {
        let board = boards::board(system)?;
        let mut scope_options = vec!["time=model".to_owned()];
        scope_options.extend(bin_ns.map(|ns| format!("bin={ns}ns")));
        scope_options.extend(options.cachescope_option.iter().cloned());
        let scope = Cachescope::prepare(folder, system, found)?.with_options(&scope_options);
        let image = system.image(&found.load()?)?;
        let image = Workspace::new(found, &system.plan.name)?.image(&image.bytes)?;
        Ok(Self { system, board, image, scope, folder: folder.to_owned() })
    }

    /// Runs it, again if records of its trace came faster than they could be read. `None`: a signal came.
    pub fn run(
        &self,
        timeout: Duration,
        signals: &Signals,
        steps: &Steps,
    ) -> Result<Option<Executed>, Failure> {
        for _ in 1..ATTEMPTS {
            match self.once(timeout, signals, steps)? {
                Some(run) if run.trace.lost() > 0 => {}
                found => return Ok(found),
            }
        }
        self.once(timeout, signals, steps)
    }

    fn once(
        &self,
        timeout: Duration,
        signals: &Signals,
        steps: &Steps,
    ) -> Result<Option<Executed>, Failure> {
        let traced = self.folder.join(TRACE);
        let recording = Recording::start(&traced, self.system, &self.board, What::All)?;
        let mut arguments: Vec<String> = self.scope.arguments().into();
        arguments.extend(recording.arguments());
        let options = Options {
            program: None,
            time: Time::Deterministic,
            timeout: Some(timeout),
            log_file: Some(self.folder.join(CONSOLE)),
            keep_log: true,
            arguments,
        };
        let session = Machine::start(&self.board, self.image.path(), &options)?;
        let Some((outcome, known)) = attend(session, self.system, signals, steps) else {
            return Ok(None);
        };
        let recorded = recording.finish();
        // The folder with its log goes away, but the end of the log is part of the text.
        let shown = Outcome { log_file: None, ..outcome.clone() };
        let failed = |why: String| Failure::new("run", format!("{why}\n{shown}"));
        if let Some(why) = &known.refusal {
            return Err(failed(format!("the hypervisor started no VM: {why}")));
        }
        let mut problems = Vec::new();
        match outcome.exit {
            Exit::Code(0) => {}
            Exit::TimedOut => {
                let seconds = timeout.as_secs_f64();
                problems.push(format!(
                    "the run was stopped after {seconds} s: its tasks had not ended (`--timeout`)"
                ));
            }
            exit => return Err(failed(format!("QEMU ended with {exit}"))),
        }
        recorded.map_err(&failed)?;
        let trace = read_trace(&traced)?;
        if trace.lost() > 0 {
            let lost = trace.lost();
            problems.push(format!("{lost} records of the trace came faster than they could be read: run it again on a machine that has less to do"));
        }
        for vm in &known.vms {
            if let Some((state, reason)) = &vm.ended
                && state == "stopped"
            {
                problems.push(format!("VM `{}` was stopped: {reason}", vm.name));
            }
        }
        let counts = self.scope.counts().map_err(failed)?;
        Ok(Some(Executed { trace, known, counts, folder: self.folder.clone(), problems }))
    }
}

/// Waits until all VMs with tasks have ended. `None`: a signal came.
fn attend(
    mut session: Session,
    system: &System,
    signals: &Signals,
    steps: &Steps,
) -> Option<(Outcome, Known)> {
    let vms = system.description.iter().flat_map(|it| &it.vms);
    let awaited: Vec<usize> =
        vms.enumerate().filter(|(_, vm)| !vm.tasks.is_empty()).map(|(index, _)| index).collect();
    let names = system.plan.vms.iter().map(|vm| vm.name.clone());
    let mut tally = Tally::new(names);
    while !awaited.iter().all(|&vm| tally.known().vms[vm].ended.is_some()) {
        if signals.caught().is_some() {
            session.stop();
            return None;
        }
        match session.next(TICK) {
            Next::Output(chunk) => tally.feed(&chunk),
            Next::Idle => steps.tick(),
            Next::Ended => return Some((session.finish(GRACE), tally.end())),
        }
    }
    Some((session.end(GRACE), tally.end()))
}
