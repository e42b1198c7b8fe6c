//! Start, stop and restart of a VM across the CPUs that run it.
//!
//! Invariant: `Lifecycle::running` counts the VCPUs whose power is not [`Power::Off`]. The CPU that
//! decrements it to 0 ends the run: it is the only CPU that still works for the VM, so that it may
//! reset devices and memory without locks.

use core::fmt;
use core::sync::atomic::Ordering;

use abi::trace::Kind;
use policy::restart::{End, Restarts, Then};

use super::work::Work;
use super::{GicEnv, Power, Vcpu, Vm, color_serial, link, port};
use crate::arch::registers::Traps;
use crate::locks;
use crate::machine;
use crate::pcpu::{Assignment, Pcpu};

/// The cause of a crash of a guest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Crash {
    /// The guest accessed an address at which it has nothing.
    NothingThere,
    /// A translation table of the guest lies at an address at which it has nothing.
    TableWalk,
    /// The guest fetched an instruction from an address at which it has none.
    Fetch,
    /// The machine reported an error that an access of the guest caused.
    SystemError,
}

impl Crash {
    /// Returns one word without spaces.
    pub fn name(self) -> &'static str {
        match self {
            Self::NothingThere => "bad-address",
            Self::TableWalk => "bad-page-table",
            Self::Fetch => "bad-fetch",
            Self::SystemError => "system-error",
        }
    }
}

/// The reason why a run of a VM ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// PSCI `SYSTEM_OFF`.
    PowerOff,
    /// PSCI `SYSTEM_RESET`.
    Reset,
    /// All VCPUs called `CPU_OFF`.
    AllCpusOff,
    /// A crash.
    Crash(Crash),
}

impl StopReason {
    /// Returns its number in trace records.
    fn number(self) -> u64 {
        match self {
            Self::PowerOff => 0,
            Self::Reset => 1,
            Self::AllCpusOff => 2,
            Self::Crash(crash) => 3 + crash as u64,
        }
    }

    /// Returns the kind of the end.
    fn end(self) -> End {
        match self {
            Self::PowerOff | Self::AllCpusOff => End::Off,
            Self::Reset => End::Reset,
            Self::Crash(_) => End::Crash,
        }
    }

    /// Returns one word without spaces.
    pub fn name(self) -> &'static str {
        match self {
            Self::PowerOff => "power-off",
            Self::Reset => "reset",
            Self::AllCpusOff => "all-cpus-off",
            Self::Crash(crash) => crash.name(),
        }
    }
}

/// The state of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// The VM runs.
    Running,
    /// The VM ended by itself.
    Off,
    /// The VM was stopped: by a crash, or by a reset that its policy does not allow.
    Stopped,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Off => "off",
            Self::Stopped => "stopped",
        })
    }
}

#[derive(Debug)]
pub(super) struct Lifecycle {
    state: State,
    running: usize,
    reason: Option<StopReason>,
    restarts: u32,
}

impl Lifecycle {
    pub(super) const fn new() -> Self {
        Self { state: State::Off, running: 0, reason: None, restarts: 0 }
    }
}

/// The result of `CPU_ON`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CpuOn {
    Started,
    AlreadyOn,
    Starting,
    VmStops,
}

impl Vm {
    /// Returns `(state, reason for which it does not run, restarts)`.
    pub fn status(&self) -> (State, Option<StopReason>, u32) {
        let lifecycle = self.lifecycle.lock();
        (lifecycle.state, lifecycle.reason, lifecycle.restarts)
    }

    /// Returns the number of restarts of the VM.
    pub fn restarts(&self) -> u32 {
        self.lifecycle.lock().restarts
    }

    /// Starts the VM: its images are loaded and its devices reset.
    pub fn start(&'static self) {
        self.stopping.store(false, Ordering::Release);
        self.lifecycle.lock().state = State::Running;
        machine::CONSOLE.set_status(self.index, "running");
        let boot = &self.plan.boot;
        self.cpu_on(&self.vcpus[0], boot.entry, boot.device_tree);
    }

    /// Starts a VCPU of a running VM.
    pub(super) fn cpu_on(&self, vcpu: &Vcpu, entry: u64, argument: u64) -> CpuOn {
        let mut lifecycle = self.lifecycle.lock();
        if self.is_stopping() {
            return CpuOn::VmStops;
        }
        match vcpu.power() {
            Power::On => return CpuOn::AlreadyOn,
            Power::Starting => return CpuOn::Starting,
            Power::Off => {}
        }
        *vcpu.entry.lock() = (entry, argument);
        vcpu.set_power(Power::Starting);
        lifecycle.running += 1;
        drop(lifecycle);
        vcpu.pcpu.kick();
        CpuOn::Started
    }

