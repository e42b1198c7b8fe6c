//! Places of ticks on an axis.

/// Returns whole numbers in `from..=until` that are good places for about `wanted` ticks.
pub fn ticks(from: i64, until: i64, wanted: u32) -> Vec<i64> {
    let width = until.saturating_sub(from);
    if width <= 0 {
        return vec![from];
    }
    let step = step(width, wanted);
    let first = from.div_euclid(step) + i64::from(from.rem_euclid(step) != 0);
    let places = (first..).map_while(|index| index.checked_mul(step));
    places.take_while(|&place| place <= until).collect()
}

/// Returns the least of 1, 2, 5, 10, 20, ... with which there are not more ticks than wanted.
fn step(width: i64, wanted: u32) -> i64 {
    let least = width / i64::from(wanted.max(1));
    let mut ten: i64 = 1;
    loop {
        for factor in [1, 2, 5] {
            match ten.checked_mul(factor) {
                Some(step) if step >= least => return step,
                Some(_) => {}
                None => return i64::MAX,
            }
        }
        match ten.checked_mul(10) {
            Some(next) => ten = next,
            None => return i64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
        assert_eq!(
            ticks(-3_000_000, 7_500_000, 6),
            [-2_000_000, 0, 2_000_000, 4_000_000, 6_000_000]
        );
        assert_eq!(ticks(5, 5, 4), [5]);
        assert!(ticks(i64::MIN, i64::MAX, 4).len() < 10);
    }
}
