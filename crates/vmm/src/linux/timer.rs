//! A timer of type 8254: three counters of 1.193182 MHz, of which the first one interrupts. What Linux uses of it.

/// Ticks in a second.
const FREQUENCY_HZ: u128 = 1_193_182;
const SECOND_NS: u128 = 1_000_000_000;

/// The timer.
#[derive(Debug, Default)]
pub struct Timer {
    counters: [Counter; 3],
    /// The third counter counts only with its gate, which is a bit of another port.
    gate: bool,
}

#[derive(Debug, Default)]
struct Counter {
    /// 2 and 3 repeat; all others count down once.
    mode: u8,
    /// The bytes of a value that are written and read: 1 the low one, 2 the high one, 3 both.
    bytes: u8,
    /// The low byte of two was written.
    low: Option<u8>,
    /// The high byte of two comes next.
    reads_high: bool,
    latched: Option<u16>,
    /// The time in nanoseconds at which it began to count, and from which number.
    counts: Option<(u64, u32)>,
    /// Number of its ends that were taken.
    taken: u64,
}

/// Returns the ticks in some nanoseconds.
fn ticks(ns: u64) -> u64 {
    (u128::from(ns) * FREQUENCY_HZ / SECOND_NS) as u64
}

/// Returns the nanoseconds after which there were so many ticks.
fn nanoseconds(ticks: u64) -> u64 {
    (u128::from(ticks) * SECOND_NS).div_ceil(FREQUENCY_HZ) as u64
}

impl Counter {
    fn repeats(&self) -> bool {
        matches!(self.mode & 3, 2 | 3)
    }

    /// Returns the number of times that it has counted to its end.
    fn ends(&self, now: u64) -> u64 {
        let Some((since, from)) = self.counts else { return 0 };
        let ends = ticks(now.saturating_sub(since)) / u64::from(from);
        if self.repeats() { ends } else { ends.min(1) }
    }

    /// Returns the time of the next end that was not taken.
    fn next_end(&self) -> Option<u64> {
        let (since, from) = self.counts?;
        if !self.repeats() && self.taken > 0 {
            return None;
        }
        let ticks = u64::from(from).saturating_mul(self.taken.saturating_add(1));
        Some(since.saturating_add(nanoseconds(ticks)))
    }

    fn value(&self, now: u64) -> u16 {
        let Some((since, from)) = self.counts else { return 0 };
        let (ticks, from) = (ticks(now.saturating_sub(since)), u64::from(from));
        match self.repeats() {
            true => (from - ticks % from) as u16,
            false => from.wrapping_sub(ticks) as u16,
        }
    }

    fn set(&mut self, value: u16, now: u64) {
        // 0 is the largest number.
        let from = if value == 0 { 1 << 16 } else { u32::from(value) };
        (self.counts, self.taken) = (Some((now, from)), 0);
    }

    fn write(&mut self, value: u8, now: u64) {
        match (self.bytes, self.low.take()) {
            (1, _) => self.set(value.into(), now),
            (2, _) => self.set(u16::from(value) << 8, now),
            (_, None) => self.low = Some(value),
            (_, Some(low)) => self.set(u16::from_le_bytes([low, value]), now),
        }
    }

    fn read(&mut self, now: u64) -> u8 {
        let [low, high] = self.latched.unwrap_or_else(|| self.value(now)).to_le_bytes();
        let is_high = self.bytes == 2 || self.reads_high;
        self.reads_high = self.bytes == 3 && !self.reads_high;
        if !self.reads_high {
            self.latched = None;
        }
        if is_high { high } else { low }
    }
}

impl Timer {
    /// Returns true if the first counter has come to an end since the last call.
    pub fn take_ends(&mut self, now: u64) -> bool {
        let counter = &mut self.counters[0];
        let ends = counter.ends(now);
        std::mem::replace(&mut counter.taken, ends) != ends
    }

    /// Returns the time at which the first counter comes to its next end.
    pub fn next_end(&self) -> Option<u64> {
        self.counters[0].next_end()
    }

