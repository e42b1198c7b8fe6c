//! Counters of memory traffic for the hypervisor: a block of memory for each CPU, and an
//! interrupt when a count goes over its threshold.

use std::sync::atomic::Ordering;

use bulkhead_cachescope_model::Limit;

use super::guest_memory::{Block, GuestMemory};
use super::interrupt::{Interrupts, Line};

/// First word of a block: the counter is in use. "BULKCOUN" as text.
const MAGIC: u64 = 0x4e55_4f43_4b4c_5542;
/// Word of a block: lines moved on behalf of its CPU. The plugin writes it.
const COUNT: usize = 1;
/// Word of a block: the interrupt comes when the count is above it. The hypervisor writes it.
const THRESHOLD: usize = 2;

/// Thresholds from here on are never reached.
const UNLIMITED: u64 = 1 << 63;

/// The counters of all CPUs.
#[derive(Default)]
pub struct Counters {
    /// Known when the hypervisor has asked for the first counter.
    qemu: Option<(GuestMemory, Interrupts)>,
    /// The counters by CPU.
    counters: Vec<Option<Counter>>,
}

/// The counter of a CPU.
struct Counter {
    block: Block,
    line: Line,
    count: u64,
    /// The threshold that the count went over, as long as the line is active for it.
    over: Option<u64>,
}

impl Counters {
    /// Returns true if the hypervisor has asked for one.
    #[inline]
    pub fn are_used(&self) -> bool {
        self.qemu.is_some()
    }

    /// The running CPU wants its counter at a physical address, and an interrupt.
    ///
    /// # Errors
    /// The reason why it cannot have it.
    ///
    /// # Safety
    /// In the thread of the CPUs, in a callback of this CPU.
    pub unsafe fn give(
        &mut self,
        cpu: usize,
        address: u64,
        interrupt: u64,
        count: u64,
    ) -> Result<(), String> {
        if self.qemu.is_none() {
            let found = GuestMemory::find().and_then(|memory| Ok((memory, Interrupts::find()?)));
            self.qemu = Some(found?);
        }
        let Some((memory, interrupts)) = &self.qemu else { return Ok(()) };
        // SAFETY: as the caller promises.
        let line = unsafe { interrupts.line(cpu, interrupt) }
            .map_err(|error| format!("x1={interrupt}: {error}"))?;
        let block =
            memory.block(address, MAGIC).map_err(|error| format!("x0={address:#x}: {error}"))?;
        block[COUNT].store(count, Ordering::Relaxed);
        if self.counters.len() <= cpu {
            self.counters.resize_with(cpu + 1, || None);
        }
        self.counters[cpu] = Some(Counter { block, line, count, over: None });
        self.check(cpu);
        Ok(())
    }

    /// The count of a CPU is this.
    #[inline]
    pub fn set(&mut self, cpu: usize, count: u64) {
        let Some(Some(counter)) = self.counters.get_mut(cpu) else { return };
        if counter.count != count {
            counter.count = count;
            counter.block[COUNT].store(count, Ordering::Relaxed);
            self.check(cpu);
        }
    }

    /// A CPU begins a block: an interrupt whose reason is gone goes too.
    #[inline]
    pub fn begin_block(&mut self, cpu: usize) {
        if let Some(Some(counter)) = self.counters.get(cpu)
            && counter.over.is_some()
        {
            self.check(cpu);
        }
    }

    /// The limit to which the counter of a CPU is set, if it has one.
    #[inline]
    pub fn limit(&self, cpu: usize) -> Limit {
        let Some(Some(counter)) = self.counters.get(cpu) else { return Limit::default() };
        let threshold = counter.block[THRESHOLD].load(Ordering::Relaxed);
        Limit { exists: threshold < UNLIMITED, exceeded: counter.count > threshold }
    }

    /// Compares count and threshold, and drives the interrupt.
    #[cold]
    fn check(&mut self, cpu: usize) {
        let (Some((_, interrupts)), Some(Some(counter))) = (&self.qemu, self.counters.get_mut(cpu))
        else {
            return;
        };
        let threshold = counter.block[THRESHOLD].load(Ordering::Relaxed);
        let over = (counter.count > threshold).then_some(threshold);
        if over == counter.over {
            return;
        }
        counter.over = over;
        match over {
            Some(_) => interrupts.raise(counter.line),
            None => interrupts.lower(counter.line),
        }
    }
}
