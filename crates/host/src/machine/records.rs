//! The trace of a PCPU on its way from the thread that writes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abi::trace::{Kind, Record};

use super::ring;

/// Records that wait to be read; more are lost.
const WAITING_MAX: usize = 1 << 16;

/// The counts that both ends know.
#[derive(Debug)]
struct Counts {
    lost: AtomicU64,
    /// For each VM, the number of marks that wait to be read.
    marks: Vec<AtomicU64>,
}

/// Makes both ends, for a PCPU with marks of `here` of `vms` VMs. Marks take at most half of all places, of which each VM
/// has a share of its own: whatever it writes, records of other VMs and of the scheduler find a place.
pub fn channel(vms: usize, here: usize) -> (Writer, Records) {
    let (writer, reader) = ring::ring(WAITING_MAX, Record::default);
    let marks = (0..vms).map(|_| AtomicU64::new(0)).collect();
    let counts = Arc::new(Counts { lost: AtomicU64::new(0), marks });
    let share = (WAITING_MAX / 2 / here.max(1)) as u64;
    (
        Writer { records: writer, counts: Arc::clone(&counts), share },
        Records { records: reader, counts },
    )
}

/// The end at which records are written, which never waits.
#[derive(Debug)]
pub struct Writer {
    records: ring::Writer<Record>,
    counts: Arc<Counts>,
    /// Most marks of a VM that wait to be read.
    share: u64,
}

impl Writer {
    /// Writes a record of the scheduler.
    pub fn write(&mut self, record: Record) {
        if !self.records.write(|place| *place = record) {
            self.lose(1);
        }
    }

    /// Writes a mark of a VM. Returns false if it is lost.
    pub fn mark(&mut self, record: Record) -> bool {
        let Some(waiting) = self.counts.marks.get(usize::from(record.vm())) else { return false };
        let written = waiting.fetch_add(1, Ordering::Relaxed) < self.share
            && self.records.write(|place| *place = record);
        if !written {
            waiting.fetch_sub(1, Ordering::Relaxed);
            self.lose(1);
        }
        written
    }

    /// Counts records that were lost before they could be written. A guest may have said how many: no number of them lets
    /// sums overflow.
    pub fn lose(&mut self, count: u64) -> u64 {
        let count = count.min(u32::MAX.into());
        self.counts.lost.fetch_add(count, Ordering::Relaxed);
        count
    }
}

/// The end at which records are read.
#[derive(Debug)]
pub struct Records {
    records: ring::Reader<Record>,
    counts: Arc<Counts>,
}

impl Records {
    /// Takes what has been written since the last time. Returns how many records were lost, because they, or marks of guests,
    /// were not read in time.
    pub fn poll(&mut self, records: &mut Vec<Record>) -> u64 {
        records.clear();
        let next = || self.records.read(|record| *record);
        records.extend(std::iter::from_fn(next).take(WAITING_MAX));
        let marks = records.iter().filter(|it| it.kind() == Some(Kind::GuestMark));
        for waiting in marks.filter_map(|it| self.counts.marks.get(usize::from(it.vm()))) {
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.counts.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_order_and_what_is_lost_is_counted() {
        let (mut writer, mut records) = channel(1, 1);
        let record = |ticks| Record::new(ticks, Kind::Tick, 0, 0, 0);
        (0..3).for_each(|ticks| writer.write(record(ticks)));
        let mut read = Vec::new();
        assert_eq!(records.poll(&mut read), 0);
        assert_eq!(read, [record(0), record(1), record(2)]);
        (0..WAITING_MAX as u64 + 5).for_each(|ticks| writer.write(record(ticks)));
        assert_eq!((records.poll(&mut read), read.len()), (5, WAITING_MAX));
        assert_eq!((records.poll(&mut read), read.len()), (0, 0));
        assert_eq!([3, 0, 1].map(|count| writer.lose(count)), [3, 0, 1]);
        assert_eq!((records.poll(&mut read), read.len()), (4, 0));
    }

    #[test]
    fn marks_of_one_vm_take_no_place_of_others() {
        let (mut writer, mut records) = channel(3, 2);
        let share = WAITING_MAX as u64 / 4;
        let mark = |vm, value| Record::new(0, Kind::GuestMark, vm, 0, value);
        let kept = (0..1 << 20).filter(|value| writer.mark(mark(0, *value))).count() as u64;
        assert_eq!(kept, share);
        // Those of another VM and of the scheduler come after all of them, and are not lost.
        assert!((0..share).all(|value| writer.mark(mark(2, value))));
        (0..WAITING_MAX as u64 / 2)
            .for_each(|ticks| writer.write(Record::new(ticks, Kind::Tick, 0, 0, 0)));
        let mut read = Vec::new();
        assert_eq!(records.poll(&mut read), (1 << 20) - share);
        assert_eq!(read.len(), WAITING_MAX);
        // What was read makes room again.
        assert!(writer.mark(mark(0, 0)));
        // A VM that is not there has no place.
        assert!(!writer.mark(mark(9, 0)));
    }
}
