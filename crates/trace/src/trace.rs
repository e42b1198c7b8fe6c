//! A trace in memory.

use crate::{Entry, Event, Header, ReadError, Source};

/// The events on the PCPUs of a system.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trace {
    /// The meaning of the numbers in the trace.
    pub header: Header,
    /// The entries of each PCPU, in the order of time.
    pub tracks: Vec<Vec<Entry>>,
    /// True if the file ended within a record or chunk.
    pub is_cut_off: bool,
}

impl Trace {
    /// Records that were lost, of all PCPUs.
    pub fn lost(&self) -> u64 {
        let lost = self.tracks.iter().flatten().map(|entry| match entry.event {
            Event::Lost { records } => records,
            _ => 0,
        });
        lost.sum()
    }

    /// Returns the start of the first period of all servers, if it was recorded.
    pub fn epoch(&self) -> Option<u64> {
        Source::epoch(self)
    }

    /// Returns the time of the first entry; 0 if there is none.
    pub fn first(&self) -> u64 {
        Source::first(self)
    }

    /// Returns the time of the last entry; 0 if there is none.
    pub fn last(&self) -> u64 {
        Source::last(self)
    }

    /// Returns the instant that is called 0: that of the servers' first period, or of the first
    /// entry.
    pub fn zero(&self) -> u64 {
        Source::zero(self)
    }

    /// Nanoseconds from [`Trace::zero`] to a time.
    pub fn clock(&self) -> Clock {
        Source::clock(self)
    }

    /// Returns all entries with their PCPU, in the order of time; those of one PCPU keep their
    /// order.
    pub fn merged(&self) -> impl Iterator<Item = (usize, Entry)> + '_ {
        Source::merged(self)
    }
}

impl Source for Trace {
    fn header(&self) -> &Header {
        &self.header
    }

    fn pcpus(&self) -> usize {
        self.tracks.len()
    }

    fn entries(&self, pcpu: usize) -> impl Iterator<Item = Entry> + '_ {
        self.tracks.get(pcpu).into_iter().flatten().copied()
    }

    fn epoch(&self) -> Option<u64> {
        let epochs = self.tracks.iter().flatten();
        epochs.filter(|entry| matches!(entry.event, Event::Epoch { .. })).map(|it| it.ticks).next()
    }

    fn first(&self) -> u64 {
        let firsts = self.tracks.iter().filter_map(|track| track.first());
        firsts.map(|entry| entry.ticks).min().unwrap_or(0)
    }

    fn last(&self) -> u64 {
        let lasts = self.tracks.iter().filter_map(|track| track.last());
        lasts.map(|entry| entry.ticks).max().unwrap_or(0)
    }

    fn check(&self) -> Result<(), ReadError> {
        Ok(())
    }
}

/// Converts ticks to nanoseconds from a zero.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clock {
    zero: u64,
    frequency_hz: u64,
}

impl Clock {
    /// `frequency_hz` is more than 0.
    pub(crate) fn new(zero: u64, frequency_hz: u64) -> Self {
        Self { zero, frequency_hz }
    }

    /// Nanoseconds from the zero to a time, rounded down.
    pub fn ns(self, ticks: u64) -> i64 {
        let distance = i128::from(ticks) - i128::from(self.zero);
        let ns = (distance * 1_000_000_000).div_euclid(i128::from(self.frequency_hz));
        i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns a length of time in nanoseconds, rounded down.
    pub fn length_ns(self, ticks: u64) -> u64 {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.frequency_hz);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}
