//! The memory bus: one server that moves one line at a time, first come first served.

/// Slots that are remembered. Requests of CPUs whose clocks lie further apart
/// than this do not see each other.
const WINDOW: u64 = 4096;

/// A bus on which every transfer occupies a slot of fixed length.
///
/// CPUs are simulated one after the other, so requests do not come in the order
/// of their times. The bus therefore is a calendar: a request takes the first
/// slot at or after its time that is free or promised to a *later* request. That
/// one moves to the next slot in the same way, and its CPU is told afterwards
/// how much longer it had to wait ([`Bus::take_delay`]). So in any interval the
/// bus moves at most one line per slot, and no CPU is ahead of others because it
/// is simulated first.
#[derive(Clone, Debug)]
pub struct Bus {
    occupancy: u64,
    /// Slot n is in entry n % WINDOW.
    calendar: Box<[Entry]>,
    /// Lines moved on behalf of each CPU.
    moved: Box<[u64]>,
    /// What CPUs waited longer than they were told, in cycles.
    delays: Box<[u64]>,
}

/// A slot that is taken.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Number of the slot plus 1; anything else: this slot is free.
    slot: u64,
    request: Transfer,
}

/// A line to be moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transfer {
    /// Time of the request, in cycles.
    pub now: u64,
    /// CPU on whose behalf it is moved.
    pub cpu: u8,
    /// Whether that CPU waits for it; nobody waits for lines on their way to memory.
    pub waits: bool,
}

impl Bus {
    /// A bus that needs `occupancy` cycles for a line; with 0 it never makes
    /// anyone wait.
    pub fn new(occupancy: u64, cpus: usize) -> Self {
        Self {
            occupancy,
            calendar: vec![Entry::default(); WINDOW as usize].into(),
            moved: vec![0; cpus].into(),
            delays: vec![0; cpus].into(),
        }
    }

    /// Moves a line. Returns how many cycles the request waits for the bus.
    pub fn transfer(&mut self, request: Transfer) -> u64 {
        self.moved[usize::from(request.cpu)] += 1;
        if self.occupancy == 0 {
            return 0;
        }
        let now = request.now;
        let first = now / self.occupancy;
        let end = first + WINDOW;
        let mut found = None;
        let mut moved = request;
        let mut from = 0;
        for slot in first..end {
            let entry = &mut self.calendar[(slot % WINDOW) as usize];
            let taken = entry.slot == slot + 1;
            if taken && entry.request.now <= moved.now {
                continue;
            }
            let displaced = entry.request;
            *entry = Entry { slot: slot + 1, request: moved };
            if found.is_none() {
                found = Some(slot);
            } else {
                self.delay(moved, slot - from);
            }
            if !taken {
                break;
            }
            (moved, from) = (displaced, slot);
        }
        (found.unwrap_or(end) * self.occupancy).saturating_sub(now)
    }

    /// What a CPU waited longer than it was told, since it was last asked, in cycles.
    #[inline]
    pub fn take_delay(&mut self, cpu: usize) -> u64 {
        let delay = self.delays[cpu];
        // Mostly there is none: no need to write.
        if delay > 0 {
            self.delays[cpu] = 0;
        }
        delay
    }

    /// Lines moved so far.
    pub fn transfers(&self) -> u64 {
        self.moved.iter().sum()
    }

    /// Lines moved so far on behalf of a CPU, to it and back.
    #[inline]
    pub fn moved(&self, cpu: usize) -> u64 {
        self.moved[cpu]
    }

    /// Cycles during which the bus was in use.
    pub fn busy(&self) -> u64 {
        self.transfers() * self.occupancy
    }

    fn delay(&mut self, request: Transfer, slots: u64) {
        if request.waits {
            self.delays[usize::from(request.cpu)] += slots * self.occupancy;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(now: u64, cpu: u8) -> Transfer {
        Transfer { now, cpu, waits: true }
    }

    #[test]
    fn an_idle_bus_does_not_make_wait() {
        let mut bus = Bus::new(10, 1);
        assert_eq!(bus.transfer(load(3, 0)), 0);
        assert_eq!(bus.transfer(load(1_000_007, 0)), 0);
        assert_eq!((bus.transfers(), bus.busy(), bus.take_delay(0)), (2, 20, 0));
    }

    #[test]
    fn requests_at_one_time_queue() {
        let mut bus = Bus::new(10, 4);
        assert_eq!([0, 1, 2, 3].map(|cpu| bus.transfer(load(100, cpu))), [0, 10, 20, 30]);
        assert_eq!([0, 1, 2, 3].map(|cpu| bus.take_delay(cpu)), [0; 4]);
        assert_eq!(([0, 1, 2, 3].map(|cpu| bus.moved(cpu)), bus.transfers()), ([1; 4], 4));
    }

    #[test]
    fn an_earlier_request_goes_first_though_it_comes_later() {
        let mut bus = Bus::new(10, 3);
        // CPU 0 at 20, 30 and 50, then CPU 1 at 20 (a tie: it came later) and at
        // 25, both of which are before 30 and 50.
        assert_eq!([20, 30, 50].map(|now| bus.transfer(load(now, 0))), [0; 3]);
        assert_eq!(bus.transfer(load(20, 1)), 10);
        assert_eq!(bus.take_delay(0), 10, "30 moved to 40");
        assert_eq!(bus.transfer(load(25, 1)), 15);
        assert_eq!(bus.take_delay(0), 10 + 10, "from 40 to 50, and 50 to 60");
        assert_eq!((bus.take_delay(0), bus.take_delay(1)), (0, 0));
    }

    #[test]
    fn nobody_waits_for_lines_on_their_way_to_memory_that_move() {
        let mut bus = Bus::new(10, 1);
        assert_eq!(bus.transfer(Transfer { now: 15, cpu: 0, waits: false }), 0);
        assert_eq!(bus.transfer(load(12, 0)), 0);
        assert_eq!(bus.transfer(load(21, 0)), 9, "the line of 15 is in the slot of 20");
        assert_eq!(bus.take_delay(0), 0);
    }

    #[test]
    fn bandwidth_is_bounded_in_every_order() {
        let mut bus = Bus::new(8, 1);
        let mut waited = 0;
        for request in 0..3000_u64 {
            waited += bus.transfer(load(request * 37 % 1000, 0));
        }
        waited += bus.take_delay(0);
        // 3000 slots from 0; requests at 0 to 999, three of each.
        let slots: u64 = (0..3000).map(|slot| slot * 8).sum();
        let requests: u64 = (0..1000).map(|now| now * 3).sum();
        assert!(waited >= slots - requests && waited < slots - requests + 3000 * 8, "{waited}");
    }

    #[test]
    fn without_occupancy_there_is_no_waiting() {
        let mut bus = Bus::new(0, 1);
        assert_eq!([5; 3].map(|now| bus.transfer(load(now, 0))), [0; 3]);
    }
}
