//! Division by constant numbers, as a multiplication (Granlund and Montgomery, "Division by
//! Invariant Integers using Multiplication", PLDI 1994).

use std::fmt;

/// A number to divide by, more than 0.
///
/// With `l = ceil(log2 d)` and `m = ceil(2^(63 + l) / d)`, which is less than 2^64, the product
/// `d m` is above `2^(63 + l)` by less than `d <= 2^l`. So `n m / 2^(63 + l)` is above `n / d` by
/// less than `n / (2^63 d)`, and for `n < 2^63` by less than `1 / d`: both have the same integer
/// part.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(crate) struct Divisor {
    divisor: u64,
    /// `m`.
    factor: u64,
    /// `l`.
    shift: u32,
}

impl Divisor {
    /// Makes a divisor of `divisor`, or of 1 if that is 0. At most 2^62.
    pub const fn new(divisor: u64) -> Self {
        let divisor = if divisor == 0 { 1 } else { divisor };
        let shift = divisor.next_power_of_two().trailing_zeros();
        let factor = (1u128 << (63 + shift)).div_ceil(divisor as u128) as u64;
        Self { divisor, factor, shift }
    }

    /// Returns the number itself.
    #[inline]
    pub const fn get(self) -> u64 {
        self.divisor
    }

    /// `floor(twice / 2 / d)` for an even `twice`: the half is less than 2^63.
    #[inline]
    pub const fn quotient_of_half(self, twice: u64) -> u64 {
        ((twice as u128 * self.factor as u128) >> 64) as u64 >> self.shift
    }

    /// `ceil(n / d)` for `n` from 1 to 2^63.
    #[inline]
    pub const fn ceil(self, n: u64) -> u64 {
        self.quotient_of_half((n - 1) << 1) + 1
    }
}

impl fmt::Debug for Divisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.divisor.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn quotients_are_those_of_a_division(
            divisor in 1u64..=1 << 62,
            small in 0u32..62,
            number in 0u64..1 << 63,
            shift in 0u32..62,
        ) {
            let (divisor, number) = ((divisor >> small).max(1), (number >> shift).max(1));
            // A number, and those beside a multiple of the divisor.
            let multiple = number / divisor * divisor;
            for n in [number, multiple, multiple.saturating_sub(1), multiple + 1] {
                if (1..1 << 63).contains(&n) {
                    let by = Divisor::new(divisor);
                    prop_assert_eq!(by.quotient_of_half(n << 1), n / divisor, "{} / {}", n, divisor);
                    prop_assert_eq!(by.ceil(n), n.div_ceil(divisor));
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        let most = (1 << 63) - 1;
        for divisor in [1, 2, 3, (1 << 61) - 1, 1 << 61, (1 << 61) + 1, (1 << 62) - 1, 1 << 62] {
            for n in [1, 2, divisor - 1, divisor, divisor + 1, most - 1, most] {
                let by = Divisor::new(divisor);
                assert_eq!(by.quotient_of_half(n << 1), n / divisor, "{n} / {divisor}");
            }
        }
    }
}
