//! `rt-beacon`: prints a numbered line in an exact rhythm, to show that it goes on undisturbed.
//!
//! Boot arguments: `beacon.lines` (200), `beacon.ms` (10).
//!
//! ```text
//! beacon: 1 late_max_ns=96
//! beacon: 2 late_max_ns=96
//! beacon: done
//! ```
//!
//! `late_max_ns` is the largest delay so far from the programmed time to the handler.

use rt::rhythm;
use rt::time::Clock;
use rt::{arguments, println};

/// Prints the lines.
pub fn main() {
    let lines = arguments::number("beacon.lines", 200);
    let milliseconds = arguments::number("beacon.ms", 10);
    let clock = Clock::of_machine();
    rhythm::start(clock.ticks(milliseconds * 1_000_000));
    for line in 1..=lines {
        let late = rhythm::wait_for(line).late;
        println!("beacon: {line} late_max_ns={}", clock.nanoseconds(late.max()));
    }
    rhythm::stop();
    println!("beacon: done");
}
