//! `rt-supply`: how much processor time does a VCPU get, and when? Seen from inside.
//!
//! It reads the counter without pause. Where two readings are further apart than `supply.gap_ns`, the
//! VCPU was stopped in between: what lies between two gaps is a burst.
//!
//! Boot arguments: `supply.bursts` (1000), `supply.gap_ns` (20000), `supply.period_ns` (0: unknown).
//!
//! ```text
//! supply: start bursts=1000 frequency_hz=62500000
//! supply: bursts=1000 burst_min_ticks=187480 burst_max_ticks=187484 gap_min_ticks=... gap_max_ticks=...
//! supply: first_tick=... drift_min_ticks=0 drift_max_ticks=2
//! ```
//!
//! Incomplete bursts, the first and the last one, do not count. With a period, `drift` is how much
//! later than that of the first complete burst each one began, apart from whole periods.

use crate::arch::counter;
use crate::statistics::Summary;
use crate::time::Clock;
use crate::{arguments, println};

/// Measures and prints.
pub fn main() {
    let bursts = arguments::number("supply.bursts", 1000);
    let clock = Clock::of_machine();
    let least = clock.ticks(arguments::number("supply.gap_ns", 20_000));
    let period = clock.ticks(arguments::number("supply.period_ns", 0));
    println!("supply: start bursts={bursts} frequency_hz={}", clock.frequency());

    let (mut lengths, mut gaps, mut drift) = (Summary::new(), Summary::new(), Summary::new());
    let mut last = counter::now();
    // When the burst began that is complete at the next gap.
    let mut start = None;
    let mut first = None;
    while lengths.count() < bursts {
        let now = counter::now();
        if now - last >= least {
            gaps.add(now - last);
            if let Some(start) = start {
                lengths.add(last - start);
                let first = *first.get_or_insert(start);
                if period > 0 {
                    drift.add((start - first + period / 2) % period);
                }
            }
            start = Some(now);
        }
        last = now;
    }
    println!(
        "supply: bursts={} burst_min_ticks={} burst_max_ticks={} gap_min_ticks={} gap_max_ticks={}",
        lengths.count(),
        lengths.min(),
        lengths.max(),
        gaps.min(),
        gaps.max()
    );
    println!(
        "supply: first_tick={} drift_min_ticks={} drift_max_ticks={}",
        first.unwrap_or(0),
        drift.min() as i64 - (period / 2) as i64,
        drift.max() as i64 - (period / 2) as i64
    );
}
