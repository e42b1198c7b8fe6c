//! Tells the VCPUs of a VM how long others ran in their place: Arm DEN 0057, "Paravirtualized
//! Time for Arm-based Systems".
//!
//! Each VCPU has a record in a page that the VM can read. Stolen is the time in which a VCPU had
//! something to do and did not run: its PCPU had others to run, or its budget was used up.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::arch::regs;
use crate::plan::MAX_CPUS;

const SECOND: u64 = 1_000_000_000;

/// The page, as the guest sees it.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct TimePage([Record; MAX_CPUS]);

/// What stands in the page for a VCPU.
#[repr(C, align(64))]
#[derive(Debug)]
struct Record {
    /// Revision and attributes: both 0.
    version: u64,
    /// Nanoseconds.
    stolen: AtomicU64,
}

impl TimePage {
    /// Bytes of the record of a VCPU.
    pub const RECORD_BYTES: u64 = size_of::<Record>() as u64;

    /// Nothing was stolen.
    pub const fn new() -> Self {
        Self([const { Record { version: 0, stolen: AtomicU64::new(0) } }; MAX_CPUS])
    }

    /// So many ticks were stolen from a VCPU since the start.
    #[inline(always)]
    pub fn set(&self, vcpu: usize, ticks: u64) {
        let frequency = regs::cntfrq_el0::read();
        let rest = ticks % frequency * SECOND / frequency;
        self.0[vcpu % MAX_CPUS].stolen.store(ticks / frequency * SECOND + rest, Relaxed);
    }
}

/// How long a VCPU had to wait.
#[derive(Debug)]
pub struct StolenTime {
    /// Ticks since the start.
    total: AtomicU64,
    /// Since when it waits, if it does.
    since: AtomicU64,
}

impl StolenTime {
    /// It did not wait yet.
    pub const fn new() -> Self {
        Self { total: AtomicU64::new(0), since: AtomicU64::new(0) }
    }

    /// The VCPU has something to do and does not run from now on.
    #[inline(always)]
    pub fn begin(&self, now: u64) {
        self.since.store(now, Relaxed);
    }

    /// It runs; returns the ticks that were stolen since the start.
    #[inline(always)]
    pub fn end(&self, now: u64) -> u64 {
        let total = self.total.load(Relaxed) + (now - self.since.load(Relaxed));
        self.total.store(total, Relaxed);
        total
    }
}
