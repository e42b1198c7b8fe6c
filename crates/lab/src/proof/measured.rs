//! Runs a system under KVM on this machine until its tasks have ended, with a trace.

use std::path::PathBuf;
use std::time::Duration;

use qemu::Exit;

use super::execute::{CONSOLE, Executed, TRACE, have_ended, seen, timed_out};
use crate::boot::Ran;
use crate::failure::Failure;
use crate::kvm::{self, OnKvm};
use crate::load::System;
use crate::record::read_trace;
use crate::run::{Clock, Options, Prepared as _};
use crate::watch::Watch;

/// A system that can run on this machine.
pub struct Prepared<'a> {
    system: &'a System,
    folder: PathBuf,
    /// Remarks on its runs, a sentence each.
    pub remarks: Vec<String>,
}

impl<'a> Prepared<'a> {
    /// Checks that the system can run here. Its VMs are made when they run, because no other run can then use their CPUs.
    pub fn new(system: &'a System, folder: PathBuf) -> Result<Self, Failure> {
        Ok(Self { system, folder, remarks: kvm::check(system)? })
    }

    /// Runs the system. `None`: `watch` stopped the run.
    pub fn run(&self, timeout: Duration, watch: &dyn Watch) -> Result<Option<Executed>, Failure> {
        let traced = self.folder.join(TRACE);
        let options = Options {
            clock: Clock::Host,
            trace: Some(traced.clone()),
            live: None,
            until_off: false,
            timeout: Some(timeout),
            log: Some(self.folder.join(CONSOLE)),
            arguments: Vec::new(),
        };
        let mut machine = match OnKvm::new(self.system, options, watch) {
            Err(_) if watch.stops() => return Ok(None),
            machine => machine?,
        };
        let Some(ran) = machine.start()?.wait(have_ended(self.system), watch) else {
            return Ok(None);
        };
        let Ran { outcome, known, recorded, .. } = ran;
        let failed = |why: String| Failure::new("run", why);
        let mut problems = Vec::new();
        match outcome.exit {
            Exit::Code(0) => {}
            Exit::TimedOut => problems.push(timed_out(timeout)),
            _ => return Err(failed(format!("the run was broken off: {}", outcome.stderr))),
        }
        recorded.transpose().map_err(failed)?;
        let trace = read_trace(&traced)?;
        problems.extend(seen(&trace, &known));
        problems.extend(outcome.log_error);
        let colors = machine.colors();
        let is_timed_out = outcome.exit == Exit::TimedOut;
        let (folder, counts) = (self.folder.clone(), None);
        Ok(Some(Executed { trace, known, counts, folder, problems, is_timed_out, colors }))
    }
}
