//! A set of small numbers, in which the next one is found in bounded time.

use core::ops::Range;

const WORD: usize = u64::BITS as usize;

/// Levels that 2^32 numbers need.
const LEVELS: usize = 6;

/// A set of numbers below a limit.
///
/// Level 0 has a bit for each number; bit `i` of a level above says whether
/// word `i` of the level below is not zero. The levels follow each other in one
/// slice of the caller.
#[derive(Debug)]
pub(super) struct Bitmap<'a> {
    words: &'a mut [u64],
    /// Start of each level, and the end of the last one.
    starts: [usize; LEVELS + 1],
    levels: usize,
}

impl<'a> Bitmap<'a> {
    /// Returns the words of storage for numbers below `limit`, which is at most 2^32.
    pub const fn words(limit: usize) -> usize {
        Self::layout(limit).0
    }

    /// Words in all, start of each level, number of levels.
    const fn layout(limit: usize) -> (usize, [usize; LEVELS + 1], usize) {
        let mut starts = [0; LEVELS + 1];
        let mut levels = 0;
        let mut words = limit;
        loop {
            words = words.div_ceil(WORD);
            starts[levels + 1] = starts[levels] + words;
            levels += 1;
            if words <= 1 || levels == LEVELS {
                return (starts[levels], starts, levels);
            }
        }
    }

    /// Returns the empty set of numbers below `limit`, or `None` if `words` are fewer than
    /// [`Bitmap::words`]. Writes every word once.
    pub fn new(limit: usize, words: &'a mut [u64]) -> Option<Self> {
        let (len, starts, levels) = Self::layout(limit);
        let words = words.get_mut(..len)?;
        words.fill(0);
        Some(Self { words, starts, levels })
    }

    /// Returns true if `number` is in the set.
    pub fn contains(&self, number: usize) -> bool {
        self.words[number / WORD] >> (number % WORD) & 1 != 0
    }

    /// Puts `number` into the set. Writes at most one word per level.
    pub fn insert(&mut self, number: usize) {
        self.store(number / WORD, self.words[number / WORD] | 1 << (number % WORD));
    }

    /// Takes `number` out of the set. Writes at most one word per level.
    pub fn remove(&mut self, number: usize) {
        self.store(number / WORD, self.words[number / WORD] & !(1 << (number % WORD)));
    }

    /// Puts all of `numbers` into the set, a word at a time.
    pub fn insert_all(&mut self, numbers: Range<usize>) {
        for (word, mask) in words_of(numbers) {
            self.store(word, self.words[word] | mask);
        }
    }

    /// Takes all of `numbers` out of the set, a word at a time; returns how many
    /// were in it.
    pub fn remove_all(&mut self, numbers: Range<usize>) -> u32 {
        let mut removed = 0;
        for (word, mask) in words_of(numbers) {
            removed += (self.words[word] & mask).count_ones();
            self.store(word, self.words[word] & !mask);
        }
        removed
    }

    /// Returns the lowest number of the set that is not below `from`. Reads at most two words per
    /// level.
    pub fn next(&self, from: usize) -> Option<usize> {
        // Up, until a word has a bit at or above where we stand ...
        let mut at = from;
        let mut level = 0;
        let found = loop {
            let word = self.level(level).get(at / WORD)?;
            let rest = word & u64::MAX << (at % WORD);
            if rest != 0 {
                break at / WORD * WORD + rest.trailing_zeros() as usize;
            }
            at = at / WORD + 1;
            level += 1;
            if level == self.levels {
                return None;
            }
        };
        // ... and down to the lowest number below that bit.
        Some(
            (0..level).rev().fold(found, |at, level| {
                at * WORD + self.level(level)[at].trailing_zeros() as usize
            }),
        )
    }

    fn level(&self, level: usize) -> &[u64] {
        &self.words[self.starts[level]..self.starts[level + 1]]
    }

    /// Sets a word of level 0, and the bits above that say whether it is zero.
    fn store(&mut self, mut at: usize, value: u64) {
        let mut was_zero = core::mem::replace(&mut self.words[at], value) == 0;
        let is_zero = value == 0;
        for level in 1..self.levels {
            if was_zero == is_zero {
                return;
            }
            let bit = 1 << (at % WORD);
            at /= WORD;
            let word = &mut self.words[self.starts[level] + at];
            was_zero = *word == 0;
            *word = if is_zero { *word & !bit } else { *word | bit };
            if is_zero && *word != 0 {
                return;
            }
        }
    }
}

/// Returns the words in which `numbers` lie, with their bits there.
fn words_of(numbers: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = numbers;
    let words = if start < end { start / WORD..end.div_ceil(WORD) } else { 0..0 };
    words.map(move |word| {
        let low = start.saturating_sub(word * WORD);
        let high = (end - word * WORD).min(WORD);
        (word, (u64::MAX >> (WORD - (high - low))) << low)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(usize),
        Remove(usize),
        InsertAll(usize, usize),
        RemoveAll(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let at = 0..20_000usize;
        prop_oneof![
            at.clone().prop_map(Step::Insert),
            at.clone().prop_map(Step::Remove),
            (at.clone(), 0..5000usize).prop_map(|(at, len)| Step::InsertAll(at, len)),
            (at, 0..20_000usize).prop_map(|(at, len)| Step::RemoveAll(at, len)),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_set(
            limit in 1..20_000usize,
            steps in prop::collection::vec(step(), 0..24),
            probes in prop::collection::vec(0..20_000usize, 12),
        ) {
            let mut words = vec![u64::MAX; Bitmap::words(limit)];
            let mut bitmap = Bitmap::new(limit, &mut words).unwrap();
            let mut model = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Insert(at) => {
                        bitmap.insert(at % limit);
                        model.insert(at % limit);
                    }
                    Step::Remove(at) => {
                        bitmap.remove(at % limit);
                        model.remove(&(at % limit));
                    }
                    Step::InsertAll(at, len) => {
                        let numbers = at % limit..(at % limit + len).min(limit);
                        bitmap.insert_all(numbers.clone());
                        model.extend(numbers);
                    }
                    Step::RemoveAll(at, len) => {
                        let numbers = at % limit..(at % limit + len).min(limit);
                        let removed = numbers.clone().filter(|n| model.remove(n)).count();
                        prop_assert_eq!(bitmap.remove_all(numbers) as usize, removed);
                    }
                }
                for &probe in &probes {
                    prop_assert_eq!(bitmap.next(probe), model.range(probe..).next().copied());
                    let probe = probe % limit;
                    prop_assert_eq!(bitmap.contains(probe), model.contains(&probe));
                }
            }
        }
    }

    #[test]
    fn too_few_words_are_refused() {
        assert_eq!(Bitmap::words(64), 1);
        assert_eq!(Bitmap::words(65), 2 + 1);
        assert_eq!(Bitmap::words(64 * 64 + 1), 65 + 2 + 1);
        assert!(Bitmap::new(65, &mut [0; 2]).is_none());
        // The largest there is: 4 GiB of frames of one bit each.
        let sizes = [26, 20, 14, 8, 2, 0].map(|shift| 1usize << shift);
        assert_eq!(Bitmap::words(1 << 32), sizes.iter().sum());
    }
}
