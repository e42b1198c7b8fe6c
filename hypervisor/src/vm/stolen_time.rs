//! Stolen time: tells the VCPUs of a VM how long others ran in their place (Arm DEN 0057,
//! "Paravirtualized Time for Arm-based Systems").
//!
//! Each VCPU has a record in a page that the VM can read. Time is stolen while a VCPU is ready but
//! does not run: its PCPU runs others, or its budget is used up.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::arch::page_table::{self, PAGE_WORDS, Page};
use crate::arch::regs;
use crate::plan::MAX_CPUS;

const SECOND: u64 = 1_000_000_000;

/// Words of a VCPU's record, and the index of the word with nanoseconds. The others are revision,
/// attributes (both 0) and reserved.
const RECORD_WORDS: usize = 8;
const STOLEN: usize = 1;
const _: () = assert!(MAX_CPUS * RECORD_WORDS <= PAGE_WORDS);

/// The page that the guest sees. The whole page is cleared, so that the guest never sees older
/// content of the memory.
#[derive(Clone, Copy, Debug)]
pub struct TimePage(&'static Page);

impl TimePage {
    /// Bytes of the record of a VCPU.
    pub const RECORD_BYTES: u64 = 8 * RECORD_WORDS as u64;

    /// Makes a page without stolen time; `None` if there is no memory left.
    pub fn new() -> Option<Self> {
        page_table::zeroed_page().map(Self)
    }

    /// Returns the address of the page in EL2.
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// Stores the number of ticks that were stolen from a VCPU since the start.
    #[inline(always)]
    pub fn set(self, vcpu: usize, ticks: u64) {
        let frequency = regs::cntfrq_el0::read();
        let rest = ticks % frequency * SECOND / frequency;
        self.0[vcpu % MAX_CPUS * RECORD_WORDS + STOLEN]
            .store(ticks / frequency * SECOND + rest, Relaxed);
    }
}

/// The time for which a VCPU had to wait.
#[derive(Debug)]
pub struct StolenTime {
    /// Ticks since the start.
    total: AtomicU64,
    /// Start of the current wait, if the VCPU waits.
    since: AtomicU64,
}

impl StolenTime {
    /// Makes a VCPU that has not waited yet.
    pub const fn new() -> Self {
        Self { total: AtomicU64::new(0), since: AtomicU64::new(0) }
    }

    /// The VCPU is ready and does not run from now on.
    #[inline(always)]
    pub fn begin(&self, now: u64) {
        self.since.store(now, Relaxed);
    }

    /// The VCPU runs. Returns the ticks that were stolen since the start.
    #[inline(always)]
    pub fn end(&self, now: u64) -> u64 {
        let total = self.total.load(Relaxed) + (now - self.since.load(Relaxed));
        self.total.store(total, Relaxed);
        total
    }
}
