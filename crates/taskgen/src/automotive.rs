//! Periods and execution times of runnables in engine control units.
//!
//! Kramer, Ziegenbein and Hamann, "Real world automotive benchmarks for free", WATERS
//! 2015: shares of the periods (Table III), average execution times (Table IV), factors
//! to best and worst case (Table V). Runnables that follow the angle of the crankshaft
//! (15 %) have no period and are left out.
//!
//! The paper gives least, mean and greatest of the average execution times and says
//! that a Weibull distribution fits. Here it is the one that starts at the least, has
//! that mean, and is above the greatest once in `BEYOND` runnables, which are drawn anew.

use policy::time::Duration;

use crate::Random;

/// About one in this many runnables has an average execution time above the published maximum:
/// about as many as one system has.
const BEYOND: f64 = 1000.0;

/// Published values of the runnables of one period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Period in milliseconds.
    pub period_ms: u64,
    /// Percent of all runnables.
    pub share: f64,
    /// Average execution time in microseconds: least, mean and greatest of all runnables.
    pub acet_us: [f64; 3],
    /// Best case by average case: least and greatest.
    pub bcet: [f64; 2],
    /// Worst case by average case: least and greatest.
    pub wcet: [f64; 2],
}

/// Tables III, IV and V.
pub const CLASSES: [Class; 9] = [
    class(1, 3.0, [0.34, 5.00, 30.11], [0.19, 0.92], [1.30, 29.11]),
    class(2, 2.0, [0.32, 4.20, 40.69], [0.12, 0.89], [1.54, 19.04]),
    class(5, 2.0, [0.36, 11.04, 83.38], [0.17, 0.94], [1.13, 18.44]),
    class(10, 25.0, [0.21, 10.09, 309.87], [0.05, 0.99], [1.06, 30.03]),
    class(20, 25.0, [0.25, 8.74, 291.42], [0.11, 0.98], [1.06, 15.61]),
    class(50, 3.0, [0.29, 17.56, 92.98], [0.32, 0.95], [1.13, 7.76]),
    class(100, 20.0, [0.21, 10.53, 420.43], [0.09, 0.99], [1.02, 8.88]),
    class(200, 1.0, [0.22, 2.56, 21.95], [0.45, 0.98], [1.03, 4.90]),
    class(1000, 4.0, [0.37, 0.43, 0.46], [0.68, 0.80], [1.84, 4.75]),
];

const fn class(
    period_ms: u64,
    share: f64,
    acet_us: [f64; 3],
    bcet: [f64; 2],
    wcet: [f64; 2],
) -> Class {
    Class { period_ms, share, acet_us, bcet, wcet }
}

/// A runnable: the smallest unit that is scheduled. Tasks consist of many.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Runnable {
    /// Time between two activations.
    pub period: Duration,
    /// Best-case execution time.
    pub bcet: Duration,
    /// Average execution time.
    pub acet: Duration,
    /// Worst-case execution time.
    pub wcet: Duration,
}

/// Draws runnables. Fits the distributions once.
#[derive(Clone, Debug)]
pub struct Automotive {
    fits: [Weibull; CLASSES.len()],
}

impl Default for Automotive {
    fn default() -> Self {
        Self { fits: CLASSES.map(|class| Weibull::fit(class.acet_us)) }
    }
}

impl Automotive {
    /// Returns a runnable of a random period. Times are at least 1 ns, and in their order.
    pub fn sample(&self, random: &mut Random) -> Runnable {
        let index = random.weighted(&CLASSES.map(|class| class.share));
        let class = CLASSES[index];
        let acet = self.fits[index].sample(random);
        let nanos = |us: f64| Duration((us * 1e3) as u64);
        Runnable {
            period: Duration(class.period_ms * 1_000_000),
            bcet: nanos(acet * random.real(class.bcet[0], class.bcet[1])).max(Duration(1)),
            acet: nanos(acet),
            wcet: nanos(acet * random.real(class.wcet[0], class.wcet[1])),
        }
    }
}

