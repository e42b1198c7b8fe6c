//! One boot of a system in QEMU, with cachescope or without.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bulkhead_qemu::{Exit, Machine, Next, Options, Outcome, Session, Time};

use super::job::{self, Job};
use super::traffic::{self, Bin};
use crate::failure::Failure;
use crate::input;
use crate::run::cachescope::{Cachescope, Counts};
use crate::run::tally::{Known, Tally};
use crate::run::{append, boards, find_vm, hypervisor, workspace};

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
    /// The boot ends when this VM has ended.
    pub until: String,
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
}

impl Boot {
    /// Boots and waits for the end; `None` if `stop` was set before.
    pub fn run(&self, stop: &AtomicBool) -> Result<Option<Observed>, Failure> {
        let mut system = input::plan(&self.system)?;
        let until = find_vm(&system, &self.until)?;
        for (vm, arguments) in &self.append {
            let vm = find_vm(&system, vm)?;
            append(system.plan.vms[vm].boot.bootargs.get_or_insert_default(), arguments);
        }
        let found = hypervisor::find(None)?;
        let cpu = system.cpu();
        let image =
            bulkhead_image::build(&system.plan, &system.folder, &found.load()?, cpu.as_deref())?;
        let board = boards::board(&system)?;
        let place = workspace::Workspace::new(&found, &system.plan.name)?;
        let mut folder = place.scratch()?;
        let scope = self.options.as_ref();
        let scope =
            scope.map(|_| Cachescope::prepare(folder.path(), &system, &found)).transpose()?;
        let path = place.image(&image.bytes)?;
        drop(image);

        let mut arguments: Vec<String> = scope.iter().flat_map(Cachescope::arguments).collect();
        for (option, value) in self.options.iter().flatten() {
            arguments[1].push_str(&format!(",{option}={value}"));
        }
        let options = Options {
            program: None,
            time: Time::Deterministic,
            timeout: Some(self.timeout),
            log_file: Some(folder.path().join("console.log")),
            keep_log: true,
            arguments,
        };
        let session = Machine::start(&board, &path, &options)?;
        let names = system.plan.vms.iter().map(|vm| vm.name.clone());
        let Some((outcome, known)) = attend(session, Tally::new(names), until, stop) else {
            return Ok(None);
        };
        let seen = self.check(&outcome, &known, until).and_then(|()| {
            let console = outcome.log.clone();
            let Some(scope) = &scope else {
                return Ok(Observed { jobs: Vec::new(), bins: Vec::new(), console, counts: None });
            };
            let file = |name: &str| folder.path().join(name);
            let (jobs, bins) = (file("jobs.csv"), file("timeseries.csv"));
            let fail = |file: &Path, error: csv::Error| format!("{}: {error}", file.display());
            Ok(Observed {
                jobs: job::read(&jobs).map_err(|error| fail(&jobs, error))?,
                bins: traffic::read(&bins).map_err(|error| fail(&bins, error))?,
                console,
                counts: Some(scope.counts()?),
            })
        });
        seen.map(Some).map_err(|why| {
            // The log in it is what helps to find out why.
            folder.disable_cleanup(true);
            self.failure(&format!("{why}\n{outcome}"))
        })
    }

    /// Whether the boot went as it should.
    fn check(&self, outcome: &Outcome, known: &Known, until: usize) -> Result<(), String> {
        match outcome.exit {
            Exit::Code(0) => {}
            Exit::TimedOut => {
                return Err(format!("it did not end within {} s", self.timeout.as_secs()));
            }
            exit => return Err(format!("QEMU ended with {exit}")),
        }
        match known.vms[until].ended.as_ref() {
            Some((state, _)) if state == "off" => {}
            Some((state, reason)) => return Err(format!("it is {state} ({reason})")),
            None => return Err("it did not switch itself off".into()),
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
        let command = format!("bulkhead run {}{}", self.system.display(), arguments.concat());
        Failure::new(
            "boot",
            format!("a boot has no result, VM `{}`: {why}\nhelp: `{command}`", self.until),
        )
    }
}

/// Waits for the end of the VM. `None`: it was stopped.
fn attend(
    mut session: Session,
    mut tally: Tally,
    until: usize,
    stop: &AtomicBool,
) -> Option<(Outcome, Known)> {
    let ended = |tally: &Tally| tally.known().vms[until].ended.is_some();
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
