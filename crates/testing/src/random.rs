//! The random numbers of tests.

/// Numbers that are random enough for tests, and the same on each machine (Steele, Lea, Flood: "Fast splittable pseudorandom
/// number generators", 2014: SplitMix64). Each seed gives another sequence.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, any of 64 bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below a bound, or 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound.max(1)
    }

    /// Returns a number from `least` to `most`.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// Returns true once in this number of cases on average.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Returns one of these values.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the generator with the seed 1234567, as its authors' program prints them.
    #[test]
    fn numbers_are_those_of_the_source() {
        let mut random = Random::new(1_234_567);
        let numbers = [0; 3].map(|_| random.number());
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn ranges_are_kept_and_filled() {
        let mut random = Random::new(1);
        let mut seen = [false; 7];
        for _ in 0..200 {
            let number = random.between(3, 6);
            assert!((3..=6).contains(&number));
            seen[number as usize] = true;
        }
        assert_eq!(seen, [false, false, false, true, true, true, true]);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!([5, 7].contains(&random.of(&[5, 7])));
    }
}
