//! `rt-periods`: how exact are the interrupts of a timer that is set to absolute times?
//!
//! Boot arguments: `periods.releases` (1000), `periods.us` (1000).
//!
//! ```text
//! periods: start releases=1000 period_ticks=62500 frequency_hz=62500000
//! periods: releases=1000 period_ticks=62500 late_min_ticks=6 late_max_ticks=6 jitter_ticks=0 drift_ticks=0
//! ```
//!
//! `late` is the time read in the handler minus the time programmed, `jitter` its largest minus its
//! smallest value, `drift` how much later the last interrupt was than the least late one: with
//! absolute times it stays below the jitter, however many periods pass.

use rt::rhythm;
use rt::time::Clock;
use rt::{arguments, println};

/// Measures and prints.
pub fn main() {
    let releases = arguments::number("periods.releases", 1000);
    let microseconds = arguments::number("periods.us", 1000);
    let clock = Clock::of_machine();
    let period = clock.ticks(microseconds * 1000);
    println!(
        "periods: start releases={releases} period_ticks={period} frequency_hz={}",
        clock.frequency()
    );
    rhythm::start(period);
    let beats = rhythm::wait_for(releases);
    rhythm::stop();
    println!(
        "periods: releases={} period_ticks={period} late_min_ticks={} late_max_ticks={} \
         jitter_ticks={} drift_ticks={}",
        beats.count,
        beats.late.min(),
        beats.late.max(),
        beats.late.spread(),
        beats.last.saturating_sub(beats.count * period + beats.late.min()),
    );
}
