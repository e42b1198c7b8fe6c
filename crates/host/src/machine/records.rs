//! The trace of a PCPU on its way from the thread that writes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use abi::trace::Record;

/// Records that wait to be read; more are lost.
const WAITING_MAX: usize = 1 << 16;

/// Makes both ends.
pub fn channel() -> (Writer, Records) {
    let (records, read) = sync_channel(WAITING_MAX);
    let lost = Arc::new(AtomicU64::new(0));
    (Writer { records, lost: Arc::clone(&lost) }, Records { records: read, lost })
}

/// The end at which records are written, which never waits.
#[derive(Debug)]
pub struct Writer {
    records: SyncSender<Record>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    /// Writes a record.
    pub fn write(&self, record: Record) {
        if self.records.try_send(record).is_err() {
            self.lose(1);
        }
    }

    /// Counts records that were lost before they could be written. A guest may have said how many: no number of them lets
    /// sums overflow.
    pub fn lose(&self, count: u64) {
        self.lost.fetch_add(count.min(u32::MAX.into()), Ordering::Relaxed);
    }
}

/// The end at which records are read.
#[derive(Debug)]
pub struct Records {
    records: Receiver<Record>,
    lost: Arc<AtomicU64>,
}

impl Records {
    /// Takes what has been written since the last time. Returns how many records were lost, because they, or marks of guests,
    /// were not read in time.
    pub fn poll(&mut self, records: &mut Vec<Record>) -> u64 {
        records.clear();
        records.extend(self.records.try_iter().take(WAITING_MAX));
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use abi::trace::Kind;

    use super::*;

    #[test]
    fn records_come_in_order_and_what_is_lost_is_counted() {
        let (writer, mut records) = channel();
        let record = |ticks| Record::new(ticks, Kind::Tick, 0, 0, 0);
        (0..3).for_each(|ticks| writer.write(record(ticks)));
        let mut read = Vec::new();
        assert_eq!(records.poll(&mut read), 0);
        assert_eq!(read, [record(0), record(1), record(2)]);
        (0..WAITING_MAX as u64 + 5).for_each(|ticks| writer.write(record(ticks)));
        assert_eq!((records.poll(&mut read), read.len()), (5, WAITING_MAX));
        assert_eq!((records.poll(&mut read), read.len()), (0, 0));
        [3, 0, 1].into_iter().for_each(|count| writer.lose(count));
        assert_eq!((records.poll(&mut read), read.len()), (4, 0));
    }
}
