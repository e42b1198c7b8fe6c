//! RandFixedSum: numbers between common limits with a given sum.
//!
//! Stafford, "Random vectors with fixed sum", 2006; for task sets Emberson, Stafford
//! and Davis, "Techniques for the synthesis of multiprocessor tasksets", WATERS 2010.
//!
//! Scaled to 0..1, what is to be drawn is a point of the slice
//! `P(m, s) = { x in [0, 1]^m : x_1 + ... + x_m = s }`. With `f_m(s)` for its volume,
//! the density of the sum of m uniform numbers (Irwin and Hall):
//!
//! ```text
//! (m - 1) f_m(s) = s f_{m-1}(s) + (m - s) f_{m-1}(s - 1)
//! ```
//!
//! The terms are the cones from the centre (s/m, ..., s/m) to a face `x_i = 0` and to a
//! face `x_i = 1`, which are slices `P(m-1, s)` and `P(m-1, s-1)` again. So: choose the
//! kind of face by these volumes, draw a point of it in the same way, and move it
//! towards the centre by a factor `r^(1/(m-1))`. Which coordinate i was does not matter
//! until the end, where all are put into random order. No term is negative: nothing is
//! lost to cancellation.

use crate::{Error, Random, error};

/// Most numbers of one sample.
pub const COUNT_MAX: usize = 500;

/// Draws `n` numbers of `min..=max` whose sum is `sum`; all such points are equally likely. The
/// table of volumes is computed once.
#[derive(Clone, Debug)]
pub struct RandFixedSum {
    min: f64,
    width: f64,
    /// `s`: the sum, scaled.
    scaled: f64,
    volumes: Volumes,
}

impl RandFixedSum {
    /// # Errors
    ///
    /// `n` is not 1 to [`COUNT_MAX`]; a number is not finite; the limits are in the wrong
    /// order, or do not allow the sum.
    pub fn new(n: usize, sum: f64, min: f64, max: f64) -> Result<Self, Error> {
        let n = error::count(n, COUNT_MAX)?;
        let min = error::at_least("the lower limit", min, f64::MIN)?;
        let max = error::at_least("the upper limit", max, f64::MIN)?;
        if min > max {
            return Err(Error::Range { what: "the range of each number", min, max });
        }
        let sums = (min * n as f64, max * n as f64);
        if !(sums.0..=sums.1).contains(&sum) {
            return Err(Error::Sum { sum, min: sums.0, max: sums.1 });
        }
        let width = max - min;
        let scaled = if width > 0.0 { ((sum - sums.0) / width).clamp(0.0, n as f64) } else { 0.0 };
        Ok(Self { min, width, scaled, volumes: Volumes::new(n, scaled) })
    }

    /// Returns the numbers, in random order.
    pub fn sample(&self, random: &mut Random) -> Vec<f64> {
        let mut point = self.volumes.sample(random, self.scaled);
        for x in &mut point {
            *x = self.min + *x * self.width;
        }
        point
    }
}

/// The volumes `f_m(x)` for all that can be left of a sum: `x` is `fraction`,
/// `fraction + 1`, and so on. Each row is scaled so that its largest is 1.
#[derive(Clone, Debug)]
pub(crate) struct Volumes {
    fraction: f64,
    /// `rows[m][j]` is `f_{m+1}(fraction + j)`.
    rows: Vec<Vec<f64>>,
}

impl Volumes {
    /// Returns the table for slices of up to `n` numbers and sums of up to `sum`.
    pub fn new(n: usize, sum: f64) -> Self {
        let fraction = sum - libm::floor(sum);
        let whole = libm::floor(sum) as usize;
        // One number is uniform on 0..1; of the two ends of a sum that is whole, one
        // counts.
        let mut row: Vec<f64> = (0..=whole).map(|j| f64::from(u8::from(j == 0))).collect();
        let mut rows = vec![row.clone()];
        for m in 2..=n {
            let volume = |j: usize| {
                let x = fraction + j as f64;
                let below = if j == 0 { 0.0 } else { row[j - 1] };
                (x * row[j] + (m as f64 - x).max(0.0) * below) / (m - 1) as f64
            };
            let mut next: Vec<f64> = (0..=whole).map(volume).collect();
            let largest = next.iter().copied().fold(0.0, f64::max);
            if largest > 0.0 {
                next.iter_mut().for_each(|volume| *volume /= largest);
            }
            row = next;
            rows.push(row.clone());
        }
        Self { fraction, rows }
    }

