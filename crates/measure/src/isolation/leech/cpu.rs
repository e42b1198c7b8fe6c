//! Takes the CPU.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::{ROUND, Take};

/// Random numbers of a part.
const NUMBERS: u32 = 20_000;

/// Searches the largest of many random numbers.
pub struct Cpu {
    random: fastrand::Rng,
    largest: u64,
    since: Option<Duration>,
}

impl Cpu {
    /// Ready.
    pub fn new() -> Self {
        Self { random: fastrand::Rng::with_seed(1), largest: 0, since: None }
    }
}

impl Take for Cpu {
    fn take(&mut self) -> Result<bool, String> {
        let since = *self.since.get_or_insert_with(own_time);
        for _ in 0..NUMBERS {
            self.largest = self.largest.max(self.random.u64(..));
        }
        black_box(self.largest);
        let over = own_time().saturating_sub(since) >= ROUND;
        if over {
            self.since = None;
        }
        Ok(over)
    }
}

/// Time of a CPU that this thread has had.
fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
