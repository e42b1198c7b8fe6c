//! The order of the tasks of a VCPU, and of the VCPUs of a PCPU.

use std::cmp::Reverse;

use units::Duration;

use super::{Task, Vcpu, Vm};

impl Task {
    /// Orders the tasks of a VCPU, the one with the highest priority first; without priorities the
    /// one with the shortest deadline. Equal ones are in the order of the description.
    pub fn order(&self) -> (Reverse<Option<u64>>, Duration) {
        (Reverse(self.priority.as_ref().map(|priority| priority.value)), self.deadline)
    }
}

impl Vm {
    /// The tasks of a VCPU, the one with the highest priority first, each with its number in the
    /// description of the VCPU.
    pub fn tasks_of(&self, vcpu: usize) -> Vec<(usize, &Task)> {
        let tasks = self.tasks.iter().filter(|task| task.vcpu == vcpu);
        let mut tasks: Vec<_> = tasks.enumerate().collect();
        tasks.sort_by_key(|(_, task)| task.order());
        tasks
    }
}

impl Vcpu {
    /// Orders the VCPUs of a PCPU, the highest given priority first; without priorities the one
    /// with the shortest period. Equal ones are in the order of the description.
    pub fn order(&self) -> (Reverse<u64>, Duration) {
        let server = self.server.as_ref();
        let given = server.and_then(|server| server.priority.as_ref());
        let budget = server.and_then(|server| server.class.value.budget());
        let period = budget.map_or(Duration(u64::MAX), |budget| budget.period);
        (Reverse(given.map_or(0, |priority| priority.value)), period)
    }
}
