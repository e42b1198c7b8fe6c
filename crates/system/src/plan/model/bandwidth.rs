//! Budgets of memory accesses, and what counts them.

use units::{Bytes, Duration, Rate};

use super::Budget;
use crate::address::IntId;

/// What counts the memory accesses of each PCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BandwidthCounter {
    /// What is counted, and by what.
    pub source: CounterSource,
    /// Width of the counter: 32 or 64.
    pub bits: u32,
    /// The interrupt when it overflows: one private interrupt, or a shared one for each PCPU.
    pub interrupts: Vec<IntId>,
    /// Bytes that one access moves, where accesses to memory are counted. For people: the
    /// hypervisor counts accesses.
    pub access: Option<Bytes>,
}

/// Counters that the hypervisor can use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CounterSource {
    /// An event counter of the performance monitors of the CPU.
    Pmu {
        /// The number of the event: see [`CounterSource::EVENTS`].
        event: u16,
    },
    /// The cycle counter of the performance monitors: budgets are cycles.
    Cycles,
    /// The counter of the cache model, where QEMU runs with it.
    Cachescope,
}

impl CounterSource {
    /// The words in description and plan.
    pub const WORDS: [&'static str; 3] = ["pmu", "cycles", "cachescope"];

    /// Events that have a name (Arm Architecture Reference Manual, D13.12): loads and stores;
    /// beats on the bus; lines that come into the level 2 cache, which is the last one of these
    /// CPUs; instructions.
    pub const EVENTS: [(&'static str, u16); 4] =
        [("mem-access", 0x13), ("bus-access", 0x19), ("llc-refill", 0x17), ("instructions", 0x08)];

    /// That of lines that come into the last-level cache.
    pub const REFILLS: Self = Self::Pmu { event: Self::EVENTS[2].1 };

    /// The word in description and plan.
    pub fn as_str(self) -> &'static str {
        let [pmu, cycles, cachescope] = Self::WORDS;
        match self {
            Self::Pmu { .. } => pmu,
            Self::Cycles => cycles,
            Self::Cachescope => cachescope,
        }
    }

    /// Whether accesses to memory are counted, and not time or instructions.
    pub fn counts_memory(self) -> bool {
        let instructions = CounterSource::Pmu { event: Self::EVENTS[3].1 };
        self != Self::Cycles && self != instructions
    }
}

impl BandwidthCounter {
    /// The most accesses that it can be set to wait for: with half of its range an overshoot is
    /// never taken for the next round.
    pub fn largest_budget(bits: u32) -> u64 {
        1 << (if bits == 32 { 31 } else { 63 })
    }
}

/// Memory accesses in each period (XvIso, section IV; XenThrottle, chapter 4: `Q` and `P`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MemoryBudget {
    /// Accesses: at least 1.
    pub accesses: u64,
    /// The period; at least [`MemoryBudget::SHORTEST_PERIOD`], at most
    /// [`MemoryBudget::LONGEST_PERIOD`].
    pub period: Duration,
}

impl MemoryBudget {
    /// Shortest period that there can be: shorter ones would take a large part of the time for
    /// interrupts and replenishments.
    pub const SHORTEST_PERIOD: Duration = Duration(20_000);
    /// Longest period that there can be: that of servers.
    pub const LONGEST_PERIOD: Duration = Budget::LONGEST_PERIOD;

    /// As a rate, rounded down.
    pub fn rate(self, access: Bytes) -> Rate {
        Rate::of(self.accesses, access, self.period)
    }

    /// The most accesses that it comes to in one period, with credits.
    pub fn most(self, compensation: Option<Compensation>) -> u64 {
        self.accesses.saturating_mul(compensation.map_or(1, |it| u64::from(it.periods).max(1)))
    }
}

/// What a VM gets of the accesses that critical VMs could have been delayed by and were not
/// (XenThrottle, section 4.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Compensation {
    /// Credits are given up every so many periods: at least 2.
    pub periods: u32,
    /// Whether a switch of tasks in a guest of the critical side, too, makes the VM give them up.
    /// One of VCPUs always does.
    pub flush_task_switch: bool,
}

impl Compensation {
    /// Fewest periods: in the first one of them there are no credits yet.
    pub const FEWEST_PERIODS: u32 = 2;
}
