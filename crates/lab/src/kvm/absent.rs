//! No VMs run where the tools are built for another machine.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abi::trace::Record;
use host::colors::Findings;
use qemu::LogFile;

use crate::boot::Machine;
use crate::failure::Failure;
use crate::load::System;
use crate::record::{Feed, Opened};
use crate::watch::Watch;

/// A host that cannot run VMs.
#[derive(Debug)]
pub struct Host;

impl Host {
    /// Says why not.
    pub fn new(_: &System, _: &dyn Watch) -> Result<Self, Failure> {
        let text = "VMs run under KVM on x86-64 with Linux only\n\
                    help: use `bulkhead` there, or run the system on QEMU";
        Err(Failure::new("no-kvm", text))
    }

    /// There are none.
    pub fn telling_frames(self) -> Self {
        self
    }

    /// There is nothing.
    pub fn findings(&self) -> Option<Findings> {
        None
    }

    /// Refuses as [`Host::new`] does.
    pub fn start(
        &mut self,
        system: &System,
        _: &LogFile,
        _: Option<Duration>,
    ) -> Result<(Box<dyn Machine>, Nothing), Failure> {
        Self::new(system, &AtomicBool::new(false)).map(|_| unreachable!("there is no host"))
    }
}

/// No records.
pub struct Nothing;

impl Feed for Nothing {
    fn open(&mut self) -> Result<Option<Opened>, String> {
        Ok(None)
    }

    fn poll(&mut self, _: usize, _: &mut Vec<Record>) -> std::io::Result<u64> {
        Ok(0)
    }
}
