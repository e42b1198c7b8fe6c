//! The most frequent address space of a VCPU.

use super::SAMPLES;

/// Number of address spaces that are counted separately.
const VALUES: usize = 8;

/// Minimum number of samples of a winner: a task that busy-waits has many more.
const COUNT_MIN: u32 = SAMPLES as u32 / 10;

/// Samples of one VCPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples {
    /// `(first table, number of samples)`.
    counts: [(u64, u32); VALUES],
    taken: u32,
}

impl Samples {
    pub(super) const fn new() -> Self {
        Self { counts: [(0, 0); VALUES], taken: 0 }
    }

    /// Counts an address space. If there are more than [`VALUES`], one of the least frequent is
    /// forgotten: counts may become too low, never too high.
    pub(super) fn add(&mut self, table: u64) {
        self.taken += 1;
        let mut least = 0;
        for index in 0..VALUES {
            let (known, count) = self.counts[index];
            if known == table && count > 0 {
                self.counts[index].1 += 1;
                return;
            }
            if count < self.counts[least].1 {
                least = index;
            }
        }
        self.counts[least] = (table, 1);
    }

    /// Returns the address space that was seen in more than half of the samples, and the number of these samples.
    pub(super) fn winner(&self) -> Option<(u64, u32)> {
        let (table, count) = self.counts.iter().copied().max_by_key(|entry| entry.1)?;
        (count >= COUNT_MIN && 2 * count > self.taken).then_some((table, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(tables: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::new();
        tables.into_iter().for_each(|table| samples.add(table));
        samples
    }

    #[test]
    fn more_than_half_wins() {
        let half = |extra| samples((0..40).map(|i| if i % 2 == 0 { 7 } else { 8 }).chain(extra));
        assert_eq!(half(None).winner(), None);
        assert_eq!(half(Some(7)).winner(), Some((7, 21)));
        assert_eq!(samples([0; 30]).winner(), Some((0, 30)), "0 is an address like others");
    }

    #[test]
    fn few_samples_are_none() {
        assert_eq!(samples([7; 9]).winner(), None);
        assert_eq!(samples([7; 10]).winner(), Some((7, 10)));
    }

    #[test]
    fn many_address_spaces_do_not_hide_the_winner() {
        // 19 others come and go, so that more are seen than are told apart.
        let mixed = (0..90).map(|i| if i % 3 == 0 { 100 + i % 19 } else { 7 });
        assert_eq!(samples(mixed).winner(), Some((7, 60)));
        assert_eq!(samples((0..90).map(|i| i % 19)).winner(), None);
    }
}
