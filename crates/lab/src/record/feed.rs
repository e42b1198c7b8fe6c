//! Sources of the records of a machine.

use std::io;
use std::time::Duration;

use abi::trace::{RING_RECORDS, Record};
use trace::rings::{Ram, Rings};

use super::POLL;

/// Records of a machine that runs.
pub trait Feed {
    /// Returns the known facts about the trace; `None`: there are none yet.
    fn open(&mut self) -> Result<Option<Opened>, String>;

    /// Replaces `records` by those that a PCPU has written since the last time. Returns the number of others that were
    /// overwritten before they were read.
    fn poll(&mut self, pcpu: usize, records: &mut Vec<Record>) -> io::Result<u64>;

    /// Returns the time until the next look, if a PCPU has written this number of records since the last one.
    fn pause(&self, records: usize) -> Duration {
        if records < RING_RECORDS / 4 { POLL } else { Duration::ZERO }
    }
}

/// The known facts about the trace of a machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Opened {
    /// Ticks in a second.
    pub frequency_hz: u64,
    /// Number of PCPUs.
    pub pcpus: usize,
}

/// The rings of the hypervisor in the RAM of its machine.
pub(super) struct RingFeed<R> {
    ram: R,
    /// Pages on which the descriptor of the rings can be.
    pages: Vec<u64>,
    rings: Option<Rings>,
}

impl<R> RingFeed<R> {
    /// Returns a feed that looks for the rings.
    pub fn new(ram: R, pages: Vec<u64>) -> Self {
        Self { ram, pages, rings: None }
    }
}

impl<R: Ram> Feed for RingFeed<R> {
    fn open(&mut self) -> Result<Option<Opened>, String> {
        let rings = Rings::find(&self.ram, self.pages.iter().copied());
        self.rings = rings.map_err(|error| error.to_string())?;
        Ok(self
            .rings
            .as_ref()
            .map(|rings| Opened { frequency_hz: rings.frequency_hz(), pcpus: rings.count() }))
    }

    fn poll(&mut self, pcpu: usize, records: &mut Vec<Record>) -> io::Result<u64> {
        match &mut self.rings {
            Some(rings) => rings.poll(&self.ram, pcpu, records),
            None => Ok(0),
        }
    }
}
