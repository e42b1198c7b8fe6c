//! The accesses of a job that makes them evenly over its execution, as a formula.

use crate::time::NEVER;

/// The coming accesses of a job of which each is delayed as long as the one before, or alone.
///
/// Access `i` of `N` is made when `ceil(i E / N)` of the execution `E` are done.
#[derive(Clone, Debug)]
pub struct Evenly {
    /// `N` and `E`.
    accesses: u64,
    execution: u64,
    /// `E / N`: quotient and remainder.
    distance: (u64, u64),
    /// Number of the next access, and quotient and remainder of `i E / N` for it.
    number: u64,
    place: (u64, u64),
    /// Execution time at which something else happens to the job, and the number of the last access
    /// before.
    end: u64,
    last: u64,
    /// Time at which the job would have begun, had it executed since then without a break.
    begun: u64,
}

impl Evenly {
    /// `end`: execution time at which something else happens; accesses made then are left out.
    /// `begun` as in the structure. `None` if there are no accesses.
    pub fn new((accesses, execution): (u64, u64), made: u64, end: u64, begun: u64) -> Option<Self> {
        let distance = (execution.checked_div(accesses)?, execution % accesses);
        let last =
            u128::from(end.saturating_sub(1)) * u128::from(accesses) / u128::from(execution.max(1));
        let last = last.min(accesses.into()) as u64;
        let place = (0, 0);
        let mut new = Self { accesses, execution, distance, number: 0, place, end, last, begun };
        new.skip(made + 1, 0);
        Some(new)
    }

    /// Returns the time of the next access; [`NEVER`] if something else comes first.
    #[inline]
    pub fn next(&self) -> u64 {
        if self.number > self.last {
            return NEVER;
        }
        self.begun.saturating_add(self.place())
    }

    /// Returns the time at which something else happens to the job, if no more accesses are delayed.
    pub fn end(&self) -> u64 {
        self.begun.saturating_add(self.end)
    }

    /// Returns the least execution time between two accesses.
    #[inline]
    pub fn distance(&self) -> u64 {
        self.distance.0
    }

    /// Returns the number of accesses that the job has made.
    pub fn made(&self) -> u64 {
        self.number - 1
    }

    #[inline]
    fn place(&self) -> u64 {
        self.place.0 + u64::from(self.place.1 > 0)
    }

    /// Makes the next access, which is delayed.
    #[inline]
    pub fn make(&mut self, delay: u64) {
        self.begun = self.begun.saturating_add(delay);
        self.number += 1;
        let (whole, rest) = self.distance;
        let to_carry = self.accesses - rest;
        let carry = self.place.1 >= to_carry;
        self.place.0 = self.place.0.saturating_add(whole).saturating_add(carry.into());
        self.place.1 = if carry { self.place.1 - to_carry } else { self.place.1 + rest };
    }

    /// Makes this number of accesses, each of which is delayed by `delay`.
    pub fn skip(&mut self, count: u64, delay: u64) {
        self.begun = self.begun.saturating_add(delay.saturating_mul(count));
        self.number += count;
        let place = u128::from(self.number) * u128::from(self.execution);
        let accesses = u128::from(self.accesses);
        self.place = ((place / accesses) as u64, (place % accesses) as u64);
    }

    /// Returns the number of accesses before `time`, if each is delayed by `delay`; `None` if the
    /// numbers are too large.
    ///
    /// With `n` the next access, access `i` comes at `begun + (i - n) delay + ceil(i E / N)`. This is
    /// at most `begun + x` for `i (E + N delay) <= N (x + n delay)`.
    pub fn count_before(&self, time: u64, delay: u64) -> Option<u64> {
        let Some(most) = time.checked_sub(self.begun.checked_add(1)?) else { return Some(0) };
        let [accesses, execution, number, delay, most] =
            [self.accesses, self.execution, self.number, delay, most].map(u128::from);
        let divisor = accesses.checked_mul(delay)?.checked_add(execution)?;
        let sum = number.checked_mul(delay)?.checked_add(most)?;
        let last = accesses.checked_mul(sum)? / divisor;
        let last = last.min(self.last.into()) as u64;
        Some((last + 1).saturating_sub(self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All accesses of jobs of up to 12 ns, one by one and by the formula.
    #[test]
    fn the_formula_counts_what_steps_make() {
        for execution in 1..13u64 {
            for accesses in 1..=execution {
                for made in 0..accesses {
                    for (end, delay) in
                        (1..=execution).flat_map(|end| [(end, 0), (end, 1), (end, 5)])
                    {
                        let start = Evenly::new((accesses, execution), made, end, 100).unwrap();
                        let mut stepped = start.clone();
                        let mut times = Vec::new();
                        while stepped.next() < NEVER {
                            assert_eq!(stepped.made(), made + times.len() as u64);
                            times.push(stepped.next());
                            stepped.make(delay);
                        }
                        let places =
                            (made + 1..=accesses).map(|i| (i * execution).div_ceil(accesses));
                        let expected = places.take_while(|place| *place < end).zip(0..);
                        let expected: Vec<_> =
                            expected.map(|(place, before)| 100 + place + before * delay).collect();
                        assert_eq!(times, expected);
                        for time in 90..200 {
                            let count = times.iter().filter(|it| **it < time).count() as u64;
                            assert_eq!(start.count_before(time, delay), Some(count));
                            let mut jumped = start.clone();
                            jumped.skip(count, delay);
                            let next = times.get(count as usize).copied().unwrap_or(NEVER);
                            assert_eq!(jumped.next(), next);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn large_numbers_are_no_trap() {
        let long = Evenly::new((u64::MAX, u64::MAX), 5, u64::MAX, u64::MAX).unwrap();
        assert_eq!((long.next(), long.count_before(u64::MAX, u64::MAX)), (NEVER, None));
        let long = Evenly::new((u64::MAX / 2, u64::MAX), 5, u64::MAX, 1).unwrap();
        assert_eq!((long.next(), long.count_before(u64::MAX, u64::MAX)), (1 + 13, None));
        assert_eq!(long.count_before(1, 3), Some(0));
        assert!(Evenly::new((0, 7), 0, 7, 0).is_none());
    }
}
