//! One boot of a system in QEMU, with cachescope or without.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::trace::Trace;
use lab::Failure;
use lab::boot::{Prepared, Ran, Start};
use lab::cachescope::bins::Bin;
use lab::cachescope::jobs::Job;
use lab::cachescope::{Cachescope, Counts, rows};
use lab::console::Known;
use lab::hypervisor;
use lab::load;
use lab::record::{What, read_trace};
use lab::workspace::Workspace;
use qemu::{Exit, LogFile, Outcome, Time};

use crate::variant::Variant;

/// A boot of a system. Equal boots give equal results.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Boot {
    /// Description of the system.
    pub system: PathBuf,
    /// Names of VMs, and text that is appended to their command lines.
    pub append: Vec<(String, String)>,
    /// Options of cachescope; `None`: without it.
    pub options: Option<Vec<(String, String)>>,
    /// The differences from the description.
    pub variant: Variant,
    /// The boot ends when this VM has ended; `None`: when all have, and it is recorded.
    pub until: Option<String>,
    /// After this time the boot has failed.
    pub timeout: Duration,
}

/// The observations of a boot.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The jobs that guests marked.
    pub jobs: Vec<Job>,
    /// The accesses of VMs over time, if cachescope was there.
    pub bins: Vec<Bin>,
    /// Everything on the console.
    pub console: String,
    /// Evictions, if cachescope was there.
    pub counts: Option<Counts>,
    /// The trace, if one was recorded.
    pub trace: Option<Trace>,
}

impl Boot {
    /// Boots and waits for the end; `None` if `stop` was set before.
    pub fn run(&self, stop: &AtomicBool) -> Result<Option<Observed>, Failure> {
        let mut system = load::plan(&self.system)?;
        self.variant.apply(&mut system)?;
        let until = self.until.as_ref().map(|vm| system.find_vm(vm)).transpose()?;
        for (vm, arguments) in &self.append {
            system.append(vm, arguments)?;
        }
        let found = hypervisor::find(None)?;
        let place = Workspace::new(&found, &system.plan.name)?;
        let image = system.image(&found.load()?)?;
        let prepared = Prepared::new(&system, &image.bytes, &place)?;
        drop(image);
        let mut folder = place.scratch()?;
        let scope = self.options.as_ref().map(|options| {
            let options: Vec<String> =
                options.iter().map(|(option, value)| format!("{option}={value}")).collect();
            let scope = Cachescope::prepare(folder.path(), &system, &found)?;
            Ok::<_, Failure>(scope.with_options(&options))
        });
        let prepared = prepared.with_cachescope(scope.transpose()?);

        let traced = folder.path().join("trace");
        let running = prepared.start(Start {
            time: Time::Deterministic,
            timeout: Some(self.timeout),
            log: LogFile::named(folder.path().join("console.log")),
            keep_log: true,
            live: None,
            record: until.is_none().then_some((&traced, What::All)),
            arguments: &[],
        })?;
        let is_over = |known: &Known| until.is_some_and(|vm| known.vms[vm].ended.is_some());
        let Some(ran) = running.wait(is_over, stop) else {
            return Ok(None);
        };
        let ended = ran.without_results().map_or(Ok(()), Err);
        let Ran { outcome, known, recorded, .. } = ran;
        let recorded = recorded.transpose();
        let ended = ended.and_then(|()| self.check(&outcome, &known, until));
        let seen = ended.and_then(|()| {
            let console = outcome.log.clone();
            let trace = recorded?.map(|_| whole_trace(&traced)).transpose()?;
            let (jobs, bins) = (Vec::new(), Vec::new());
            let Some(scope) = prepared.cachescope().filter(|_| trace.is_none()) else {
                return Ok(Observed { jobs, bins, console, counts: None, trace });
            };
            let file = |name: &str| folder.path().join(name);
            let fail = |failure: Failure| failure.to_string();
            Ok(Observed {
                jobs: rows(&file("jobs.csv")).map_err(fail)?,
                bins: rows(&file("timeseries.csv")).map_err(fail)?,
                console,
                counts: Some(scope.counts()?),
                trace,
            })
        });
        seen.map(Some).map_err(|why| {
            // The log in it is what helps to find out why.
            folder.keep();
            self.failure(&format!("{why}\n{outcome}"))
        })
    }

    /// Checks that the boot went as it should.
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

fn whole_trace(file: &Path) -> Result<Trace, String> {
    let trace = read_trace(file).map_err(|failure| failure.to_string())?;
    match trace.lost() {
        0 => Ok(trace),
        lost => Err(format!("{lost} records of its trace came faster than they could be read")),
    }
}
