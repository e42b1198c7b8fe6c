//! Budgets of memory accesses, and the counter of accesses.

use abi::limits;
use abi::plan::{events, words};
use units::{Bytes, Duration, Rate};

use super::Budget;
use crate::address::IntId;

/// The counter of memory accesses of each PCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BandwidthCounter {
    /// The counted event, and the device that counts it.
    pub source: CounterSource,
    /// Width of the counter: 32 or 64.
    pub bits: u32,
    /// The interrupt when it overflows: one private interrupt, or a shared one for each PCPU.
    pub interrupts: Vec<IntId>,
    /// Bytes that one access moves, where accesses to memory are counted. For people: the
    /// hypervisor counts accesses.
    pub access: Option<Bytes>,
}

/// Counters that the hypervisor can use, and one that only Linux has.
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
    /// The processor time of a PCPU's thread under KVM, in nanoseconds: budgets are times.
    Clock,
}

impl CounterSource {
    /// The words in descriptions; plans that are files have [`words::COUNTERS`].
    pub const WORDS: [&'static str; 4] =
        [words::COUNTERS[0], words::COUNTERS[1], words::COUNTERS[2], "clock"];

    /// The words of counters that Linux has.
    pub const UNDER_KVM: [&'static str; 3] = [Self::WORDS[0], Self::WORDS[1], Self::WORDS[3]];

    /// Events that have a name (Arm Architecture Reference Manual, D13.12): loads and stores;
    /// beats on the bus; lines that come into the level 2 cache, which is the last one of these
    /// CPUs; instructions.
    pub const EVENTS: [(&'static str, u16); 4] = [
        ("mem-access", 0x13),
        ("bus-access", 0x19),
        ("llc-refill", 0x17),
        ("instructions", events::INSTRUCTIONS),
    ];

    /// That of lines that come into the last-level cache.
    pub const REFILLS: Self = Self::Pmu { event: Self::EVENTS[2].1 };

    /// Returns the word in description and plan.
    pub fn as_str(self) -> &'static str {
        let [pmu, cycles, cachescope, clock] = Self::WORDS;
        match self {
            Self::Pmu { .. } => pmu,
            Self::Cycles => cycles,
            Self::Cachescope => cachescope,
            Self::Clock => clock,
        }
    }

    /// Returns true if accesses to memory are counted, and not time or instructions.
    pub fn counts_memory(self) -> bool {
        !matches!(
            self,
            Self::Cycles | Self::Clock | Self::Pmu { event: events::INSTRUCTIONS | events::CYCLES }
        )
    }
}

impl BandwidthCounter {
    /// Returns the most accesses that it can be set to wait for: with half of its range an
    /// overshoot is never taken for the next round.
    pub fn largest_budget(bits: u32) -> u64 {
        1 << (if bits == 32 { 31 } else { 63 })
    }
}

/// Memory accesses in each period (XvIso, section IV; XenThrottle, chapter 4: `Q` and `P`).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct MemoryBudget {
    /// Accesses: at least 1.
    pub accesses: u64,
    /// The period; at least [`MemoryBudget::SHORTEST_PERIOD`], at most
    /// [`MemoryBudget::LONGEST_PERIOD`].
    pub period: Duration,
}

impl MemoryBudget {
    /// Shortest period that there can be.
    pub const SHORTEST_PERIOD: Duration = Duration(limits::MEMORY_PERIOD_MIN_NS);
    /// Longest period that there can be: that of servers.
    pub const LONGEST_PERIOD: Duration = Budget::LONGEST_PERIOD;

    /// Returns the budget as a rate, rounded down.
    pub fn rate(self, access: Bytes) -> Rate {
        Rate::of(self.accesses, access, self.period)
    }

    /// Returns the most accesses that are possible in one period, with credits.
    pub fn most(self, compensation: Option<Compensation>) -> u64 {
        self.accesses.saturating_mul(compensation.map_or(1, |it| u64::from(it.periods).max(1)))
    }
}

/// Compensation of a VM for accesses of critical VMs that could have delayed it but did not happen
/// (XenThrottle, section 4.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Compensation {
    /// Number of periods after which credits are given up: at least 2.
    pub periods: u32,
    /// True if a switch of tasks in a critical guest makes the VM give up its credits, too. A
    /// switch of VCPUs always does.
    pub flush_task_switch: bool,
}

impl Compensation {
    /// Fewest periods.
    pub const FEWEST_PERIODS: u32 = limits::COMPENSATION_MIN;
}
