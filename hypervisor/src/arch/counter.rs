//! What counts the memory accesses of a CPU: its performance monitors, or an observer of the
//! machine ([`bulkhead_abi::counter`]).
//!
//! A [`Counter`] tells how many accesses have been made, and interrupts when a number of them
//! has. Both mean the CPU that executes the code, whoever makes the accesses there: guest or EL2.

pub mod width;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bulkhead_abi::counter::{COUNT_WORD, MAGIC, MAGIC_WORD, NEVER, THRESHOLD_WORD, WORDS};

#[cfg(target_os = "none")]
use super::pmu::Unit;
use width::Width;

/// What a CPU lacks of what shall count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missing {
    /// Performance monitors.
    Monitors,
    /// Counters of events.
    EventCounters,
    /// This event.
    Event(u16),
    /// Event counters of 64 bits.
    WideEventCounters,
    /// An observer who counts.
    Observer,
}

impl Missing {
    /// The property of the plan that asks for it.
    pub fn property(self) -> &'static str {
        match self {
            Self::Monitors | Self::EventCounters | Self::Observer => "source",
            Self::Event(_) => "event",
            Self::WideEventCounters => "bits",
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Monitors => f.write_str("has no performance monitors"),
            Self::EventCounters => f.write_str("has no counters of events"),
            Self::Event(event) => write!(f, "does not count event {event:#x}, choose another one"),
            Self::WideEventCounters => f.write_str("has event counters of 32 bits, expected <32>"),
            Self::Observer => f.write_str("finds nobody who counts: run with cachescope"),
        }
    }
}

/// The block of a CPU.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Block([AtomicU64; WORDS]);

impl Default for Block {
    fn default() -> Self {
        Self::new()
    }
}

impl Block {
    /// Nobody counts here yet.
    pub const fn new() -> Self {
        let mut words = [const { AtomicU64::new(0) }; WORDS];
        words[THRESHOLD_WORD] = AtomicU64::new(NEVER);
        Self(words)
    }

    /// Whether somebody counts here.
    pub fn is_observed(&self) -> bool {
        self.0[MAGIC_WORD].load(Relaxed) == MAGIC
    }
}

/// Where a counter is.
#[derive(Clone, Copy, Debug)]
enum Place {
    #[cfg(target_os = "none")]
    Event,
    #[cfg(target_os = "none")]
    Cycles,
    Observer(&'static Block),
}

/// The counter of a CPU. Only its own CPU uses it.
#[derive(Debug)]
pub struct Counter {
    place: Place,
    width: Width,
    /// What it showed when its limit was set.
    start: AtomicU64,
}

impl Counter {
    /// The counter that an observer keeps in a block; as wide as its word.
    pub const fn observed(block: &'static Block) -> Self {
        Self::new(Place::Observer(block), Width::BITS_64)
    }

    const fn new(place: Place, width: Width) -> Self {
        Self { place, width, start: AtomicU64::new(0) }
    }

    /// Accesses since its limit was set.
    #[inline(always)]
    pub fn accesses(&self) -> u64 {
        let value = match self.place {
            #[cfg(target_os = "none")]
            Place::Event => Unit::Event.value(),
            #[cfg(target_os = "none")]
            Place::Cycles => Unit::Cycles.value(),
            Place::Observer(block) => block.0[COUNT_WORD].load(Relaxed),
        };
        self.width.between(self.start.load(Relaxed), value)
    }

    /// Starts to count anew, and interrupts with the last of so many accesses (at least 1). If
    /// there is no limit, or a very large one, it does not or does so before.
    #[inline(always)]
    pub fn set_limit(&self, limit: Option<u64>) {
        let limit = limit.unwrap_or(NEVER);
        let start = match self.place {
            Place::Observer(block) => {
                let start = block.0[COUNT_WORD].load(Relaxed);
                // The interrupt comes when the count is above.
                block.0[THRESHOLD_WORD].store(start.saturating_add(limit - 1), Relaxed);
                start
            }
            #[cfg(target_os = "none")]
            Place::Event => Unit::Event.set(self.width.preset(limit)),
            #[cfg(target_os = "none")]
            Place::Cycles => Unit::Cycles.set(self.width.preset(limit)),
        };
        self.start.store(start, Relaxed);
    }

