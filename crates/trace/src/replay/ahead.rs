//! The entries of a PCPU, each with those behind it on which its decision depends.

use crate::{Entry, Event};

/// Entries that are kept though they are not needed.
const KEPT_MAX: usize = 1024;

/// Entries with those that follow: grants and accounts, and the first entry behind them.
pub struct Ahead<I> {
    entries: I,
    /// Entries that were read, the ones before `at` no longer needed.
    read: Vec<Entry>,
    at: usize,
    /// Number of entries from the start of which none is of another kind than grant or account.
    searched: usize,
}

impl<I: Iterator<Item = Entry>> Ahead<I> {
    pub fn new(entries: I) -> Self {
        Self { entries, read: Vec::new(), at: 0, searched: 0 }
    }

    /// Returns the next entry, and the entries behind it: up to the first one that is neither a
    /// grant nor an account.
    pub fn next(&mut self) -> Option<(Entry, &[Entry])> {
        if self.at == self.read.len() || self.at >= KEPT_MAX {
            self.read.drain(..self.at);
            (self.searched, self.at) = (self.searched - self.at, 0);
        }
        if self.read.is_empty() {
            self.read.push(self.entries.next()?);
        }
        let entry = self.read[self.at];
        self.at += 1;
        self.searched = self.searched.max(self.at);
        while self.searched >= self.read.len() || follows(self.read[self.searched]) {
            if self.searched < self.read.len() {
                self.searched += 1;
            } else if let Some(next) = self.entries.next() {
                self.read.push(next);
            } else {
                break;
            }
        }
        Some((entry, &self.read[self.at..]))
    }
}

fn follows(entry: Entry) -> bool {
    matches!(entry.event, Event::Grant { .. } | Event::Account { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VcpuId;

    #[test]
    fn each_entry_has_those_that_it_depends_on() {
        let vcpu = VcpuId { vm: 0, vcpu: 0 };
        let grant = Event::Grant { vcpu, accesses: 1, later: false };
        let account = Event::Account { vcpu, accesses: 1 };
        let events = [account, Event::Tick, grant, account, grant, Event::Idle, Event::Tick, grant];
        let entries: Vec<_> =
            (0..).zip(events).map(|(ticks, event)| Entry { ticks, event }).collect();
        let mut ahead = Ahead::new(entries.iter().copied());
        for (at, next) in [2, 6, 6, 6, 6, 7, 8, 8].into_iter().enumerate() {
            let found = ahead.next().expect("an entry");
            assert_eq!(found, (entries[at], &entries[at + 1..next.max(at + 1)]), "{at}");
        }
        assert_eq!(ahead.next(), None);
    }
}
