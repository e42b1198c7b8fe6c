//! `rt-supply`: the processor time that a VCPU gets, and the times at which it gets it. Seen from inside.
//!
//! It reads the counter again and again. Where two readings are further apart than `supply.gap_ns`, the
//! VCPU was stopped in between: what lies between two gaps is a burst.
//!
//! Boot arguments: `supply.bursts` (1000), `supply.gap_ns` (20000), `supply.period_ns` (0: unknown),
//! `supply.look` (0): instructions between two readings; emulators read slowly. `supply.skip` (200): bursts before
//! and after those that count, in which VMs print. `supply.attack` (0): if 1, it tries to stop or change the
//! counters of the processor at the start of each burst.
//!
//! ```text
//! supply: start bursts=1000 frequency_hz=62500000
//! supply: bursts=1000 burst_min_ticks=187480 burst_max_ticks=187484 gap_min_ticks=... gap_max_ticks=...
//! supply: first_tick=... start_min_ticks=0 start_max_ticks=2 end_min_ticks=... end_max_ticks=...
//! ```
//!
//! Incomplete bursts do not count. With a period, `start` and `end` say
//! where in it bursts begin and end, from where the first complete one began: between minus and plus
//! half a period. They show drift.

use programs::arch::probe;
use rt::arch::{counter, cpu};
use rt::statistics::Summary;
use rt::time::Clock;
use rt::{arguments, println};

/// Measures and prints.
pub fn main() {
    let bursts = arguments::number("supply.bursts", 1000);
    let clock = Clock::of_machine();
    let least = clock.ticks(arguments::number("supply.gap_ns", 20_000));
    let period = clock.ticks(arguments::number("supply.period_ns", 0));
    let look = arguments::number("supply.look", 0);
    let skip = arguments::number("supply.skip", 200);
    let attack = arguments::number("supply.attack", 0) == 1;
    println!("supply: start bursts={bursts} frequency_hz={}", clock.frequency());

    let [mut lengths, mut gaps, mut starts, mut ends] = [Summary::new(); 4];
    let mut last = counter::now();
    // When the burst began that is complete at the next gap.
    let mut start = None;
    let mut first = None;
    let mut number = 0;
    while number < bursts + 2 * skip {
        if look > 0 {
            cpu::burn(look);
        }
        let now = counter::now();
        if now - last >= least {
            number += 1;
            if let Some(start) = start
                && (skip + 1..=skip + bursts).contains(&number)
            {
                gaps.add(now - last);
                lengths.add(last - start);
                let first = *first.get_or_insert(start);
                if period > 0 {
                    starts.add((start - first + period / 2) % period);
                    ends.add((last - first + period / 2) % period);
                }
            }
            start = Some(now);
            if attack {
                probe::attack_monitors();
            }
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
    let offset = |place: u64| place as i64 - (period / 2) as i64;
    println!(
        "supply: first_tick={} start_min_ticks={} start_max_ticks={} end_min_ticks={} end_max_ticks={}",
        first.unwrap_or(0),
        offset(starts.min()),
        offset(starts.max()),
        offset(ends.min()),
        offset(ends.max())
    );
}
