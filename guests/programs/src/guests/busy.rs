//! `rt-busy`: the neighbour that takes all the processor time that it can get. It touches no memory.
//!
//! Boot arguments: `busy.seconds` (10). With `busy.gap_ns` (0: not), under Linux/KVM, it looks at the clock again and again,
//! and where two looks are further apart than that it puts a mark into the trace: the time of the mark is the second look,
//! and its value the first one, in the lower 40 bits of the clock. So a trace shows when the processor came and went.
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
    #[cfg(target_arch = "x86_64")]
    watch(start, length, arguments::number("busy.gap_ns", 0));
    while counter::now() - start < length {
        cpu::burn(CHUNK);
    }
    println!("busy: done");
}

/// Looks at the clock until the time is over, if there is a `gap` to be found.
#[cfg(target_arch = "x86_64")]
fn watch(start: u64, length: u64, gap: u64) {
    let mut last = start;
    while gap > 0 && last - start < length {
        let now = counter::now();
        if now - last >= gap {
            rt::arch::call::mark(last & ((1 << 40) - 1));
        }
        last = now;
    }
}
