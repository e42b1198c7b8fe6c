//! The memory bus: one server that moves one line at a time.

/// Slots that are remembered. Requests of CPUs whose clocks lie further apart
/// than this do not see each other.
const WINDOW: usize = 4096;

/// A bus on which every transfer occupies a slot of fixed length.
///
/// CPUs are simulated one after the other, so requests do not come in the order
/// of their times. The bus therefore is a calendar: a request takes the first
/// slot at or after its time that nobody has taken. In any interval it moves at
/// most one line per slot, whoever asks.
#[derive(Clone, Debug)]
pub struct Bus {
    occupancy: u64,
    /// Entry `slot % WINDOW` is `slot + 1` if that slot is taken.
    taken: Box<[u64]>,
    transfers: u64,
}

impl Bus {
    /// A bus that needs `occupancy` cycles for a line; with 0 it never makes
    /// anyone wait.
    pub fn new(occupancy: u64) -> Self {
        Self { occupancy, taken: vec![0; WINDOW].into(), transfers: 0 }
    }

    /// Moves a line, asked for at time `now` (cycles). Returns how many cycles
    /// the request waits for the bus.
    pub fn transfer(&mut self, now: u64) -> u64 {
        self.transfers += 1;
        if self.occupancy == 0 {
            return 0;
        }
        let first = now / self.occupancy;
        let free = (first..first + WINDOW as u64)
            .find(|&slot| self.taken[slot as usize % WINDOW] != slot + 1)
            .unwrap_or(first + WINDOW as u64);
        self.taken[free as usize % WINDOW] = free + 1;
        (free * self.occupancy).saturating_sub(now)
    }

    /// Lines moved so far.
    pub fn transfers(&self) -> u64 {
        self.transfers
    }

    /// Cycles during which the bus was in use.
    pub fn busy(&self) -> u64 {
        self.transfers * self.occupancy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_bus_does_not_make_wait() {
        let mut bus = Bus::new(10);
        assert_eq!(bus.transfer(3), 0);
        assert_eq!(bus.transfer(1_000_007), 0);
        assert_eq!((bus.transfers(), bus.busy()), (2, 20));
    }

    #[test]
    fn requests_at_one_time_queue() {
        let mut bus = Bus::new(10);
        assert_eq!([0; 4].map(|_| bus.transfer(100)), [0, 10, 20, 30]);
    }

    #[test]
    fn a_late_comer_with_an_early_clock_takes_a_gap() {
        let mut bus = Bus::new(10);
        // One CPU at 0, 20, 40; then another, simulated later, at 0: slot 1 is free.
        assert_eq!([0, 20, 40].map(|now| bus.transfer(now)), [0; 3]);
        assert_eq!(bus.transfer(0), 10);
        assert_eq!(bus.transfer(0), 30);
        assert_eq!(bus.transfer(0), 50);
    }

    #[test]
    fn bandwidth_is_bounded_in_every_order() {
        let mut bus = Bus::new(8);
        let mut last = 0;
        for request in 0..3000_u64 {
            let now = request * 37 % 1000;
            last = last.max(now + bus.transfer(now));
        }
        // 3000 transfers that begin at different times, none before 0.
        assert!(last >= 2999 * 8, "{last}");
    }

    #[test]
    fn without_occupancy_there_is_no_waiting() {
        let mut bus = Bus::new(0);
        assert_eq!([5; 3].map(|now| bus.transfer(now)), [0; 3]);
    }
}
