//! One run of a system under Linux and KVM on this host: prepared, started, and judged when it is over.

mod colors;
mod limits;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "kvm/absent.rs"]
mod machine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod machine;
mod refusals;
mod shares;
mod survey;

use std::path::Path;

use host::partition::Partition;
use qemu::LogFile;

use crate::boot::{Ran, Running};
use crate::deadlines::Times;
use crate::failure::Failure;
use crate::hypervisor;
use crate::load::System;
use crate::record::{NewTrace, Recording};
use crate::run::{Circumstances, End, Options, Prepared, Runner, Summary, Target, judge};
use crate::watch::Watch;
use crate::workspace::Workspace;

pub use colors::Colors;
use machine::Host;

/// A run that can be started.
#[derive(Debug)]
pub struct OnKvm<'a> {
    system: &'a System,
    options: Options,
    host: Host,
    target: Target,
    log: LogFile,
    /// Parts of the cache and of the memory bandwidth for CPUs of VMs, until the run is judged.
    partition: Option<Partition>,
    /// Remarks on parts that the host lacks, and on requests of the description without effect.
    remarks: Vec<String>,
}

/// Refuses a system that cannot run under KVM on this host. Returns remarks on such a run, a sentence each.
pub fn check(system: &System) -> Result<Vec<String>, Failure> {
    refusals::check(system)?;
    shares::check(system)?;
    let mut remarks = survey::check(system)?;
    remarks.extend(refusals::without_meaning(system));
    remarks.extend(colors::remark(system));
    remarks.extend(shares::remark(system));
    remarks.extend(colors::other_cache(system, Path::new("/")));
    Ok(remarks)
}

impl<'a> OnKvm<'a> {
    /// Checks that the system can run under KVM on this host, and makes its VMs. Of the options, those for QEMU mean nothing.
    /// `watch` can stop the search for frames of the VMs' colours, which is a failure then.
    pub fn new(system: &'a System, options: Options, watch: &dyn Watch) -> Result<Self, Failure> {
        let remarks = check(system)?;
        let host = Host::new(system, watch)?;
        let partition = shares::divide(system, Path::new("/"))?;
        let build = hypervisor::find(None).ok().and_then(|found| found.build);
        let place = Workspace::in_build(build.as_deref(), &system.plan.name)?;
        let target = Target::new(system, &options, &place, true)?;
        let log = options.log.clone().map_or_else(|| place.log(), LogFile::named);
        Ok(Self { system, options, host, target, log, partition, remarks })
    }
}

impl OnKvm<'_> {
    /// Tells a model of the host's caches, where QEMU has one, the frames of all VMs before they start.
    #[must_use]
    pub fn telling_frames(self) -> Self {
        Self { host: self.host.telling_frames(), ..self }
    }

    /// Returns the findings about the frames of VMs with colours, when the run is over.
    pub(crate) fn colors(&self) -> Option<Colors> {
        self.host.findings().map(|it| Colors::new(self.system, it))
    }
}

impl Prepared for OnKvm<'_> {
    fn start(&mut self) -> Result<Running, Failure> {
        let trace =
            self.target.file().map(|(path, what)| NewTrace::create(path, what)).transpose()?;
        let live = self.options.live.clone();
        let trace = trace.map(|trace| trace.with_live(live));
        let (machine, feed) = self.host.start(self.system, &self.log, self.options.timeout)?;
        let recording = trace.map(|trace| Recording::begin(trace, self.system, feed));
        Ok(Running::new(machine, self.system, recording))
    }

    fn judge(self, ran: Ran, end: End) -> Result<Summary, Failure> {
        if let Some(why) = self.partition.as_ref().and_then(Partition::lost) {
            return Err(Failure::new("resctrl", why));
        }
        let circumstances = Circumstances {
            runner: Runner::Kvm,
            times: Times::Measured,
            until_off: self.options.until_off,
            trace: self.target.file().map(|(path, _)| path.to_owned()),
            colors: self.colors(),
            log: self.log.path().to_owned(),
            end,
            remarks: self.remarks,
        };
        Ok(self.target.without_scratch(judge(self.system, ran, circumstances)))
    }
}
