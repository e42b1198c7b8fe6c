//! Counters of the memory accesses of a CPU: its performance monitors, or an observer of the
//! machine ([`abi::counter`]).
//!
//! A [`Counter`] tells how many accesses have been made, and interrupts when a number of them
//! has. Both mean the CPU that executes the code, whoever makes the accesses there: guest or EL2.

pub mod width;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use abi::counter::{COUNT_WORD, MAGIC, MAGIC_WORD, NEVER, THRESHOLD_WORD, WORDS};

#[cfg(target_os = "none")]
use super::pmu::Unit;
use width::Width;

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
    /// Makes a block in which nobody counts yet.
    pub const fn new() -> Self {
        let mut words = [const { AtomicU64::new(0) }; WORDS];
        words[THRESHOLD_WORD] = AtomicU64::new(NEVER);
        Self(words)
    }

    /// Returns true if somebody counts here.
    pub fn is_observed(&self) -> bool {
        self.0[MAGIC_WORD].load(Relaxed) == MAGIC
    }
}

/// The place of a counter.
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
    /// The value of the counter from which accesses count: that of the told accesses when the limit was set.
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

    /// Accesses since those that were told when its limit was set.
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

    /// Counts anew behind the `told` accesses that [`Counter::accesses`] has said, and interrupts with the
    /// last of `limit` accesses (at least 1); with the next one if there have been as many meanwhile. If
    /// there is no limit, or a very large one, the counter does not interrupt or does so before.
    #[inline(always)]
    pub fn set_limit(&self, limit: Option<u64>, told: u64) {
        let limit = limit.unwrap_or(NEVER);
        let told = self.start.load(Relaxed).wrapping_add(told);
        let start = match self.place {
            Place::Observer(block) => {
                // The interrupt comes when the count is above.
                block.0[THRESHOLD_WORD].store(told.saturating_add(limit - 1), Relaxed);
                told
            }
            #[cfg(target_os = "none")]
            Place::Event => self.restart(Unit::Event, limit, told),
            #[cfg(target_os = "none")]
            Place::Cycles => self.restart(Unit::Cycles, limit, told),
        };
        self.start.store(start, Relaxed);
    }

    /// Sets the limit of a counter that interrupts when it overflows. Only accesses between the read and the write of the
    /// counter are lost.
    #[cfg(target_os = "none")]
    #[inline(always)]
    fn restart(&self, unit: Unit, limit: u64, told: u64) -> u64 {
        let since = self.width.between(told, unit.value());
        let (start, value) = self.width.restart(limit, since);
        unit.set(value);
        start
    }

    /// Takes back the interrupt of the counter.
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
    use crate::arch::{cpu, gic};
    use crate::plan::{self, MAX_CPUS, Missing, Source};

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

    /// Sets the counter, and the CPUs on which it counts, one bit each: once, at boot, before the
    /// following functions.
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
        gic::prefer_private(pcpu, intid, plan.source == Source::Observer);
    }

    /// Index of a CPU that lacks a part of the counter, and that part.
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
        count(1003);
        counter.set_limit(Some(50), 1000);
        assert_eq!((counter.accesses(), threshold()), (3, 1049), "none is lost");
        count(1050);
        assert_eq!(counter.accesses(), 50);
        counter.set_limit(None, 50);
        assert!(counter.accesses() == 0 && threshold() > 1 << 63);
    }
}
