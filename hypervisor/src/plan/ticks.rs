//! Lengths of time in the plan, in ticks of the system counter.

use super::{Node, Problem, Refusal};

const SECOND: u64 = 1_000_000_000;

/// A counter that makes a number of ticks in a second.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    frequency: u32,
    /// `ticks` ticks are `nanoseconds` nanoseconds; in lowest terms, so that whole ticks are found
    /// by one division.
    ticks: u64,
    nanoseconds: u64,
}

impl Clock {
    pub fn new(frequency: u32) -> Self {
        let divisor = greatest_common_divisor(SECOND, frequency.into());
        let (ticks, nanoseconds) = (u64::from(frequency) / divisor, SECOND / divisor);
        Self { frequency, ticks, nanoseconds }
    }

    /// Ticks of a second.
    pub fn second(self) -> u64 {
        self.frequency.into()
    }

    /// Ticks of a length of time, at most 2^56 ns; rounded down.
    pub fn ticks(self, time: u64) -> u64 {
        time / self.nanoseconds * self.ticks
            + time % self.nanoseconds * self.ticks / self.nanoseconds
    }

    /// The same, rounded up.
    pub fn ticks_up(self, time: u64) -> u64 {
        let more = time % self.nanoseconds * self.ticks % self.nanoseconds;
        self.ticks(time) + u64::from(more != 0)
    }

    /// Ticks of a period, which must be a whole number of them: renewals would drift otherwise.
    pub fn whole<'a>(
        self,
        node: Node<'a>,
        property: &'static str,
        time: u64,
    ) -> Result<u64, Refusal<'a>> {
        if time.is_multiple_of(self.nanoseconds) {
            return Ok(self.ticks(time));
        }
        let good = ((time + self.nanoseconds / 2) / self.nanoseconds).max(1) * self.nanoseconds;
        Err(node.error(property, Problem::Ticks(time, self.frequency.into(), good)))
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