    /// It interrupts: takes that back.
    #[inline(always)]
    pub fn acknowledge(&self) {
        match self.place {
            #[cfg(target_os = "none")]
            Place::Event => Unit::Event.acknowledge(),
            #[cfg(target_os = "none")]
            Place::Cycles => Unit::Cycles.acknowledge(),
            Place::Observer(_) => {}
        }
    }
}

#[cfg(target_os = "none")]
pub use target::{counter, init_cpu, missing, publish};

#[cfg(target_os = "none")]
mod target {
    use spin::mutex::SpinMutex;

    use super::*;
    use crate::arch::percpu::StaticRef;
    use crate::arch::{cpu, gicv3};
    use crate::plan::{self, MAX_CPUS, Source};

    static PLAN: StaticRef<plan::Counter> = StaticRef::empty();
    /// CPUs that count, one bit each.
    static CPUS: AtomicU64 = AtomicU64::new(0);
    static MISSING: SpinMutex<Option<(usize, Missing)>> = SpinMutex::new(None);
    static BLOCKS: [Block; MAX_CPUS] = [const { Block::new() }; MAX_CPUS];

    fn block(pcpu: usize) -> &'static Block {
        &BLOCKS[pcpu % MAX_CPUS]
    }

    /// The counter of the CPU with this index in the plan.
    pub fn counter(plan: &plan::Counter, pcpu: usize) -> Counter {
        match plan.source {
            Source::Event(_) => Counter::new(Place::Event, plan.width),
            Source::Cycles => Counter::new(Place::Cycles, plan.width),
            Source::Observer => Counter::observed(block(pcpu)),
        }
    }

    /// Says what shall count, and on which CPUs: one bit each. Once, at boot, before the
    /// following.
    pub fn publish(plan: &'static plan::Counter, cpus: u64) {
        PLAN.set(Some(plan));
        CPUS.store(cpus, Relaxed);
    }

    /// Lets the counter of the executing CPU count, which has this index in the plan, if it
    /// shall.
    pub fn init_cpu(pcpu: usize) {
        let Some(plan) = PLAN.get().filter(|_| CPUS.load(Relaxed) >> pcpu & 1 != 0) else { return };
        let intid = plan.interrupt(pcpu);
        let result = match plan.source {
            Source::Event(event) => Unit::Event.init(event, plan.width),
            Source::Cycles => Unit::Cycles.init(0, plan.width),
            Source::Observer => {
                let block = block(pcpu);
                let address = cpu::physical(core::ptr::from_ref(block) as usize);
                cpu::show_counter(address.unwrap_or(0), intid);
                if block.is_observed() { Ok(()) } else { Err(Missing::Observer) }
            }
        };
        if let Err(missing) = result {
            *MISSING.lock() = Some((pcpu, missing));
        }
        gicv3::enable_private(pcpu, intid, plan.source == Source::Observer);
    }

    /// What a CPU lacks of what shall count, and which.
    pub fn missing() -> Option<(usize, Missing)> {
        *MISSING.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observers_threshold_is_passed_by_the_last_access_of_the_limit() {
        static BLOCK: Block = Block::new();
        let word = |index: usize| &BLOCK.0[index];
        let count = |accesses| word(COUNT_WORD).store(accesses, Relaxed);
        let threshold = || word(THRESHOLD_WORD).load(Relaxed);
        assert!(!BLOCK.is_observed() && threshold() == NEVER);
        let counter = Counter::observed(&BLOCK);
        count(1000);
        assert_eq!(counter.accesses(), 1000);
        counter.set_limit(Some(50));
        assert_eq!((counter.accesses(), threshold()), (0, 1049));
        count(1050);
        assert_eq!(counter.accesses(), 50);
        counter.set_limit(None);
        assert!(counter.accesses() == 0 && threshold() > 1 << 63);
    }
}