    /// Returns the relative volumes of `P(n, fraction)`, `P(n, fraction + 1)`, ...
    pub fn last(&self) -> &[f64] {
        self.rows.last().map_or(&[], Vec::as_slice)
    }

    /// Returns a point of `P(n, sum)`, where `sum` differs from that of the table by a whole
    /// number.
    pub fn sample(&self, random: &mut Random, sum: f64) -> Vec<f64> {
        let n = self.rows.len();
        let mut point = Vec::with_capacity(n);
        // The faces chosen so far contain the point `centre + scale * (point of the
        // slice that is left)`.
        let (mut s, mut centre, mut scale) = (sum, 0.0, 1.0);
        for m in (2..=n).rev() {
            let row = &self.rows[m - 2];
            let volume = |x: f64| match x - self.fraction {
                offset if offset < -0.5 => 0.0,
                offset => row.get(libm::round(offset) as usize).copied().unwrap_or(0.0),
            };
            let size = m as f64;
            let low = s * volume(s);
            let high = (size - s).max(0.0) * volume(s - 1.0);
            let face = if random.unit() * (low + high) < low || s < 1.0 { 0.0 } else { 1.0 };
            let towards = libm::pow(random.unit(), 1.0 / (size - 1.0));
            centre += scale * (1.0 - towards) * s / size;
            scale *= towards;
            point.push(centre + scale * face);
            s -= face;
        }
        point.push(centre + scale * s.clamp(0.0, 1.0));
        random.shuffle(&mut point);
        point
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_the_densities_of_irwin_and_hall() {
        // Two numbers are a triangle, three a parabola; the largest counts as 1.
        let assert = |n, sum, expected: &[f64]| {
            let volumes = Volumes::new(n, sum);
            let off = volumes.last().iter().zip(expected).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-12, "{:?}", volumes.last());
        };
        assert(2, 1.25, &[0.25 / 0.75, 1.0]);
        assert(3, 2.5, &[0.125 / 0.75, 1.0, 0.125 / 0.75]);
        assert(3, 3.0, &[0.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn limits_hold_at_the_ends_and_for_many() {
        let mut random = Random::new(3, 0);
        for (n, sum) in [
            (1, 0.4),
            (2, 0.0),
            (5, 5.0),
            (5, 3.0),
            (7, 0.001),
            (7, 6.999),
            (500, 0.5),
            (500, 250.25),
            (500, 499.9),
        ] {
            let generator = RandFixedSum::new(n, sum, 0.0, 1.0).unwrap();
            for _ in 0..50 {
                let numbers = generator.sample(&mut random);
                assert_eq!(numbers.len(), n);
                let total: f64 = numbers.iter().sum();
                assert!((total - sum).abs() < 1e-9, "{n} {sum}: {total}");
                let within = |x: &f64| (-1e-12..=1.0 + 1e-12).contains(x);
                assert!(numbers.iter().all(within), "{n} {sum}: {numbers:?}");
            }
        }
    }

    #[test]
    fn impossible_sums_are_refused() {
        let error = RandFixedSum::new(3, 3.1, 0.0, 1.0).unwrap_err();
        assert_eq!(error.to_string(), "numbers within these limits have sums of 0 to 3, not 3.1");
        assert!(RandFixedSum::new(3, f64::NAN, 0.0, 1.0).is_err());
        assert!(RandFixedSum::new(0, 0.0, 0.0, 1.0).is_err());
        assert!(RandFixedSum::new(3, 1.0, 1.0, 0.0).is_err());
    }
}
