//! Keeps the clocks of CPUs together that are simulated one after the other.

/// QEMU runs one CPU for a slice, then the next. Slices are to end when a CPU's
/// clock (with all that it waited for memory) is a quantum ahead of where the
/// slowest was as the round began, and no other was further: so a CPU that waits much executes less in the same time, and
/// what CPUs do at nearly the same time meets in the caches and on the bus.
#[derive(Clone, Debug)]
pub struct Pace {
    quantum: u64,
    current: usize,
    /// The slice was asked to end: the next block begins a new one.
    ending: bool,
    /// CPUs that ran in this round and in the one before, one bit each.
    ran: u64,
    ran_before: u64,
    /// Time at which the round began, and at which its slices end.
    base: u64,
    horizon: u64,
}

/// The effect of a new block on the order of CPUs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Turn {
    /// The CPU was asleep and wakes up at this time.
    pub wakes_at: Option<u64>,
    /// Its slice is over after this block.
    pub ends: bool,
}

impl Pace {
    /// Slices of `quantum` cycles; 0: slices are as long as QEMU makes them.
    pub fn new(quantum: u64) -> Self {
        let horizon = if quantum == 0 { u64::MAX } else { quantum };
        Self { quantum, current: 0, ending: false, ran: 1, ran_before: !0, base: 0, horizon }
    }

    /// A CPU begins a block at its time `now`; `clock` tells the time of any CPU.
    #[inline]
    pub fn enter(&mut self, cpu: usize, now: u64, clock: impl Fn(usize) -> u64) -> Turn {
        let mut wakes_at = None;
        if cpu != self.current || self.ending {
            wakes_at = self.switch(cpu, clock);
        }
        self.ending = now.max(wakes_at.unwrap_or(0)) >= self.horizon;
        Turn { wakes_at, ends: self.ending }
    }

    /// All CPUs sleep until a time: the CPU that begins the next block wakes up then, or later.
    pub fn idle_until(&mut self, time: u64) {
        self.base = self.base.max(time);
        if self.quantum > 0 {
            self.horizon = self.base.saturating_add(self.quantum);
        }
        (self.ran, self.ran_before) = (0, 0);
        self.ending = true;
    }

    #[cold]
    fn switch(&mut self, cpu: usize, clock: impl Fn(usize) -> u64) -> Option<u64> {
        if cpu <= self.current {
            let ran = self.ran;
            let mut fastest = 0;
            let clocks = (0..64).filter(|cpu| ran >> cpu & 1 == 1).map(clock);
            let slowest = clocks.inspect(|&now| fastest = fastest.max(now)).min();
            self.base = self.base.max(slowest.unwrap_or(0));
            if self.quantum > 0 {
                // Each slice has a block at least, which may take longer than a quantum: the
                // others go on until they have caught up.
                self.horizon = self.base.saturating_add(self.quantum).max(fastest);
            }
            self.ran_before = ran;
            self.ran = 0;
        }
        self.current = cpu;
        let slept = self.ran_before >> cpu & 1 == 0;
        self.ran |= 1 << cpu;
        slept.then_some(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs CPUs in turn as QEMU does; in each block CPU i spends `cost[i]`
    /// cycles, 0 is a CPU that sleeps.
    fn run(pace: &mut Pace, clocks: &mut [u64], cost: &[u64], rounds: usize) {
        for _ in 0..rounds {
            for cpu in 0..clocks.len() {
                if cost[cpu] == 0 {
                    continue;
                }
                loop {
                    let turn = pace.enter(cpu, clocks[cpu], |cpu| clocks[cpu]);
                    if let Some(time) = turn.wakes_at {
                        clocks[cpu] = clocks[cpu].max(time);
                    }
                    clocks[cpu] += cost[cpu];
                    if turn.ends {
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn clocks_stay_together_whatever_blocks_cost() {
        let (mut pace, mut clocks) = (Pace::new(1000), [0; 3]);
        run(&mut pace, &mut clocks, &[7, 310, 50], 500);
        let (low, high) = (clocks.iter().min().unwrap(), clocks.iter().max().unwrap());
        assert!(*low > 400_000, "{clocks:?}");
        assert!(high - low <= 1000 + 2 * 310, "{clocks:?}");
    }

    #[test]
    fn blocks_longer_than_a_quantum_take_no_cpu_away() {
        for cost in [[7, 4000, 50], [4000, 7, 50], [900, 1000, 4000]] {
            let (mut pace, mut clocks) = (Pace::new(1000), [0; 3]);
            run(&mut pace, &mut clocks, &cost, 500);
            let (low, high) = (clocks.iter().min().unwrap(), clocks.iter().max().unwrap());
            assert!(high - low <= 1000 + 2 * 4000, "{clocks:?}");
        }
    }

    #[test]
    fn a_cpu_that_slept_wakes_up_in_the_present() {
        let (mut pace, mut clocks) = (Pace::new(1000), [0; 2]);
        run(&mut pace, &mut clocks, &[10, 0], 100);
        let before = clocks[0];
        run(&mut pace, &mut clocks, &[10, 10], 2);
        assert!(clocks[1] + 2000 > before, "{clocks:?}");
    }

    #[test]
    fn after_a_sleep_of_all_each_wakes_up_at_its_end() {
        for first in [0, 1] {
            let (mut pace, mut clocks) = (Pace::new(1000), [0; 2]);
            run(&mut pace, &mut clocks, &[10, 10], 100);
            let time = clocks[0] + 5_000_000;
            pace.idle_until(time);
            assert_eq!(pace.enter(first, clocks[first], |cpu| clocks[cpu]).wakes_at, Some(time));
            clocks[first] = time;
            run(&mut pace, &mut clocks, &[10, 10], 3);
            assert!(clocks.iter().all(|&now| now >= time && now < time + 4 * 1000), "{clocks:?}");
        }
    }

    #[test]
    fn one_cpu_alone_is_interrupted_every_quantum() {
        let (mut pace, mut ends) = (Pace::new(1000), 0);
        for block in 0..10_000 {
            ends += u64::from(pace.enter(0, block * 10, |_| block * 10).ends);
        }
        assert!((95..=100).contains(&ends), "{ends}");
    }

    #[test]
    fn without_quantum_no_slice_is_ended() {
        let mut pace = Pace::new(0);
        assert!(!pace.enter(0, u64::MAX - 1, |_| 0).ends);
        assert!(!pace.enter(1, u64::MAX - 1, |_| 0).ends);
        assert!(!pace.enter(0, u64::MAX - 1, |_| 0).ends);
    }
}
