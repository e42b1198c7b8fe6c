//! Whose address space each CPU is in, by what guests write to TTBR0_EL1.
//!
//! A job that others interrupt lasts longer than it works. If each task of a guest has an
//! address space, as processes of Linux do, the time of the others can be told from its own.

use std::collections::HashMap;

use crate::Owner;

/// The address of the first table; the rest of TTBR0_EL1 is the number of the address space.
const TABLE: u64 = (1 << 48) - 2;

/// A task that sets marks: its VM and its number.
pub type Task = (Owner, u8);

/// The address spaces of a machine.
#[derive(Clone, Debug)]
pub struct Spaces {
    cpus: Vec<Place>,
    /// The task that has set a mark last in each space.
    tasks: HashMap<u64, Task>,
}

/// The address space of a CPU now, and the ones before.
#[derive(Clone, Debug, Default)]
struct Place {
    space: u64,
    /// The time since which it is there, in cycles, as all times here.
    since: u64,
    /// The time that is past, by task.
    past: HashMap<Task, u64>,
}

impl Spaces {
    /// All CPUs are in a space that no task has marked.
    pub fn new(cpus: usize) -> Self {
        Self { cpus: vec![Place::default(); cpus], tasks: HashMap::new() }
    }

    /// A CPU writes a value to TTBR0_EL1.
    pub fn switch(&mut self, cpu: usize, value: u64, now: u64) {
        self.settle(cpu, now);
        self.cpus[cpu].space = value & TABLE;
    }

    /// A task sets a mark on a CPU: it is its space.
    pub fn mark(&mut self, cpu: usize, task: Task, now: u64) {
        self.settle(cpu, now);
        self.tasks.insert(self.cpus[cpu].space, task);
    }

    /// Cycles that a CPU has spent in the spaces of other tasks, up to the last call for it.
    pub fn of_others(&self, cpu: usize, task: Task) -> u64 {
        let past = self.cpus[cpu].past.iter();
        past.filter(|(other, _)| **other != task).map(|(_, cycles)| cycles).sum()
    }

    fn settle(&mut self, cpu: usize, now: u64) {
        let place = &mut self.cpus[cpu];
        if let Some(&task) = self.tasks.get(&place.space) {
            *place.past.entry(task).or_default() += now.saturating_sub(place.since);
        }
        place.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_marked_spaces_counts_for_their_tasks() {
        let (own, other) = ((Owner::UNOWNED, 1), (Owner::UNOWNED, 2));
        let mut spaces = Spaces::new(2);
        spaces.switch(0, 7 << 48 | 0x1000, 10);
        spaces.mark(0, own, 20);
        spaces.switch(0, 0x2000, 100);
        assert_eq!(spaces.of_others(0, own), 0, "nobody has marked that space yet");
        spaces.mark(0, other, 130);
        spaces.switch(0, 8 << 48 | 0x1001, 150);
        assert_eq!(spaces.of_others(0, own), 20, "from the first mark on");
        spaces.switch(0, 0x3000, 200);
        spaces.switch(0, 0x2000, 300);
        spaces.switch(0, 0x1000, 330);
        assert_eq!((spaces.of_others(0, own), spaces.of_others(0, other)), (50, 130));
        assert_eq!(spaces.of_others(1, own), 0, "on the other CPU");
    }
}