impl Automotive {
    /// Returns runnables whose utilisations have the sum `total`, or up to `above` more: drawn one
    /// after the other, without those that would make the sum greater than that. `None` if
    /// `trials` are not enough.
    pub fn set(
        &self,
        random: &mut Random,
        total: f64,
        above: f64,
        trials: u32,
    ) -> Option<Vec<Runnable>> {
        let (mut set, mut sum) = (Vec::new(), 0.0);
        for _ in 0..trials {
            let drawn = self.sample(random);
            let more = drawn.wcet.0 as f64 / drawn.period.0 as f64;
            if sum + more > total + above {
                continue;
            }
            set.push(drawn);
            sum += more;
            if sum >= total {
                return Some(set);
            }
        }
        None
    }
}

/// `start + scale (-ln r)^(1/shape)`, up to `end`.
#[derive(Clone, Copy, Debug)]
struct Weibull {
    start: f64,
    end: f64,
    scale: f64,
    /// `1 / shape`.
    exponent: f64,
}

impl Weibull {
    /// Returns the distribution with this start, mean and rarely reached end.
    fn fit([start, mean, end]: [f64; 3]) -> Self {
        // Mean and end are `scale gamma(1 + 1/shape)` and `scale (ln BEYOND)^(1/shape)`
        // after the start: their ratio grows with 1/shape.
        let gamma = |exponent: f64| libm::tgamma(1.0 + exponent);
        let wanted = (end - start) / (mean - start);
        let (mut low, mut high) = (0.0, 4.0);
        for _ in 0..60 {
            let exponent = (low + high) / 2.0;
            if libm::pow(libm::log(BEYOND), exponent) / gamma(exponent) < wanted {
                low = exponent;
            } else {
                high = exponent;
            }
        }
        Self { start, end, scale: (mean - start) / gamma(low), exponent: low }
    }

    fn sample(&self, random: &mut Random) -> f64 {
        loop {
            let x = -libm::log(1.0 - random.unit());
            let time = self.start + self.scale * libm::pow(x, self.exponent);
            if time <= self.end {
                return time;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runnables_are_as_published() {
        let automotive = Automotive::default();
        let mut random = Random::new(2015, 0);
        let drawn: Vec<_> = (0..200_000).map(|_| automotive.sample(&mut random)).collect();
        for class in CLASSES {
            let period = Duration(class.period_ms * 1_000_000);
            let of_class = || drawn.iter().filter(|runnable| runnable.period == period);
            let count = of_class().count() as f64;
            let share = count / drawn.len() as f64 * 85.0;
            assert!((share / class.share - 1.0).abs() < 0.1, "{class:?}: {share} %");
            let acet = |runnable: &Runnable| runnable.acet.0 as f64 / 1e3;
            let mean = of_class().map(acet).sum::<f64>() / count;
            assert!((mean / class.acet_us[1] - 1.0).abs() < 0.1, "{class:?}: mean {mean} us");
            let range = class.acet_us[0] - 0.001..=class.acet_us[2];
            for runnable in of_class() {
                assert!(range.contains(&acet(runnable)), "{class:?}: {runnable:?}");
                assert!(runnable.bcet <= runnable.acet && runnable.acet <= runnable.wcet);
                let most = (runnable.acet.0 + 1) as f64 * class.wcet[1];
                assert!(runnable.wcet.0 as f64 <= most, "{class:?}: {runnable:?}");
            }
        }
    }

    #[test]
    fn sets_have_the_wanted_utilisation() {
        let automotive = Automotive::default();
        for stream in 0..20 {
            let mut random = Random::new(2015, stream);
            let set = automotive.set(&mut random, 0.7, 0.01, 100_000).expect("a set");
            let utilization = |it: &Runnable| it.wcet.0 as f64 / it.period.0 as f64;
            let sum: f64 = set.iter().map(utilization).sum();
            assert!((0.7 - 1e-9..=0.71 + 1e-9).contains(&sum), "{sum}");
        }
        assert_eq!(automotive.set(&mut Random::new(1, 1), 0.7, 0.01, 3), None);
    }
}
