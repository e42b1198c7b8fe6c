//! Random numbers that are the same on all machines and in all versions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of ChaCha8.
///
/// An experiment has a seed, and each of its task sets a stream of its own, so that
/// one can be drawn without those before it.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Returns the start of a stream.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Self(generator)
    }

    /// Returns a number of `min..=max` (`min <= max`), of which each is equally likely up to 1 in
    /// 2^64 / (max - min + 1).
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        let count = u128::from(max.saturating_sub(min)) + 1;
        min + ((u128::from(self.0.next_u64()) * count) >> 64) as u64
    }

    /// Returns a number in 0..1: one of the 2^53 multiples of 2^-53.
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * STEP
    }

    /// Returns a number of `min..max`.
    pub fn real(&mut self, min: f64, max: f64) -> f64 {
        min + (max - min) * self.unit()
    }

    /// Puts items into an order of which each is equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.between(0, last as u64) as usize;
            items.swap(last, other);
        }
    }

    /// Returns an index of `weights`, as likely as its weight is part of their sum. The last one if
    /// all are zero.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (index, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        // Rounding: the last that is possible at all.
        let possible = weights.iter().rposition(|weight| *weight > 0.0);
        possible.unwrap_or(weights.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, stream| {
            let mut random = Random::new(seed, stream);
            (0..100).map(|_| random.between(0, 1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn ends_of_ranges_are_drawn() {
        let mut random = Random::new(1, 1);
        let drawn: Vec<_> = (0..1000).map(|_| random.between(3, 5)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&5)));
        assert_eq!(random.between(u64::MAX, u64::MAX), u64::MAX);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }

    #[test]
    fn what_has_no_weight_is_not_drawn() {
        let mut random = Random::new(1, 1);
        let mut counts = [0; 4];
        for _ in 0..4000 {
            counts[random.weighted(&[0.0, 1.0, 3.0, 0.0])] += 1;
        }
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!((900..1100).contains(&counts[1]), "{counts:?}");
    }
}
