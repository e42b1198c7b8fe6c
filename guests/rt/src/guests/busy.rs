//! `rt-busy`: the neighbour that takes all the processor time that it can get. It touches no memory.
//!
//! Boot arguments: `busy.seconds` (10).
//!
//! ```text
//! busy: start seconds=10
//! busy: done
//! ```

use rt::arch::{counter, cpu};
use rt::time::Clock;
use rt::{arguments, println};

/// Instructions between two looks at the time.
const CHUNK: u64 = 1_000_000;

/// Is busy.
pub fn main() {
    let seconds = arguments::number("busy.seconds", 10);
    println!("busy: start seconds={seconds}");
    let length = seconds.saturating_mul(Clock::of_machine().frequency());
    let start = counter::now();
    while counter::now() - start < length {
        cpu::burn(CHUNK);
    }
    println!("busy: done");
}
