//! The life of a VM: its runs, one after the other, as all threads see them. Nobody here waits for anybody.
//!
//! Reasons and their numbers are those of the hypervisor (`hypervisor/src/vm/lifecycle.rs`).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use policy::restart::{End, Restarts, Then};

/// The reason why a run of a VM ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// The guest switches the VM off.
    Off,
    /// The guest asks for a reset.
    Reset,
    /// The guest cannot go on.
    Fault(&'static str),
}

impl Reason {
    /// Returns the kind of the end.
    fn end(self) -> End {
        match self {
            Self::Off => End::Off,
            Self::Reset => End::Reset,
            Self::Fault(_) => End::Crash,
        }
    }

    /// Returns its number in trace records.
    fn number(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Reset => 1,
            Self::Fault("memory-abort") => 3,
            // Behind the crashes that the hypervisor tells apart.
            Self::Fault(_) => 7,
        }
    }

    /// Returns one word without spaces, unless the VM ends by itself.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Reset => Some("reset"),
            Self::Fault(why) => Some(why),
        }
    }
}

/// The life of a VM.
#[derive(Debug)]
pub struct Life {
    rules: Restarts,
    vcpus: usize,
    /// Twice the number of restarts, and one more from the end of a run to the next restart.
    phase: AtomicU64,
    /// VCPUs that have not left the last run.
    inside: AtomicUsize,
    /// The number of the reason why the last run ended.
    reason: AtomicU64,
    /// It never runs again, and somebody has told so.
    is_over: AtomicBool,
}

impl Life {
    /// Returns the life of a VM with as many VCPUs, in its first run.
    pub fn new(rules: Restarts, vcpus: usize) -> Self {
        Self {
            rules,
            vcpus,
            phase: 0.into(),
            inside: vcpus.into(),
            reason: 0.into(),
            is_over: false.into(),
        }
    }

    /// Returns the number of restarts.
    pub fn restarts(&self) -> u64 {
        self.phase.load(Acquire) / 2
    }

    /// Returns the number of restarts after which the VM stays stopped.
    pub fn limit(&self) -> u32 {
        self.rules.limit
    }

    /// Returns true if the run that began with this restart has ended.
    pub fn has_ended(&self, restarts: u64) -> bool {
        self.phase.load(Acquire) > restarts * 2
    }

    /// Ends the run that began with this restart. `None`: it has ended before. The VCPU that ends it has not left it yet.
    pub fn end(&self, restarts: u64, reason: Reason) -> Option<Then> {
        let (runs, ended) = (restarts * 2, restarts * 2 + 1);
        self.phase.compare_exchange(runs, ended, SeqCst, Acquire).ok()?;
        // The last VCPU to leave reads it, not before the one that is here has left.
        self.reason.store(reason.number(), Release);
        let then = self.rules.then(reason.end(), u32::try_from(restarts).unwrap_or(u32::MAX));
        if let Then::Over { .. } = then {
            self.is_over.store(true, SeqCst);
        }
        Some(then)
    }

    /// A VCPU leaves a run that has ended. Returns the number of the reason for the end if it is the last one.
    pub fn leave(&self) -> Option<u64> {
        (self.inside.fetch_sub(1, SeqCst) == 1).then(|| self.reason.load(Acquire))
    }

    /// Returns true if all VCPUs have left a run that has ended.
    pub fn is_left(&self) -> bool {
        self.inside.load(SeqCst) == 0
    }

    /// The next run begins. All VCPUs have left the last one.
    pub fn begin(&self) {
        self.inside.store(self.vcpus, SeqCst);
        self.phase.fetch_add(1, SeqCst);
    }

    /// The VM never runs again. Returns true if it had not been over before.
    pub fn finish(&self) -> bool {
        !self.is_over.swap(true, SeqCst)
    }

    /// Returns true if the VM never runs again.
    pub fn is_over(&self) -> bool {
        self.is_over.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: Restarts = Restarts { after_crash: true, after_reset: false, limit: 2 };

    #[test]
    fn a_vm_starts_again_as_often_as_it_may() {
        let life = Life::new(TWICE, 2);
        for restarts in 0..2 {
            let number = restarts as u32 + 1;
            assert!(!life.has_ended(restarts));
            let then = life.end(restarts, Reason::Fault("exception"));
            assert_eq!(then, Some(Then::Restarts { number }));
            assert_eq!(life.end(restarts, Reason::Off), None, "its other VCPU is late");
            assert!(life.has_ended(restarts) && !life.is_over());
            assert_eq!((life.leave(), life.is_left()), (None, false));
            assert_eq!((life.leave(), life.is_left()), (Some(7), true));
            life.begin();
            assert_eq!(life.restarts(), restarts + 1);
            assert!(!life.is_left());
        }
        assert_eq!(life.end(2, Reason::Fault("memory-abort")), Some(Then::Over { at_limit: true }));
        assert!(life.is_over() && !life.finish());
        assert_eq!((life.leave(), life.leave()), (None, Some(3)));
    }
}