    /// Writes the value of a counter (0 to 2), or the command (3).
    pub fn write(&mut self, port: u8, value: u8, now: u64) {
        let number = usize::from(if port == 3 { value >> 6 } else { port });
        // 3 is the command to read back, which Linux does not use.
        let Some(counter) = self.counters.get_mut(number) else { return };
        match (port, value >> 4 & 3) {
            (3, 0) => counter.latched = counter.latched.or(Some(counter.value(now))),
            (3, bytes) => {
                *counter = Counter { mode: value >> 1 & 7, bytes, ..Counter::default() };
            }
            _ => counter.write(value, now),
        }
    }

    /// Reads the value of a counter (0 to 2).
    pub fn read(&mut self, port: u8, now: u64) -> u8 {
        self.counters.get_mut(usize::from(port)).map_or(0xff, |counter| counter.read(now))
    }

    /// Sets the gate of the third counter, which starts again when the gate opens.
    pub fn set_gate(&mut self, gate: bool, now: u64) {
        if gate
            && !std::mem::replace(&mut self.gate, gate)
            && let Some((_, from)) = self.counters[2].counts
        {
            self.counters[2].set(from as u16, now);
        }
        self.gate = gate;
    }

    /// Returns the gate of the third counter, and whether it has come to its end.
    pub fn third(&self, now: u64) -> (bool, bool) {
        (self.gate, self.gate && self.counters[2].ends(now) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_counter_that_counts_once_ends_once() {
        let mut timer = Timer::default();
        assert!(timer.next_end().is_none() && !timer.take_ends(5 * MS));
        timer.write(3, 0x38, MS);
        timer.write(0, 0xa9, MS);
        assert_eq!(timer.next_end(), None, "one byte is missing");
        timer.write(0, 0x04, MS);
        // 1,193 ticks are a millisecond.
        let end = timer.next_end().expect("it counts");
        assert!(end.abs_diff(2 * MS) < 1_000, "{end}");
        assert!(!timer.take_ends(end - 1) && timer.take_ends(end) && !timer.take_ends(9 * MS));
        assert_eq!(timer.next_end(), None);
    }

    #[test]
    fn a_counter_that_repeats_ends_again_and_again() {
        let mut timer = Timer::default();
        timer.write(3, 0x34, 0);
        timer.write(0, 0xa9, 0);
        timer.write(0, 0x04, 0);
        let mut times = Vec::new();
        for _ in 0..1_000 {
            let end = timer.next_end().expect("it counts");
            assert!(!timer.take_ends(end - 1) && timer.take_ends(end));
            times.push(end);
        }
        // No tick gets lost: 1,193,000 of 1,193,182 Hz.
        assert_eq!(times[999], nanoseconds(1_193_000));
        // Some ends at once are one interrupt.
        assert!(timer.take_ends(times[999] + 10 * MS) && !timer.take_ends(times[999] + 10 * MS));
    }

    #[test]
    fn values_are_read_low_byte_first() {
        let mut timer = Timer::default();
        timer.write(3, 0x34, 0);
        timer.write(0, 0, 0);
        timer.write(0, 0x10, 0);
        let now = nanoseconds(0x1234 - 0x1000);
        timer.write(3, 0x00, now);
        let read = [0; 2].map(|_| timer.read(0, 9 * MS));
        assert_eq!(u16::from_le_bytes(read), 0x1000 - 0x234);
        let read = [0; 2].map(|_| timer.read(0, now));
        assert_eq!(u16::from_le_bytes(read), 0x1000 - 0x234);
        assert_eq!(timer.read(3, now), 0xff);
    }

    #[test]
    fn the_third_counter_waits_for_its_gate() {
        let mut timer = Timer::default();
        timer.write(3, 0xb0, 0);
        timer.write(2, 0xff, 0);
        timer.write(2, 0, 0);
        assert_eq!(timer.next_end(), None, "it does not interrupt");
        assert_eq!(timer.third(MS), (false, false));
        timer.set_gate(true, 2 * MS);
        let end = 2 * MS + nanoseconds(0xff);
        assert_eq!((timer.third(end - 1), timer.third(end)), ((true, false), (true, true)));
    }
}
