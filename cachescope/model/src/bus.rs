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
    /// Requests so far, for which there was a bus.
    requests: u64,
    /// Slot n is in entry n % WINDOW.
    calendar: Box<[Entry]>,
    /// Lines moved on behalf of each CPU.
    moved: Box<[u64]>,
    /// The time that CPUs waited longer than they were told.
    delays: Box<[Delay]>,
}

/// The time that a CPU waited longer than it was told.
#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    cycles: u64,
    /// The request that moved others last, and by how many slots those of this CPU at most.
    cause: u64,
    slots: u64,
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
    /// True if that CPU waits for it; no CPU waits for lines on their way to memory.
    pub waits: bool,
}

impl Bus {
    /// A bus that needs `occupancy` cycles for a line; with 0 it makes no
    /// CPU wait.
    pub fn new(occupancy: u64, cpus: usize) -> Self {
        Self {
            occupancy,
            calendar: vec![Entry::default(); WINDOW as usize].into(),
            moved: vec![0; cpus].into(),
            delays: vec![Delay::default(); cpus].into(),
            requests: 0,
        }
    }

    /// Moves a line. Returns the number of cycles that the request waits for the bus.
    pub fn transfer(&mut self, request: Transfer) -> u64 {
        self.moved[usize::from(request.cpu)] += 1;
        if self.occupancy == 0 {
            return 0;
        }
        self.requests += 1;
        let now = request.now;
        let first = now / self.occupancy;
        let end = first + WINDOW;
        let mut found = None;
        let mut moved = request;
        let mut from = 0;
        for slot in first..end {
            let entry = &mut self.calendar[(slot % WINDOW) as usize];
            let taken = entry.slot == slot + 1;
            // Of two at one time the one that is in the calendar goes first.
            let before =
                entry.request.now < moved.now || entry.request.now == moved.now && found.is_none();
            if taken && before {
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
            moved.now = self.postponed(moved, (slot + 1) * self.occupancy);
        }
        (found.unwrap_or(end) * self.occupancy).saturating_sub(now)
    }

    /// The time that a CPU waited longer than it was told, since it was last asked, in cycles.
    #[inline]
    pub fn take_delay(&mut self, cpu: usize) -> u64 {
        let delay = self.delays[cpu].cycles;
        // Mostly there is none: no need to write.
        if delay > 0 {
            self.delays[cpu].cycles = 0;
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

    /// The time of a request that has to move to a slot at `end` or later: its CPU comes to it later
    /// if what moves already makes that CPU late.
    fn postponed(&self, request: Transfer, end: u64) -> u64 {
        let delay = self.delays[usize::from(request.cpu)];
        if !request.waits || delay.cause != self.requests {
            return request.now;
        }
        request.now.max(end.min(request.now + delay.slots * self.occupancy))
    }

    /// A request moves by this many slots. If several of one CPU move for one and the same cause,
    /// all of them are late by what the first is late, and no more.
    fn delay(&mut self, request: Transfer, slots: u64) {
        if !request.waits {
            return;
        }
        let delay = &mut self.delays[usize::from(request.cpu)];
        if delay.cause != self.requests {
            (delay.cause, delay.slots) = (self.requests, 0);
        }
        let more = slots.saturating_sub(delay.slots);
        delay.slots += more;
        delay.cycles += more * self.occupancy;
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
        // From 40 to 50; so the CPU asks for what was at 50 at 60, where it is now.
        assert_eq!(bus.take_delay(0), 10);
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
        for request in 0..3000_u64 {
            let now = request * 37 % 1000;
            bus.transfer(Transfer { now, cpu: 0, waits: false });
        }
        // Whatever comes after them finds 3000 slots taken, without a gap.
        assert_eq!(bus.transfer(load(1000, 0)), 3000 * 8 - 1000);
    }

    #[test]
    fn what_one_request_moves_makes_a_cpu_late_once() {
        let mut bus = Bus::new(10, 2);
        assert_eq!([10, 20, 30, 50, 60].map(|now| bus.transfer(load(now, 0))), [0; 5]);
        assert_eq!(bus.transfer(load(15, 1)), 5);
        assert_eq!(bus.take_delay(0), 10, "20 to 30 and 30 to 40");
        assert_eq!(bus.transfer(load(15, 1)), 15);
        assert_eq!(bus.take_delay(0), 10, "each to the next, 60 to 70");
    }

    #[test]
    fn without_occupancy_there_is_no_waiting() {
        let mut bus = Bus::new(0, 1);
        assert_eq!([5; 3].map(|now| bus.transfer(load(now, 0))), [0; 3]);
    }
}
