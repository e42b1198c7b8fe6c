//! One stream of events in the order of time, out of many.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::messages::TrackEvent;

/// An event with its time in ticks.
pub type Timed = (u64, TrackEvent);
/// Events in the order of time.
pub type Stream<'a> = Box<dyn Iterator<Item = io::Result<Timed>> + 'a>;

/// The next events of streams. Those of one stream keep their order; of equal times the first stream is first.
pub struct Merged<'a> {
    streams: Vec<Stream<'a>>,
    heads: Vec<Option<TrackEvent>>,
    /// Time and index of the stream of each head.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    failed: Option<io::Error>,
}

impl<'a> Merged<'a> {
    pub fn new(streams: Vec<Stream<'a>>) -> Self {
        let heads = streams.iter().map(|_| None).collect();
        let mut merged = Self { streams, heads, next: BinaryHeap::new(), failed: None };
        (0..merged.streams.len()).for_each(|index| merged.advance(index, 0));
        merged
    }

    /// Takes the next event of a stream; one that is told late is at the time until which the stream was told.
    fn advance(&mut self, index: usize, told: u64) {
        match self.streams[index].next() {
            Some(Ok((ticks, event))) => {
                self.heads[index] = Some(event);
                self.next.push(Reverse((ticks.max(told), index)));
            }
            Some(Err(error)) => self.failed = Some(error),
            None => {}
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = io::Result<Timed>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            self.next.clear();
            return Some(Err(error));
        }
        let Reverse((ticks, index)) = self.next.pop()?;
        let event = self.heads[index].take()?;
        self.advance(index, ticks);
        Some(Ok((ticks, event)))
    }
}
