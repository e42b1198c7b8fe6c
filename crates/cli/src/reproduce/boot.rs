//! One boot of a system in QEMU, with cachescope or without.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::trace::Trace;
use bulkhead_qemu::{Exit, Machine, Next, Options, Outcome, Session, Time};

use super::job::{self, Job};
use super::traffic::{self, Bin};
use super::variant::Variant;
use crate::failure::Failure;
use crate::input;
use crate::run::cachescope::{Cachescope, Counts};
use crate::run::tally::{Known, Tally};
use crate::run::{append, boards, find_vm, hypervisor, workspace};
use crate::trace::record::{Recording, What};

/// How often a boot looks whether it has to stop.
const TICK: Duration = Duration::from_millis(50);
/// How long QEMU may take to write its results.
const GRACE: Duration = Duration::from_secs(20);

/// What is booted. Equal boots give equal results.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Boot {
    /// Description of the system.
    pub system: PathBuf,
    /// What is appended to the command lines of VMs.
    pub append: Vec<(String, String)>,
    /// Options of cachescope; `None`: without it.
    pub options: Option<Vec<(String, String)>>,
    /// What is different from the description.
    pub variant: Variant,
    /// The boot ends when this VM has ended; `None`: when all have, and it is recorded.
    pub until: Option<String>,
    /// After this time the boot has failed.
    pub timeout: Duration,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The jobs that guests marked.
    pub jobs: Vec<Job>,
    /// What VMs did over time, if cachescope was there.
    pub bins: Vec<Bin>,
    /// Everything on the console.
    pub console: String,
    /// Evictions, if cachescope was there.
    pub counts: Option<Counts>,
    /// What happened, if it was recorded.
    pub trace: Option<Trace>,
}

impl Boot {
    /// Boots and waits for the end; `None` if `stop` was set before.
    pub fn run(&self, stop: &AtomicBool) -> Result<Option<Observed>, Failure> {
        let mut system = input::plan(&self.system)?;
        self.variant.apply(&mut system)?;
        let until = self.until.as_ref().map(|vm| find_vm(&system, vm)).transpose()?;
        for (vm, arguments) in &self.append {
            let vm = find_vm(&system, vm)?;
            append(system.plan.vms[vm].boot.bootargs.get_or_insert_default(), arguments);
        }
        let found = hypervisor::find(None)?;
        let image = system.image(&found.load()?)?;
        let board = boards::board(&system)?;
        let place = workspace::Workspace::new(&found, &system.plan.name)?;
        let mut folder = place.scratch()?;
        let scope = self.options.as_ref();
        let scope =
            scope.map(|_| Cachescope::prepare(folder.path(), &system, &found)).transpose()?;
        let path = place.image(&image.bytes)?;
        drop(image);

        let traced = folder.path().join("trace");
        let recording =
            until.is_none().then(|| Recording::start(&traced, &system, &board, What::All));
        let recording = recording.transpose()?;
        let mut arguments: Vec<String> = scope.iter().flat_map(Cachescope::arguments).collect();
        for (option, value) in self.options.iter().flatten() {
            arguments[1].push_str(&format!(",{option}={value}"));
        }
        arguments.extend(recording.iter().flat_map(Recording::arguments));
        let options = Options {
            program: None,
            time: Time::Deterministic,
            timeout: Some(self.timeout),
            log_file: Some(folder.path().join("console.log")),
            keep_log: true,
            arguments,
        };
        let session = Machine::start(&board, path.path(), &options)?;
        let names = system.plan.vms.iter().map(|vm| vm.name.clone());
        let Some((outcome, known)) = attend(session, Tally::new(names), until, stop) else {
            return Ok(None);
        };
        let recorded = recording.map(Recording::finish).transpose();
        let seen = self.check(&outcome, &known, until).and_then(|()| {
            let console = outcome.log.clone();
            let trace = recorded?.map(|_| read_trace(&traced)).transpose()?;
            let (jobs, bins) = (Vec::new(), Vec::new());
            let Some(scope) = scope.as_ref().filter(|_| trace.is_none()) else {
                return Ok(Observed { jobs, bins, console, counts: None, trace });
            };
            let file = |name: &str| folder.path().join(name);
            let (jobs, bins) = (file("jobs.csv"), file("timeseries.csv"));
            let fail = |file: &Path, error: csv::Error| format!("{}: {error}", file.display());
            Ok(Observed {
                jobs: job::read(&jobs).map_err(|error| fail(&jobs, error))?,
                bins: traffic::read(&bins).map_err(|error| fail(&bins, error))?,
                console,
                counts: Some(scope.counts()?),
                trace,
            })
        });
        seen.map(Some).map_err(|why| {
            // The log in it is what helps to find out why.
            folder.disable_cleanup(true);
            self.failure(&format!("{why}\n{outcome}"))
        })
    }

    /// Whether the boot went as it should.
    fn check(&self, outcome: &Outcome, known: &Known, until: Option<usize>) -> Result<(), String> {
        match outcome.exit {
            Exit::Code(0) => {}
            Exit::TimedOut => {
                return Err(format!("it did not end within {} s", self.timeout.as_secs()));
            }
            exit => return Err(format!("QEMU ended with {exit}")),
        }
        let awaited =
            known.vms.iter().enumerate().filter(|(vm, _)| until.is_none_or(|it| it == *vm));
        for (_, vm) in awaited {
            match vm.ended.as_ref() {
                Some((state, _)) if state == "off" => {}
                Some((state, reason)) => return Err(format!("it is {state} ({reason})")),
                None => return Err("it did not switch itself off".into()),
            }
        }
        let stopped = known.vms.iter().find(|vm| match &vm.ended {
            Some((state, _)) => state == "stopped",
            None => false,
        });
        match stopped {
            Some(vm) => Err(format!("the VM `{}` was stopped", vm.name)),
            None => Ok(()),
        }
    }

    /// A failure of this boot.
    pub fn failure(&self, why: &str) -> Failure {
        let arguments: Vec<String> =
            self.append.iter().map(|(vm, text)| format!(" --append '{vm}={text}'")).collect();
        let vm = self.until.as_deref().unwrap_or("any");
        let command = format!("bulkhead run {}{}", self.system.display(), arguments.concat());
        Failure::new("boot", format!("a boot has no result, VM `{vm}`: {why}\nhelp: `{command}`"))
    }
}

fn read_trace(file: &Path) -> Result<Trace, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let trace = Trace::read(bytes.as_slice()).map_err(|error| error.to_string())?;
    match trace.lost() {
        0 => Ok(trace),
        lost => Err(format!("{lost} records of its trace came faster than they could be read")),
    }
}

/// Waits for the end of the VM. `None`: it was stopped.
fn attend(
    mut session: Session,
    mut tally: Tally,
    until: Option<usize>,
    stop: &AtomicBool,
) -> Option<(Outcome, Known)> {
    let ended = |tally: &Tally| until.is_some_and(|vm| tally.known().vms[vm].ended.is_some());
    while !ended(&tally) {
        if stop.load(Ordering::SeqCst) {
            session.stop();
            return None;
        }
        match session.next(TICK) {
            Next::Output(chunk) => tally.feed(&chunk),
            Next::Idle => {}
            Next::Ended => return Some((session.finish(GRACE), tally.end())),
        }
    }
    Some((session.end(GRACE), tally.end()))
}
