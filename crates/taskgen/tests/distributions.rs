//! Are the numbers distributed as they should be? Seeds are fixed: each test has the
//! same result every time.

mod statistics;

use policy::time::Duration;
use statistics::{CHI_LIMIT, KS_LIMIT, chi_square, kolmogorov_smirnov};
use taskgen::capped::Capped;
use taskgen::randfixedsum::RandFixedSum;
use taskgen::{Random, log_uniform, uunifast, uunifast_discard};

const SAMPLES: usize = 20_000;

/// The volume of `{ 0 <= x_i <= caps_i, sum x = sum }` up to a constant factor: by
/// inclusion and exclusion, for few limits.
fn slice(caps: &[f64], sum: f64) -> f64 {
    let power = caps.len() as i32 - 1;
    let term = |set: usize| {
        let (mut rest, mut sign) = (sum, 1.0);
        for (i, cap) in caps.iter().enumerate() {
            if set >> i & 1 == 1 {
                rest -= cap;
                sign = -sign;
            }
        }
        if rest > 0.0 { sign * rest.powi(power) } else { 0.0 }
    };
    (0..1_usize << caps.len()).map(term).sum()
}

/// The distribution of number `i` of all points within these limits: the integral of
/// the volumes that it leaves to the others.
fn marginal(caps: &[f64], sum: f64, i: usize) -> impl Fn(f64) -> f64 {
    let others: Vec<f64> =
        caps.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, cap)| *cap).collect();
    const STEPS: usize = 3_000;
    let step = caps[i] / STEPS as f64;
    let mut integral = vec![0.0];
    for at in 0..STEPS {
        let volume = slice(&others, sum - (at as f64 + 0.5) * step).max(0.0);
        integral.push(integral[at] + volume);
    }
    let all = integral[STEPS];
    move |x| integral[((x / step).round().max(0.0) as usize).min(STEPS)] / all
}

/// Draws and compares each number with its distribution.
fn marginals(caps: &[f64], sum: f64, mut sample: impl FnMut(&mut Random) -> Vec<f64>) -> Vec<f64> {
    let mut random = Random::new(42, 0);
    let drawn: Vec<Vec<f64>> = (0..SAMPLES).map(|_| sample(&mut random)).collect();
    let of = |i: usize| {
        let mut numbers: Vec<f64> = drawn.iter().map(|point| point[i]).collect();
        kolmogorov_smirnov(&mut numbers, marginal(caps, sum, i))
    };
    (0..caps.len()).map(of).collect()
}

#[track_caller]
fn assert_uniform(statistics: &[f64]) {
    assert!(statistics.iter().all(|statistic| *statistic < KS_LIMIT), "{statistics:?}");
}

#[test]
fn uunifast_is_uniform() {
    let mut random = Random::new(1, 0);
    let drawn: Vec<_> =
        (0..SAMPLES).map(|_| uunifast::sample(&mut random, 6, 0.9).unwrap()).collect();
    for task in 0..6 {
        let mut numbers: Vec<f64> = drawn.iter().map(|point| point[task]).collect();
        let statistic = kolmogorov_smirnov(&mut numbers, |x| 1.0 - (1.0 - x / 0.9).powi(5));
        assert!(statistic < KS_LIMIT, "task {task}: {statistic}");
    }
}

#[test]
fn uunifast_discard_is_uniform_within_its_limit() {
    let draw = |random: &mut Random| uunifast_discard::sample(random, 5, 2.0, 0.7, 1000).unwrap();
    assert_uniform(&marginals(&[0.7; 5], 2.0, draw));
}

#[test]
fn uunifast_discard_gives_up() {
    let error = uunifast_discard::sample(&mut Random::new(1, 0), 50, 45.0, 1.0, 10).unwrap_err();
    assert!(error.to_string().starts_with("none of 10 trials"), "{error}");
}

