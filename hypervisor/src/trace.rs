//! The trace ring of a CPU: its last events. Its own CPU writes the ring without locks; every CPU
//! and the development machine can read it. [`publish`] stores where the rings are.
//!
//! The oldest records are overwritten. A barrier before each record lets a reader outside know
//! which records it may keep: a reader that sees a part of a new record also sees that all records
//! before it are complete, and so which old record is gone.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering, fence};

use abi::trace::descriptor::{self, PAGE_BYTES};
use abi::trace::{Kind, RING_RECORDS as RECORDS, Record};

/// A ring of trace records. Only its own CPU writes.
#[derive(Debug)]
pub struct Ring {
    written: AtomicU64,
    slots: Box<[Slot; RECORDS]>,
}

/// Place of a record, which lies on one page.
#[derive(Debug, Default)]
#[repr(C, align(16))]
struct Slot {
    ticks: AtomicU64,
    what: AtomicU64,
}

impl Ring {
    /// An empty ring.
    pub fn new() -> Self {
        // Made in place: it is larger than a stack.
        let slots: Vec<_> = core::iter::repeat_with(Default::default).take(RECORDS).collect();
        let slots = slots.into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!());
        Self { written: AtomicU64::new(0), slots }
    }

    /// Appends a record; the oldest gives way.
    #[inline(always)]
    pub fn write(&self, record: Record) {
        let written = self.written.load(Ordering::Relaxed);
        let slot = &self.slots[written as usize % RECORDS];
        // Who reads any of this record sees that the ones before are complete, and so
        // which old one is no more.
        fence(Ordering::Release);
        slot.ticks.store(record.ticks, Ordering::Relaxed);
        slot.what.store(record.what, Ordering::Relaxed);
        self.written.store(written + 1, Ordering::Release);
    }

    /// Number of records written since the start.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// The record with a number, counted from the start, if it has been written and is not
    /// overwritten. Its own CPU calls.
    pub fn record(&self, number: u64) -> Option<Record> {
        let age = self.written().checked_sub(number)?;
        if age == 0 || age > RECORDS as u64 {
            return None;
        }
        let slot = &self.slots[number as usize % RECORDS];
        let ticks = slot.ticks.load(Ordering::Relaxed);
        Some(Record { ticks, what: slot.what.load(Ordering::Relaxed) })
    }

    /// Addresses for a descriptor: of the counter, of the first record, and of all further
    /// pages on which records lie.
    fn addresses(&self) -> impl Iterator<Item = usize> {
        let start = self.slots.as_ptr() as usize;
        let end = start + size_of_val(&*self.slots);
        let pages = (start / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES..end).step_by(PAGE_BYTES);
        [&raw const self.written as usize, start].into_iter().chain(pages)
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self::new()
    }
}

/// A page of words, that tools find by its first one.
#[repr(C, align(4096))]
struct Page([AtomicU64; descriptor::WORDS]);

static DESCRIPTOR: Page = Page([const { AtomicU64::new(0) }; descriptor::WORDS]);

/// Says where the rings of all CPUs lie, for tools that read the RAM of the machine.
/// `physical` tells the address of the machine behind an address.
pub fn publish<'a>(
    rings: impl ExactSizeIterator<Item = &'a Ring>,
    frequency_hz: u64,
    physical: impl Fn(usize) -> u64,
) {
    let Page(words) = &DESCRIPTOR;
    let set = |word: usize, value| {
        if let Some(word) = words.get(word) {
            word.store(value, Ordering::Relaxed);
        }
    };
    set(descriptor::VERSION_WORD, descriptor::VERSION);
    set(descriptor::ADDRESS_WORD, physical(&raw const DESCRIPTOR as usize));
    set(descriptor::FREQUENCY_WORD, frequency_hz);
    set(descriptor::RINGS_WORD, rings.len() as u64);
    set(descriptor::RECORDS_WORD, RECORDS as u64);
    for (index, ring) in rings.enumerate() {
        for (word, address) in (descriptor::ring_word(index)..).zip(ring.addresses()) {
            set(word, physical(address));
        }
    }
    words[descriptor::MAGIC_WORD].store(descriptor::MAGIC, Ordering::Release);
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
        Some(Kind::Wake | Kind::Enter) => "wake",
        Some(Kind::Kick) => "kick",
        Some(Kind::Block) => "block",
        Some(Kind::Tick) => "tick",
        Some(Kind::Idle) => "idle",
        Some(Kind::Epoch) => "epoch",
        Some(Kind::Account) => "accesses",
        Some(Kind::Overflow) => "overflow, accesses",
        Some(Kind::Recharge) => "may access",
        Some(Kind::Grant) => "grant, accesses",
        Some(Kind::StartGcs | Kind::FinishGcs | Kind::StopInGcs | Kind::EndGcs) => "gcs",
        Some(Kind::TooOften) => "gcs, too often",
        Some(Kind::Lock | Kind::LockWait | Kind::Unlock) => "lock",
        None => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_there_until_they_are_overwritten() {
        let ring = Ring::new();
        assert_eq!(ring.record(0), None);
        let end = RECORDS as u64 + 10;
        for ticks in 0..end {
            ring.write(Record::new(ticks, Kind::GuestMark, 1, 2, ticks));
        }
        assert_eq!(ring.written(), end);
        for number in 0..end + 2 {
            let ticks = ring.record(number).map(|record| record.ticks);
            assert_eq!(ticks, (10..end).contains(&number).then_some(number));
        }
    }

    #[test]
    fn the_descriptor_names_all_pages_of_all_rings() {
        let rings = [Ring::new(), Ring::new()];
        publish(rings.iter(), 62_500_000, |address| address as u64 + 1);
        let word = |index: usize| DESCRIPTOR.0[index].load(Ordering::Relaxed);
        assert_eq!(word(descriptor::MAGIC_WORD), descriptor::MAGIC);
        assert_eq!(word(descriptor::ADDRESS_WORD), &raw const DESCRIPTOR as u64 + 1);
        assert_eq!(word(descriptor::RINGS_WORD), 2);
        for (index, ring) in rings.iter().enumerate() {
            let at = descriptor::ring_word(index);
            assert_eq!(word(at), &raw const ring.written as u64 + 1);
            for record in 0..RECORDS {
                let address = |record: usize| &raw const ring.slots[record] as u64;
                let page = address(record) / 4096 - address(0) / 4096;
                let expected = match page {
                    0 => address(0) + 1,
                    _ => address(record) / 4096 * 4096 + 1,
                };
                assert_eq!(word(at + 1 + page as usize), expected, "record {record}");
            }
        }
    }
}
