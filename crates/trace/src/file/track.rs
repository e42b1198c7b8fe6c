//! The entries of a PCPU as its chunks tell them, in their order.

use std::collections::VecDeque;

use crate::{Entry, Event};

/// A piece of a chunk.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// A chunk begins, before which records were lost.
    Lost(u64),
    /// A record.
    Entry(Entry),
    /// A chunk ends.
    End,
}

/// Puts what was lost, and the start of the servers, where it belongs: the start is recorded before
/// it comes.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Number of records that were lost before the next one.
    lost: u64,
    /// Time of the last entry.
    last: Option<u64>,
    /// The start of the servers, until its time has come.
    epoch: Option<Entry>,
    had_epoch: bool,
    out: VecDeque<Entry>,
}

impl Track {
    /// Adds a piece.
    pub fn add(&mut self, piece: Piece) {
        match piece {
            Piece::Lost(records) => self.lost = records,
            Piece::Entry(entry) => {
                // As late as it can have been: before the first record that was not lost.
                self.tell_lost(entry.ticks);
                self.last = Some(entry.ticks);
                self.settle(entry);
            }
            Piece::End => self.tell_lost(self.last.unwrap_or(0)),
        }
    }

    fn tell_lost(&mut self, ticks: u64) {
        if self.lost > 0 {
            let records = std::mem::take(&mut self.lost);
            self.settle(Entry { ticks, event: Event::Lost { records } });
        }
    }

    fn settle(&mut self, entry: Entry) {
        if let Some(epoch) = self.epoch.take_if(|epoch| entry.ticks >= epoch.ticks) {
            self.out.push_back(epoch);
        }
        if matches!(entry.event, Event::Epoch { .. }) && !self.had_epoch {
            (self.epoch, self.had_epoch) = (Some(entry), true);
        } else {
            self.out.push_back(entry);
        }
    }

    /// No more pieces follow.
    pub fn end(&mut self) {
        self.out.extend(self.epoch.take());
    }

    /// Returns the next entry that is settled.
    pub fn next(&mut self) -> Option<Entry> {
        self.out.pop_front()
    }
}
