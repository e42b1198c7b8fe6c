//! Tests of distributions.

/// The Kolmogorov-Smirnov statistic times the root of the number of samples: above
/// 1.95 in one of a thousand tests if the samples have this distribution.
pub fn kolmogorov_smirnov(samples: &mut [f64], distribution: impl Fn(f64) -> f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let off = |(index, sample): (usize, &f64)| {
        let expected = distribution(*sample);
        let below = expected - index as f64 / n;
        let above = (index + 1) as f64 / n - expected;
        below.max(above)
    };
    samples.iter().enumerate().map(off).fold(0.0, f64::max) * n.sqrt()
}

/// Limit of [`kolmogorov_smirnov`] for one in a thousand.
pub const KS_LIMIT: f64 = 1.95;

/// The chi-square statistic, made into a standard normal variable (Wilson and
/// Hilferty): above 3.1 in one of a thousand tests. Classes that expect fewer than 10
/// are left out.
pub fn chi_square(counts: &[f64], expected: &[f64]) -> f64 {
    let classes = || counts.iter().zip(expected).filter(|(_, expected)| **expected >= 10.0);
    let statistic: f64 = classes().map(|(n, e)| (n - e).powi(2) / e).sum();
    let freedom = classes().count() as f64 - 1.0;
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Limit of [`chi_square`] for one in a thousand.
pub const CHI_LIMIT: f64 = 3.1;
