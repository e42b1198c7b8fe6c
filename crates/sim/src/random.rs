//! Random numbers that are the same on all machines and in all versions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The numbers of one task: the stream of ChaCha8 with the number of the task, so that
/// no task changes the numbers of another.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Self(generator)
    }

    /// Returns a number of `min..=max`, of which each is equally likely up to 1 in 2^64 / (max -
    /// min + 1).
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        let count = u128::from(max - min) + 1;
        min + ((u128::from(self.0.next_u64()) * count) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_are_in_their_range_and_repeat() {
        let draw = |stream| {
            let mut random = Random::new(7, stream);
            (0..1000).map(|_| random.between(3, 12)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for value in 3..=12 {
            let count = draw(1).iter().filter(|&&drawn| drawn == value).count();
            assert!((60..140).contains(&count), "{value}: {count} of 1000");
        }
        assert_eq!(Random::new(1, 1).between(u64::MAX, u64::MAX), u64::MAX);
    }
}
