//! Sources of traces: memory, or a file that is too large for that.

use std::iter::Peekable;

use crate::{Clock, Entry, Header, ReadError};

/// The events on the PCPUs of a system, wherever they are kept.
pub trait Source {
    /// The meaning of the numbers in the trace.
    fn header(&self) -> &Header;

    /// Returns the number of PCPUs.
    fn pcpus(&self) -> usize;

    /// Returns the entries of a PCPU, in the order of time.
    fn entries(&self, pcpu: usize) -> impl Iterator<Item = Entry> + '_;

    /// Returns the start of the first period of all servers, if it was recorded.
    fn epoch(&self) -> Option<u64>;

    /// Returns the time of the first entry; 0 if there is none.
    fn first(&self) -> u64;

    /// Returns the time of the last entry; 0 if there is none.
    fn last(&self) -> u64;

    /// Returns an error if entries could not be read: then the iterators ended too early.
    fn check(&self) -> Result<(), ReadError>;

    /// Returns the instant that is called 0: that of the servers' first period, or of the first
    /// entry.
    fn zero(&self) -> u64 {
        self.epoch().unwrap_or_else(|| self.first())
    }

    /// Nanoseconds from [`Source::zero`] to a time.
    fn clock(&self) -> Clock {
        Clock::new(self.zero(), self.header().frequency_hz)
    }

    /// Returns all entries with their PCPU, in the order of time; those of one PCPU keep their
    /// order.
    fn merged(&self) -> impl Iterator<Item = (usize, Entry)> + '_ {
        let tracks = (0..self.pcpus()).map(|pcpu| self.entries(pcpu).peekable());
        Merged { tracks: tracks.collect() }
    }
}

struct Merged<I: Iterator<Item = Entry>> {
    tracks: Vec<Peekable<I>>,
}

impl<I: Iterator<Item = Entry>> Iterator for Merged<I> {
    type Item = (usize, Entry);

    fn next(&mut self) -> Option<Self::Item> {
        let heads = self.tracks.iter_mut().enumerate();
        let heads = heads.filter_map(|(pcpu, track)| Some((pcpu, track.peek()?.ticks)));
        let (pcpu, _) = heads.min_by_key(|&(_, ticks)| ticks)?;
        Some((pcpu, self.tracks[pcpu].next()?))
    }
}
