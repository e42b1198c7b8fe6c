//! The trace ring of a CPU: its last events, written without locks by that CPU
//! alone and readable by all.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use bulkhead_abi::trace::{Kind, Record};

/// Records that a ring keeps.
pub const RECORDS: usize = 1024;

/// A ring of trace records. Only its own CPU writes.
#[derive(Debug)]
pub struct Ring {
    written: AtomicU64,
    words: Box<[[AtomicU64; 2]; RECORDS]>,
}

impl Ring {
    /// An empty ring.
    pub fn new() -> Self {
        // Made in place: it is as large as a stack.
        let words: Vec<_> = core::iter::repeat_with(Default::default).take(RECORDS).collect();
        let words = words.into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!());
        Self { written: AtomicU64::new(0), words }
    }

    /// Appends a record; the oldest gives way.
    #[inline(always)]
    pub fn write(&self, record: Record) {
        let written = self.written.load(Ordering::Relaxed);
        let [ticks, what] = &self.words[written as usize % RECORDS];
        ticks.store(record.ticks, Ordering::Relaxed);
        what.store(record.what, Ordering::Relaxed);
        self.written.store(written + 1, Ordering::Release);
    }

    /// Number of records written since the start.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// The last records, oldest first, at most `count`.
    pub fn last(&self, count: usize) -> impl Iterator<Item = Record> + '_ {
        let written = self.written();
        let first = written.saturating_sub(count.min(RECORDS) as u64);
        (first..written).map(|number| {
            let [ticks, what] = &self.words[number as usize % RECORDS];
            Record { ticks: ticks.load(Ordering::Relaxed), what: what.load(Ordering::Relaxed) }
        })
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self::new()
    }
}

/// Name of a kind, for reports.
pub fn name(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::VcpuRun) => "vcpu run",
        Some(Kind::VcpuStop) => "vcpu stop",
        Some(Kind::ExitSync) => "exit, syndrome",
        Some(Kind::ExitIrq) => "exit, interrupt",
        Some(Kind::GuestMark) => "guest mark",
        Some(Kind::VmStop) => "vm stop",
        Some(Kind::VmStart) => "vm start",
        Some(Kind::Wake) => "wake",
        Some(Kind::Block) => "block",
        Some(Kind::Tick) => "tick",
        Some(Kind::Idle) => "idle",
        Some(Kind::Epoch) => "epoch",
        None => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_records_come_out_in_order() {
        let ring = Ring::new();
        assert_eq!(ring.last(8).count(), 0);
        for ticks in 0..RECORDS as u64 + 10 {
            ring.write(Record::new(ticks, Kind::GuestMark, 1, 2, ticks));
        }
        let last: Vec<u64> = ring.last(4).map(|record| record.ticks).collect();
        let end = RECORDS as u64 + 10;
        assert_eq!(last, [end - 4, end - 3, end - 2, end - 1]);
        assert_eq!(ring.last(usize::MAX).count(), RECORDS);
        assert_eq!(ring.written(), end);
    }
}
