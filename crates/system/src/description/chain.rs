//! Chains: tasks through which data goes (`[[chain]]`).

mod read;
mod resolve;

use units::Duration;

use super::{Located, Task, Vm};
use crate::diagnostic::Place;

pub(super) use read::read;
pub(super) use resolve::resolve;

/// Maximum number of chains of a system.
const CHAINS_MAX: usize = 256;
/// Maximum number of steps of a chain.
const STEPS_MAX: usize = 64;

/// A chain: each task reads the latest output of the task before when a job of its own is released
/// or later, and writes its own output when the job completes. A task that rings release, and that is
/// not the first one, comes after the task that rings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Chain {
    /// Name, unique in the system.
    pub name: Located<String>,
    /// The tasks, in the order of the data: one at least, each once. Only the first one may be
    /// sporadic without a trigger; each of its releases is an event then, which begins the chain.
    pub steps: Vec<ChainStep>,
    /// Longest time until a change of what the first task reads, or an event, shows in the output of
    /// the last one, if there is a limit; more than zero.
    pub max_reaction: Option<Located<Duration>>,
    /// Longest time from reading to the end of the output that was made from it, if there is a
    /// limit; more than zero, and none if events begin the chain.
    pub max_age: Option<Located<Duration>>,
}

/// A task of a chain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChainStep {
    /// The index of its VM.
    pub vm: usize,
    /// Its index in the VM.
    pub task: usize,
    /// Place where the chain names it.
    pub place: Place,
}

impl Chain {
    /// Returns true if some of its times has a limit.
    pub fn has_deadline(&self) -> bool {
        self.max_reaction.is_some() || self.max_age.is_some()
    }

    /// Returns its tasks with their VMs.
    pub fn tasks<'v>(&self, vms: &'v [Vm]) -> impl Iterator<Item = (&'v Vm, &'v Task)> {
        self.steps.iter().filter_map(|step| {
            let vm = vms.get(step.vm)?;
            Some((vm, vm.tasks.get(step.task)?))
        })
    }

    /// Returns true if each release of the first task is an event that begins the chain.
    pub fn begins_with_events(&self, vms: &[Vm]) -> bool {
        self.tasks(vms).next().is_some_and(|(_, task)| task.sporadic)
    }
}
