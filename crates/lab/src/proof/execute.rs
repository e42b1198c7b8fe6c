//! Runs a system on QEMU until its tasks have ended, with a trace and counts of the caches.

use std::path::{Path, PathBuf};
use std::time::Duration;

use qemu::{Exit, LogFile, Outcome, Time};
use report::verdicts::Row;
use trace::Trace;

use crate::boot::{self, Ran, Start};
use crate::cachescope::{Cachescope, Counts};
use crate::console::Known;
use crate::failure::Failure;
use crate::hypervisor::Found;
use crate::kvm::Colors;
use crate::load::System;
use crate::record::{What, read_trace};
use crate::watch::Watch;
use crate::workspace::Workspace;

/// The trace in the folder of a run.
pub const TRACE: &str = "run.trace";
/// The console in the folder of a run.
pub const CONSOLE: &str = "console.log";

/// A system that can be started.
pub struct Prepared<'a> {
    system: &'a System,
    machine: boot::Prepared<'a>,
    scope: Cachescope,
    folder: PathBuf,
}

/// Number of attempts to record a run without losing records; all runs are the same.
const ATTEMPTS: u32 = 3;

/// The results of a run.
pub struct Executed {
    /// The trace.
    pub trace: Trace,
    /// The facts that the console showed.
    pub known: Known,
    /// Evictions, if the cache model saw the run.
    pub counts: Option<Counts>,
    /// The folder with the results of the cache model.
    pub folder: PathBuf,
    /// Problems of the run that have no verdict of their own, a sentence each.
    pub problems: Vec<String>,
    /// True if the run was stopped because it took too long.
    pub is_timed_out: bool,
    /// The frames of VMs with colours, where they were looked at.
    pub colors: Option<Colors>,
}

impl Executed {
    /// Returns the verdicts on the frames of VMs with colours.
    pub fn rows(&self) -> Vec<Row> {
        self.colors.iter().flat_map(Colors::rows).collect()
    }

    /// Returns all that is wrong with the run, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let failed = self.rows().into_iter().filter(|row| row.fails());
        self.problems.iter().cloned().chain(failed.flat_map(|row| row.reasons)).collect()
    }
}

impl<'a> Prepared<'a> {
    /// Builds the image, and finds the programs and files to run it.
    pub fn new(
        system: &'a System,
        found: &Found,
        folder: &Path,
        bin_ns: Option<u64>,
        options: &[String],
    ) -> Result<Self, Failure> {
        let mut scope_options = vec!["time=model".to_owned()];
        scope_options.extend(bin_ns.map(|ns| format!("bin={ns}ns")));
        scope_options.extend(options.iter().cloned());
        let scope = Cachescope::prepare(folder, system, found)?.with_options(&scope_options);
        let place = Workspace::new(found, &system.plan.name)?;
        let image = system.image(&found.load()?)?;
        let machine = boot::Prepared::new(system, &image.bytes, &place)?;
        let machine = machine.with_cachescope(Some(scope.clone()));
        Ok(Self { system, machine, scope, folder: folder.to_owned() })
    }

    /// Runs it, again if records of its trace came faster than they could be read. `None`: a signal came.
    pub fn run(&self, timeout: Duration, watch: &dyn Watch) -> Result<Option<Executed>, Failure> {
        for _ in 1..ATTEMPTS {
            match self.once(timeout, watch)? {
                Some(run) if run.trace.lost() > 0 => {}
                found => return Ok(found),
            }
        }
        self.once(timeout, watch)
    }

    fn once(&self, timeout: Duration, watch: &dyn Watch) -> Result<Option<Executed>, Failure> {
        let traced = self.folder.join(TRACE);
        let start = Start {
            time: Time::Deterministic,
            timeout: Some(timeout),
            log: LogFile::named(self.folder.join(CONSOLE)),
            keep_log: true,
            live: None,
            record: Some((&traced, What::All)),
            arguments: &[],
        };
        let running = self.machine.start(start)?;
        let Some(ran) = running.wait(have_ended(self.system), watch) else {
            return Ok(None);
        };
        let without_results = ran.without_results();
        let Ran { outcome, known, recorded, .. } = ran;
        // The folder with its log goes away, but the end of the log is part of the text.
        let shown = Outcome { log_file: None, ..outcome.clone() };
        let failed = |why: String| Failure::new("run", format!("{why}\n{shown}"));
        if let Some(why) = &known.refusal {
            return Err(failed(format!("the hypervisor started no VM: {why}")));
        }
        if let Some(why) = without_results {
            return Err(failed(why));
        }
        let mut problems = Vec::new();
        match outcome.exit {
            Exit::Code(0) => {}
            Exit::TimedOut => problems.push(timed_out(timeout)),
            exit => return Err(failed(format!("QEMU ended with {exit}"))),
        }
        recorded.transpose().map_err(&failed)?;
        let trace = read_trace(&traced)?;
        problems.extend(seen(&trace, &known));
        problems.extend(outcome.log_error);
        let counts = Some(self.scope.counts().map_err(failed)?);
        let is_timed_out = outcome.exit == Exit::TimedOut;
        let folder = self.folder.clone();
        Ok(Some(Executed { trace, known, counts, folder, problems, is_timed_out, colors: None }))
    }
}

/// Returns a function that returns true if all VMs with tasks have ended.
pub fn have_ended(system: &System) -> impl Fn(&Known) -> bool {
    let vms = system.description.iter().flat_map(|it| &it.vms).enumerate();
    let awaited = vms.filter(|(_, vm)| !vm.tasks.is_empty()).map(|(index, _)| index);
    let awaited: Vec<usize> = awaited.collect();
    move |known| awaited.iter().all(|&vm| known.vms[vm].ended.is_some())
}

/// Says that a run was stopped after this time.
pub fn timed_out(timeout: Duration) -> String {
    let seconds = timeout.as_secs_f64();
    format!("the run was stopped after {seconds} s: its tasks had not ended (`--timeout`)")
}

/// Returns the problems of a run that its trace and its console show, a sentence each.
pub fn seen(trace: &Trace, known: &Known) -> Vec<String> {
    let lost = trace.lost();
    let lost = (lost > 0).then(|| {
        format!(
            "{lost} records of the trace came faster than they could be read: run it again on a machine that has less to do"
        )
    });
    let stopped = known.vms.iter().filter_map(|vm| match &vm.ended {
        Some((state, reason)) if state == "stopped" => {
            Some(format!("VM `{}` was stopped: {reason}", vm.name))
        }
        _ => None,
    });
    let failed = known
        .vms
        .iter()
        .flat_map(|vm| vm.failures.iter().map(|what| format!("VM `{}` says: {what}", vm.name)));
    lost.into_iter().chain(stopped).chain(failed).collect()
}