#[test]
fn randfixedsum_is_uniform() {
    for sum in [0.4, 2.0, 2.5, 4.3] {
        let generator = RandFixedSum::new(5, sum, 0.0, 1.0).unwrap();
        assert_uniform(&marginals(&[1.0; 5], sum, |random| generator.sample(random)));
    }
}

#[test]
fn limits_of_their_own_leave_a_uniform_distribution() {
    for (sum, caps) in [
        (0.9, [0.2, 0.5, 1.0, 0.35]),
        (1.8, [0.2, 0.5, 1.0, 0.35]),
        (0.5, [0.03, 1.0, 1.0, 0.11]),
        (2.0, [1.0, 1.0, 1.0, 1.0]),
    ] {
        let generator = Capped::new(sum, &caps).unwrap();
        assert_uniform(&marginals(&caps, sum, |random| generator.sample(random).unwrap()));
    }
}

/// The triangle of two of three numbers, cut into squares.
fn squares(point: &[f64], sum: f64) -> Option<usize> {
    const SIDE: usize = 12;
    let at = |x: f64| ((x / sum * SIDE as f64) as usize).min(SIDE - 1);
    Some(at(point[0]) * SIDE + at(point[1]))
}

#[test]
fn three_numbers_are_uniform_together() {
    let (sum, caps) = (1.1, [0.4, 0.9, 0.7]);
    // Expected: what trial and error gives, with many more samples.
    let mut random = Random::new(8, 0);
    let mut expected = [0.0; 144];
    let mut trials = 0.0;
    while trials < 4e5 {
        let point = uunifast::sample(&mut random, 3, sum).unwrap();
        if point.iter().zip(&caps).all(|(x, cap)| x <= cap) {
            expected[squares(&point, sum).unwrap()] += 1.0;
            trials += 1.0;
        }
    }
    let count = |sample: &mut dyn FnMut() -> Vec<f64>| {
        let mut counts = [0.0; 144];
        for _ in 0..SAMPLES {
            counts[squares(&sample(), sum).unwrap()] += 1.0;
        }
        counts
    };
    let expected = expected.map(|count| count * SAMPLES as f64 / trials);
    let generator = Capped::new(sum, &caps).unwrap();
    let mut random = Random::new(9, 0);
    let counts = count(&mut || generator.sample(&mut random).unwrap());
    let statistic = chi_square(&counts, &expected);
    assert!(statistic < CHI_LIMIT, "{statistic}");

    // The test can tell: parts of the limits, scaled to the sum, are not uniform.
    let scaled = count(&mut || loop {
        let parts = caps.map(|cap| cap * random.unit());
        let scale = sum / parts.iter().sum::<f64>();
        let point = parts.map(|part| part * scale);
        if point.iter().zip(&caps).all(|(x, cap)| x <= cap) {
            return point.to_vec();
        }
    });
    assert!(chi_square(&scaled, &expected) > 10.0 * CHI_LIMIT);
}

#[test]
fn periods_are_log_uniform() {
    let (min, max) = (Duration(1_000_000), Duration(1_000_000_000));
    let mut random = Random::new(4, 0);
    let mut draw = |step| log_uniform::sample(&mut random, min, max, step).unwrap();
    let mut logs: Vec<f64> = (0..SAMPLES).map(|_| (draw(Duration(1)).0 as f64).ln()).collect();
    let (low, high) = ((1e6_f64).ln(), (1e9_f64 + 1.0).ln());
    let statistic = kolmogorov_smirnov(&mut logs, |x| (x - low) / (high - low));
    assert!(statistic < KS_LIMIT, "{statistic}");
    for _ in 0..1000 {
        let period = draw(Duration(500_000));
        assert!(period.0.is_multiple_of(500_000) && (min..=max).contains(&period));
    }
    assert!(log_uniform::sample(&mut random, max, min, Duration(1)).is_err());
    assert!(log_uniform::sample(&mut random, Duration(0), max, Duration(1)).is_err());
}
