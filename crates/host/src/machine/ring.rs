//! A queue from one thread to another one, neither of which ever waits for the other one.
//!
//! The threads of PCPUs have real-time priority. If they waited for a lock that a thread without such a priority has, then
//! everything that keeps that thread from running would keep the VMs from running, too; on the same CPU it would do so for
//! ever. All places of a ring are made with it, so that nothing is allocated later, either.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

#[derive(Debug)]
struct Ring<T> {
    /// Values by their numbers, modulo the length. Of each place only one end at a time takes the lock, which is therefore always
    /// free: the writer from `written` on, the reader before it.
    places: Box<[Mutex<T>]>,
    /// Number of values that were written. Only the writer changes it.
    written: AtomicU64,
    /// Number of values that were read. Only the reader changes it.
    read: AtomicU64,
}

/// The end at which values are written.
#[derive(Debug)]
pub struct Writer<T>(Arc<Ring<T>>);

/// The end at which values are read.
#[derive(Debug)]
pub struct Reader<T>(Arc<Ring<T>>);

/// Makes a queue with as many places, each of which `place` makes.
pub fn ring<T>(length: usize, place: impl Fn() -> T) -> (Writer<T>, Reader<T>) {
    let places = (0..length).map(|_| Mutex::new(place())).collect();
    let ring = Arc::new(Ring { places, written: 0.into(), read: 0.into() });
    (Writer(Arc::clone(&ring)), Reader(ring))
}

impl<T> Ring<T> {
    fn place(&self, number: u64) -> Option<MutexGuard<'_, T>> {
        let place = self.places.get(number.checked_rem(self.places.len() as u64)? as usize)?;
        match place.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<T> Writer<T> {
    /// Lets `fill` change the next free place, which has the value that was there before. Returns false if no place is free.
    pub fn write(&mut self, fill: impl FnOnce(&mut T)) -> bool {
        let Ring { places, written, read } = &*self.0;
        let number = written.load(Ordering::Relaxed);
        if number.wrapping_sub(read.load(Ordering::Acquire)) >= places.len() as u64 {
            return false;
        }
        let Some(mut place) = self.0.place(number) else { return false };
        fill(&mut place);
        drop(place);
        written.store(number.wrapping_add(1), Ordering::Release);
        true
    }
}

impl<T> Reader<T> {
    /// Lets `look` see the oldest value, and takes it out. `None`: there is no value.
    pub fn read<R>(&mut self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let Ring { written, read, .. } = &*self.0;
        let number = read.load(Ordering::Relaxed);
        if written.load(Ordering::Acquire) == number {
            return None;
        }
        let place = self.0.place(number)?;
        let result = look(&place);
        drop(place);
        read.store(number.wrapping_add(1), Ordering::Release);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn values_come_in_order_and_a_full_ring_takes_no_more() {
        let (mut writer, mut reader) = ring(3, || 0);
        assert_eq!(reader.read(|it| *it), None);
        let mut write = |value| writer.write(|it| *it = value);
        assert!(write(1) && write(2) && write(3) && !write(4));
        assert_eq!(reader.read(|it| *it), Some(1));
        assert!(write(5) && !write(6));
        assert_eq!([0; 4].map(|_| reader.read(|it| *it)), [Some(2), Some(3), Some(5), None]);
    }

    #[test]
    fn two_threads_lose_nothing() {
        const COUNT: u64 = 100_000;
        let (mut writer, mut reader) = ring(7, || 0);
        thread::scope(|scope| {
            scope.spawn(move || {
                for value in 0..COUNT {
                    while !writer.write(|it| *it = value) {
                        thread::yield_now();
                    }
                }
            });
            for value in 0..COUNT {
                let read = loop {
                    match reader.read(|it| *it) {
                        Some(read) => break read,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(read, value);
            }
        });
    }

    #[test]
    fn a_reader_that_stands_still_keeps_the_writer_waiting_for_nothing() {
        let (mut writer, mut reader) = ring(2, || 0);
        assert!(writer.write(|it| *it = 1) && writer.write(|it| *it = 2));
        let within = reader.read(|_| {
            // The reader is in the middle of the first value.
            !writer.write(|it| *it = 3)
        });
        assert_eq!(within, Some(true));
        assert!(writer.write(|it| *it = 3));
    }
}