    /// Ends the run of the VM. The VCPUs on other CPUs park when they are kicked;
    /// the caller parks its own ([`Vm::park`]).
    pub fn stop(&self, reason: StopReason) {
        let mut lifecycle = self.lifecycle.lock();
        if self.stopping.swap(true, Ordering::AcqRel) {
            return; // another VCPU was first
        }
        lifecycle.reason = Some(reason);
        drop(lifecycle);
        for vcpu in &self.vcpus {
            if vcpu.power() != Power::Off {
                vcpu.pcpu.kick();
            }
        }
    }

    /// Takes the VCPU that this CPU has loaded out of operation and leaves the guest for good.
    pub fn park(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> ! {
        self.take_out(at, pcpu);
        pcpu.idle()
    }

    /// Takes the VCPU that this CPU has loaded out of operation.
    #[inline(never)]
    fn take_out(&'static self, at: &Assignment, pcpu: &'static Pcpu) {
        at.vcpu.work.set(None);
        color_serial::leave(at);
        self.gic.stop_vcpu(&GicEnv::of(at), at.vcpu.index);
        at.vcpu.context.release();
        pcpu.forget();
        self.account_off(at, pcpu);
    }

    /// Counts the VCPU out; the last one ends the run.
    fn account_off(&'static self, at: &Assignment, pcpu: &'static Pcpu) {
        pcpu.record(at, Kind::VcpuStop, 0);
        locks::stop(at, pcpu);
        let mut lifecycle = self.lifecycle.lock();
        at.vcpu.set_power(Power::Off);
        lifecycle.running -= 1;
        let last = lifecycle.running == 0;
        if last && !self.stopping.swap(true, Ordering::AcqRel) {
            lifecycle.reason = Some(StopReason::AllCpusOff);
        }
        drop(lifecycle);
        machine::pass_on(self);
        if !(last && self.end_run(at, pcpu)) {
            pcpu.block(at);
        }
    }

    /// Begins to restart the VM or leaves it stopped, as its policies say. Returns true if the VM
    /// restarts, which is work of its last VCPU.
    fn end_run(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        // No VCPU runs that could take an interrupt of an assigned device.
        self.gic.reset(&GicEnv::any(self));
        locks::close(self);
        let mut lifecycle = self.lifecycle.lock();
        let reason = lifecycle.reason.unwrap_or(StopReason::PowerOff);
        pcpu.record(at, Kind::VmStop, reason.number());
        let Restarts { limit, .. } = self.plan.restarts;
        let at_limit = match self.plan.restarts.then(reason.end(), lifecycle.restarts) {
            Then::Restarts { number } => {
                lifecycle.restarts = number;
                drop(lifecycle);
                machine::log!("{}: {}, restart {number} of {limit}", self.name(), reason.name());
                at.vcpu.work.set(Some(Work::Restart(0)));
                return true;
            }
            Then::Over { at_limit } => at_limit,
        };
        let is_off = reason.end() == End::Off;
        lifecycle.state = if is_off { State::Off } else { State::Stopped };
        drop(lifecycle);
        port::end(self);
        link::end(self);
        let word = if is_off { "off" } else { "stopped" };
        let limit = if at_limit { ", restart limit reached" } else { "" };
        machine::CONSOLE.set_status(self.index, word);
        machine::log!("{}: {word} ({}{limit})", self.name(), reason.name());
        machine::vm_ended();
        false
    }

    /// Starts the VM again, after its memory has been reset. The VCPU that did this work is off.
    pub(super) fn restart(&'static self, at: &Assignment, pcpu: &'static Pcpu) {
        pcpu.record(at, Kind::VmStart, u64::from(self.restarts()));
        self.start();
        pcpu.block(at);
    }

    /// Starts a VCPU that was told to start and is not loaded yet. Returns false if the VM stops.
    pub fn start_vcpu(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        let vcpu = at.vcpu;
        // On a PCPU of its own, the VCPU waits without a trap.
        let traps = Traps { wfi: at.makes_room, caches: self.plan.cache_share.is_some() };
        let entry = *vcpu.entry.lock();
        if self.is_stopping() || !vcpu.context.claim(entry, vcpu.index, traps, &self.stage2) {
            self.account_off(at, pcpu);
            return false;
        }
        self.gic.start_vcpu(&GicEnv::at(at, pcpu), vcpu.index);
        vcpu.set_power(Power::On);
        // What was noted for the VM while no VCPU was on, nobody knows.
        machine::pass_on(self);
        true
    }

    /// Runs the VCPU that this CPU has loaded, or takes it out of operation if the VM stops.
    /// Returns if something else may have to be done first: true if the VCPU is still ready.
    #[inline(always)]
    pub fn enter(&'static self, at: &Assignment, pcpu: &'static Pcpu) -> bool {
        if at.vcpu.work.is_busy() && self.work(at, pcpu) {
            return true;
        }
        if self.is_stopping() {
            self.take_out(at, pcpu);
            return true;
        }
        at.vcpu.context.enter()
    }
}
