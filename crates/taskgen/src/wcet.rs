//! Execution times as functions of the cache size.
//!
//! The miss ratio is the model of Thiebaut, Wolf and Stone ("Synthetic traces for
//! trace-driven simulation of cache memories", IEEE ToC 41(4), 1992), made into
//! execution times as by Bui, Caccamo, Sha and Martinez ("Impact of cache partitioning
//! on multi-tasking real time embedded systems", RTCSA 2008):
//!
//! ```text
//! m(S) = min(1, A^theta / theta * S^(1 - theta))         miss ratio with S KiB of cache
//! C(S) = N (hit + m(min(S, memory)) (miss - hit))        execution time of N accesses
//! W    = A N^(1/theta) lines of 64 bytes, at most memory the working set
//! ```
//!
//! Neither paper says in which unit the cache size enters, but the results do that
//! vCache's Table 3 prints: with KiB, `A = 16`, `theta = 3`, `N = 10^5` and one colour
//! (64 KiB) one miss in three gives 8.47 ms, the published least execution time; with
//! `A = 64`, `theta = 1.5` and `N = 10^6` the working set of 640,000 lines is the
//! published greatest one (40 MB); and `N = 10^6` misses of 202 ns the published greatest
//! execution time but for 0.01 %.

use policy::time::Duration;

/// Bytes of a cache line.
const LINE: u64 = 64;

/// Time of an access.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Latencies {
    /// An access that finds its line in the cache.
    pub hit: Duration,
    /// An access that misses.
    pub miss: Duration,
}

/// The memory use of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Program {
    /// Memory accesses of one job: `N`.
    pub accesses: u64,
    /// Size of a neighbourhood: `A`.
    pub neighborhood: f64,
    /// Locality: `theta`, above 1.
    pub locality: f64,
    /// Memory that it uses, in bytes.
    pub memory: u64,
}

impl Program {
    /// Returns the part of the accesses that miss with this much cache: `m`.
    pub fn miss_ratio(&self, cache_bytes: u64) -> f64 {
        let (a, theta) = (self.neighborhood, self.locality);
        let kib = cache_bytes.min(self.memory) as f64 / 1024.0;
        (libm::pow(a, theta) / theta * libm::pow(kib, 1.0 - theta)).clamp(0.0, 1.0)
    }

    /// Returns the execution time of a job with this much cache: `C`. More cache never takes
    /// longer.
    pub fn wcet(&self, latencies: Latencies, cache_bytes: u64) -> Duration {
        let misses = libm::ceil(self.accesses as f64 * self.miss_ratio(cache_bytes)) as u64;
        let misses = misses.min(self.accesses);
        let hits = self.accesses - misses;
        let times = hits.saturating_mul(latencies.hit.0);
        Duration(times.saturating_add(misses.saturating_mul(latencies.miss.0)))
    }

    /// Bytes that a job touches: `W`.
    pub fn working_set(&self) -> u64 {
        let lines = self.neighborhood * libm::pow(self.accesses as f64, 1.0 / self.locality);
        (libm::ceil(lines) as u64).saturating_mul(LINE).min(self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCIES: Latencies = Latencies { hit: Duration(26), miss: Duration(202) };
    const COLOR: u64 = 64 << 10;
    const SMALLEST: Program =
        Program { accesses: 100_000, neighborhood: 16.0, locality: 3.0, memory: 8 << 20 };
    const LARGEST: Program =
        Program { accesses: 1_000_000, neighborhood: 64.0, locality: 1.5, memory: 40 << 20 };

    /// vCache, Table 3, "resulting WCET" and "resulting working-set size".
    #[test]
    fn the_ends_of_the_published_ranges() {
        let ms = |time: Duration| time.0 as f64 / 1e6;
        assert_eq!(format!("{:.2}", ms(SMALLEST.wcet(LATENCIES, COLOR))), "8.47");
        assert!((ms(LARGEST.wcet(LATENCIES, COLOR)) / 202.02 - 1.0).abs() < 2e-4);
        assert_eq!(SMALLEST.working_set().div_ceil(COLOR), 1);
        assert!((LARGEST.working_set() as f64 / 40e6 - 1.0).abs() < 0.05);
    }

    #[test]
    fn more_cache_never_takes_longer() {
        let programs = [SMALLEST, LARGEST, Program { locality: 2.0, ..SMALLEST }];
        for program in programs {
            let times: Vec<_> = (1..=1000).map(|k| program.wcet(LATENCIES, k * COLOR)).collect();
            assert!(times.is_sorted_by(|a, b| a >= b), "{program:?}");
            // Once all of its memory fits, more is of no use.
            let fits = program.memory.div_ceil(COLOR) as usize;
            assert_eq!(times[fits - 1], times[999]);
        }
        assert!(SMALLEST.wcet(LATENCIES, 32 * COLOR) < SMALLEST.wcet(LATENCIES, COLOR));
    }
}
