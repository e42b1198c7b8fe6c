//! One CPU: its counts, and its clock.

use serde::Serialize;

use crate::hierarchy::Cost;

/// The counts of a CPU so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Counters {
    /// Instructions executed.
    pub instructions: u64,
    /// Time: instructions and the cycles that it stood still or slept, in cycles.
    #[serde(rename = "time_cycles")]
    pub cycles: u64,
    /// Cycles that it stood still for memory, with those for the bus.
    pub stall_cycles: u64,
    /// Cycles that it waited for the bus.
    pub bus_wait_cycles: u64,
    /// Accesses to lines.
    pub accesses: u64,
    /// Accesses that its private cache did not have.
    pub l1_misses: u64,
    /// Accesses and fetches that the last-level cache did not have.
    pub llc_misses: u64,
    /// Fetches of instructions that its instruction cache did not have.
    pub l1i_misses: u64,
}

/// The place in its block of instructions at which an access happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Position {
    /// Index of the instruction.
    pub at: u32,
    /// Index of the next load or store of the block; the number of its
    /// instructions if there is none.
    pub next: u32,
}

/// A CPU and how far it came in its block of instructions.
///
/// Blocks can be left early, at a load or store that faults. Instructions are
/// therefore counted only up to the last access that happened, and from there
/// to the next load or store: nothing else can leave a block in its middle.
#[derive(Clone, Debug, Default)]
pub struct Cpu {
    instructions: u64,
    /// Cycles of sleep.
    slept: u64,
    stall_cycles: u64,
    bus_wait_cycles: u64,
    accesses: u64,
    l1_misses: u64,
    llc_misses: u64,
    l1i_misses: u64,
    /// Instructions of the block that are counted.
    counted: u32,
    /// Instructions of the block that are executed, unless it was left.
    reached: u32,
    /// The access that `reached` comes from.
    last: Option<Position>,
}

impl Cpu {
    /// A block begins whose first load or store has index `first_access`.
    #[inline]
    pub fn enter(&mut self, first_access: u32) {
        self.count_to(self.reached);
        self.counted = 0;
        self.reached = first_access;
        self.last = None;
    }

    /// An access happens. Instructions with several accesses report each.
    #[inline]
    pub fn reach(&mut self, position: Position) {
        if self.last == Some(position) {
            return;
        }
        // A position behind us is that of a block whose beginning was not
        // reported: QEMU executes device accesses again, in a block of their own.
        let executed = if position.at > self.counted { position.at } else { self.reached };
        self.count_to(executed);
        self.counted = position.at;
        self.reached = position.next;
        self.last = Some(position);
    }

    /// The counts of the CPU, up to an instruction of its block without access.
    pub fn counters_at(&self, instruction: u32) -> Counters {
        let more = u64::from(instruction.saturating_sub(self.counted));
        Counters {
            instructions: self.instructions + more,
            cycles: self.now() + more,
            stall_cycles: self.stall_cycles,
            bus_wait_cycles: self.bus_wait_cycles,
            accesses: self.accesses,
            l1_misses: self.l1_misses,
            llc_misses: self.llc_misses,
            l1i_misses: self.l1i_misses,
        }
    }

    /// Accounts for an access.
    #[inline]
    pub fn pay(&mut self, cost: Cost) {
        self.accesses += 1;
        self.stall_cycles += cost.stall;
        self.bus_wait_cycles += cost.bus_wait;
        if cost.l1_miss {
            self.l1_misses += 1;
            self.llc_misses += u64::from(cost.llc_miss);
        }
    }

    /// Accounts for a fetch of instructions.
    #[inline]
    pub fn pay_fetch(&mut self, cost: Cost) {
        self.stall_cycles += cost.stall;
        self.bus_wait_cycles += cost.bus_wait;
        self.l1i_misses += u64::from(cost.l1_miss);
        self.llc_misses += u64::from(cost.llc_miss);
    }

    /// The CPU waited for the bus longer than accesses before said.
    #[inline]
    pub fn delay(&mut self, cycles: u64) {
        self.stall_cycles += cycles;
        self.bus_wait_cycles += cycles;
    }

    /// The CPU slept until a time, unless it is there already.
    pub fn sleep_until(&mut self, cycles: u64) {
        self.slept += cycles.saturating_sub(self.now());
    }

    /// The counts of the CPU, with all of its last block.
    pub fn counters(&self) -> Counters {
        self.counters_at(self.reached)
    }

    /// Its time at the last access or at the beginning of its block, in cycles.
    #[inline]
    pub fn now(&self) -> u64 {
        self.instructions + self.stall_cycles + self.slept
    }

    #[inline]
    fn count_to(&mut self, executed: u32) {
        self.instructions += u64::from(executed.saturating_sub(self.counted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(cpu: &Cpu) -> u64 {
        cpu.counters().instructions
    }

    #[test]
    fn a_whole_block_counts_whole() {
        let mut cpu = Cpu::default();
        cpu.enter(2);
        cpu.reach(Position { at: 2, next: 5 });
        cpu.reach(Position { at: 2, next: 5 });
        cpu.reach(Position { at: 5, next: 9 });
        assert_eq!(cpu.now(), 5, "time of the second access");
        assert_eq!(instructions(&cpu), 9);
        cpu.enter(4);
        assert_eq!(instructions(&cpu), 13, "a block without accesses");
        cpu.enter(0);
        cpu.reach(Position { at: 0, next: 1 });
        assert_eq!(instructions(&cpu), 14);
    }

    #[test]
    fn a_block_that_faults_counts_up_to_the_fault() {
        let mut cpu = Cpu::default();
        cpu.enter(2);
        cpu.reach(Position { at: 2, next: 5 });
        // The access at 5 faults: the handler's block begins.
        cpu.enter(1);
        assert_eq!(instructions(&cpu), 5 + 1);
    }

    #[test]
    fn an_access_that_is_executed_again_counts_once() {
        let mut cpu = Cpu::default();
        // A block of 8 stops at its second access, at 5; that is executed
        // alone, and then the rest in a block of its own.
        cpu.enter(1);
        cpu.reach(Position { at: 1, next: 5 });
        cpu.reach(Position { at: 0, next: 1 });
        cpu.enter(2);
        assert_eq!(instructions(&cpu), 8);
    }

    #[test]
    fn an_access_that_does_not_happen_loses_nothing() {
        let mut cpu = Cpu::default();
        // The store-exclusive at 3 fails and is not reported.
        cpu.enter(3);
        cpu.reach(Position { at: 6, next: 8 });
        assert_eq!(instructions(&cpu), 8);
    }

    #[test]
    fn sleeping_moves_the_clock_forward_only() {
        let mut cpu = Cpu::default();
        cpu.sleep_until(100);
        cpu.sleep_until(50);
        assert_eq!((cpu.now(), instructions(&cpu)), (100, 0));
    }
}
