//! The same machine written a second time: slow, plain, and by other means.
//!
//! A set is a list of lines, the last used first; caches are maps of such lists.

use std::collections::BTreeMap;

use bulkhead_cachescope_model::LineOperation;

/// Set-associative cache with LRU replacement.
#[derive(Clone)]
pub struct Lru {
    sets: BTreeMap<u64, Vec<(u64, bool)>>,
    number_of_sets: u64,
    ways: usize,
}

impl Lru {
    pub fn new(number_of_sets: u64, ways: usize) -> Self {
        Self { sets: BTreeMap::new(), number_of_sets, ways }
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, bool)> {
        self.sets.entry(line % self.number_of_sets).or_default()
    }

    /// Takes the line out of its set.
    pub fn remove(&mut self, line: u64) -> Option<bool> {
        let set = self.set(line);
        let place = set.iter().position(|(held, _)| *held == line)?;
        Some(set.remove(place).1)
    }

    /// Puts the line in front of its set, and returns what falls off its end.
    pub fn insert(&mut self, line: u64, dirty: bool) -> Option<(u64, bool)> {
        let ways = self.ways;
        let set = self.set(line);
        set.insert(0, (line, dirty));
        if set.len() > ways { set.pop() } else { None }
    }

    /// Marks a line as not changed, without using it; returns whether it was.
    pub fn clean(&mut self, line: u64) -> bool {
        for entry in self.set(line) {
            if entry.0 == line {
                return std::mem::replace(&mut entry.1, false);
            }
        }
        false
    }

    pub fn lines(&self) -> Vec<(u64, bool)> {
        let mut lines: Vec<_> = self.sets.values().flatten().copied().collect();
        lines.sort_unstable();
        lines
    }
}

/// Tree pseudo-LRU as a tree, for a set that is full from the start.
pub enum Tree {
    Way(usize),
    Node { right_next: bool, left: Box<Tree>, right: Box<Tree> },
}

impl Tree {
    pub fn new(ways: std::ops::Range<usize>) -> Self {
        if ways.len() == 1 {
            return Self::Way(ways.start);
        }
        let middle = ways.start + ways.len() / 2;
        Self::Node {
            right_next: false,
            left: Box::new(Self::new(ways.start..middle)),
            right: Box::new(Self::new(middle..ways.end)),
        }
    }

    fn holds(&self, way: usize) -> bool {
        match self {
            Self::Way(own) => *own == way,
            Self::Node { left, right, .. } => left.holds(way) || right.holds(way),
        }
    }

    pub fn touch(&mut self, way: usize) {
        if !self.holds(way) {
            return;
        }
        if let Self::Node { right_next, left, right } = self {
            *right_next = left.holds(way);
            left.touch(way);
            right.touch(way);
        }
    }

    pub fn victim(&self) -> usize {
        match self {
            Self::Way(own) => *own,
            Self::Node { right_next: false, left, .. } => left.victim(),
            Self::Node { right_next: true, right, .. } => right.victim(),
        }
    }
}

/// What the reference counts.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    pub l1_misses: u64,
    pub l1i_misses: u64,
    pub llc_misses: u64,
    pub read: u64,
    pub written: u64,
    /// (accessor, incoming owner, evicted owner): how often.
    pub evictions: BTreeMap<(usize, usize, usize), u64>,
}

/// What a CPU does with a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Use {
    Load,
    Store,
    Fetch,
    Operate(LineOperation),
}

/// Private LRU caches over a shared one, coherent, with write-back.
pub struct Reference {
    pub private: Vec<Lru>,
    pub instructions: Vec<Lru>,
    pub shared: Lru,
    pub inclusive: bool,
    pub counts: Counts,
    pub owner_of: Box<dyn Fn(u64) -> usize>,
}

impl Reference {
    pub fn step(&mut self, cpu: usize, who: usize, line: u64, what: Use) {
        match what {
            Use::Load => self.access(cpu, who, line, false, true),
            Use::Store => self.access(cpu, who, line, true, true),
            Use::Fetch => self.fetch(cpu, who, line),
            Use::Operate(LineOperation::Zero) => self.access(cpu, who, line, true, false),
            Use::Operate(LineOperation::CleanToShared) => {
                for cpu in 0..self.private.len() {
                    if self.private[cpu].clean(line) {
                        self.give_back(line);
                    }
                }
            }
            Use::Operate(LineOperation::Clean) => {
                let in_private =
                    self.private.iter_mut().filter_map(|it| it.clean(line).then_some(()));
                let changed = in_private.count() > 0;
                self.counts.written += u64::from(self.shared.clean(line) || changed);
            }
            Use::Operate(LineOperation::Remove) => {
                let held = self.private.iter_mut().filter_map(|it| it.remove(line));
                let changed = held.filter(|dirty| *dirty).count() > 0;
                let below = self.shared.remove(line) == Some(true);
                self.counts.written += u64::from(below || changed);
            }
        }
    }

    fn fetch(&mut self, cpu: usize, who: usize, line: u64) {
        if self.instructions[cpu].remove(line).is_none() {
            self.counts.l1i_misses += 1;
            self.bring(who, line, true);
        }
        self.instructions[cpu].insert(line, false);
    }

    fn access(&mut self, cpu: usize, who: usize, line: u64, store: bool, read: bool) {
        let mine = self.private[cpu].remove(line);
        if let Some(dirty) = mine {
            self.private[cpu].insert(line, dirty || store);
        }
        // A line that was changed here is nowhere else; otherwise others have
        // to know of a store, and of a load of what they may have changed.
        let known_alone = mine == Some(true);
        if !known_alone && (mine.is_none() || store) {
            for other in 0..self.private.len() {
                if other == cpu {
                    continue;
                }
                let changed = if store {
                    self.private[other].remove(line) == Some(true)
                } else {
                    self.private[other].clean(line)
                };
                if changed {
                    self.give_back(line);
                }
            }
        }
        if mine.is_some() {
            return;
        }
        self.counts.l1_misses += 1;
        self.bring(who, line, read);
        if let Some((victim, true)) = self.private[cpu].insert(line, store) {
            self.give_back(victim);
        }
    }

    fn bring(&mut self, who: usize, line: u64, read: bool) {
        match self.shared.remove(line) {
            Some(dirty) => {
                self.shared.insert(line, dirty);
            }
            None => {
                self.counts.llc_misses += 1;
                self.counts.read += u64::from(read);
                self.take_in(who, line, false);
            }
        }
    }

    fn give_back(&mut self, line: u64) {
        if self.shared.remove(line).is_some() {
            self.shared.insert(line, true);
        } else {
            let owner = (self.owner_of)(line);
            self.take_in(owner, line, true);
        }
    }

    fn take_in(&mut self, who: usize, line: u64, dirty: bool) {
        let Some((victim, mut changed)) = self.shared.insert(line, dirty) else {
            return;
        };
        let kind = (who, (self.owner_of)(line), (self.owner_of)(victim));
        *self.counts.evictions.entry(kind).or_default() += 1;
        if self.inclusive {
            for private in self.private.iter_mut().chain(&mut self.instructions) {
                changed |= private.remove(victim) == Some(true);
            }
        }
        self.counts.written += u64::from(changed);
    }
}
