//! The reasons why a task has no bound, in words.

use analysis::{Duration, Reason};

use crate::combined::all_of;
use crate::verdict::{TaskVerdict, VcpuVerdict};

impl VcpuVerdict {
    /// Returns why a task without a bound has none.
    pub fn why_no_bound(&self, task: &TaskVerdict) -> String {
        match task.failure {
            Some(Reason::Overload) if task.triggered_by.is_some() => {
                let channel = task.triggered_by.as_deref().unwrap_or_default();
                format!(
                    "it and the tasks above need more time than there is if rings for channel \
                     `{channel}` come as often as `ring_every` allows, each {}",
                    time(task.period_ns)
                )
            }
            Some(Reason::Overload) => "it and the tasks above need more time than there is".into(),
            Some(Reason::NoSupply) if self.failure == Some(Reason::Others) => {
                "nothing limits how often VCPUs below, which run first while in critical sections, delay the budget of its VCPU".into()
            }
            Some(Reason::NoSupply) if self.budget_ns.is_some() => match self.at_least_ns {
                Some(needed) => format!(
                    "its VCPU may have to wait for {} or longer until it has had its budget, but its period is {}",
                    time(needed),
                    time(self.period_ns.unwrap_or_default()),
                ),
                None => "other VCPUs can delay the budget of its VCPU for longer than a period".into(),
            },
            Some(Reason::NoSupply) => {
                "another VCPU of the background class is above its VCPU".into()
            }
            Some(Reason::Depends) => "a task above it, which suspends itself, has no bound".into(),
            Some(Reason::Memory) => {
                let vms: Vec<_> =
                    self.unlimited_neighbours.iter().map(|vm| format!("`{vm}`")).collect();
                format!(
                    "nothing limits its memory interference: give `accesses` of this task and those \
                     above it, or a `bandwidth` that counts accesses to VM {}",
                    vms.join(", ")
                )
            }
            Some(Reason::MemoryBudget) => {
                "nothing limits how often its VCPU waits for its memory budget: give `accesses` of \
                 this task and those above it, which may not suspend themselves, and a `bandwidth` \
                 that counts accesses and that no other VCPU shares"
                    .into()
            }
            Some(Reason::UnknownWcet) => {
                "the task has fewer colours than the smallest number in its `wcet`".into()
            }
            Some(Reason::Unschedulable) => "it is above the deadline".into(),
            Some(Reason::Others) => {
                "nothing limits how long it waits for a resource: a task that is served first has no bound, or requests it too often"
                    .into()
            }
            Some(Reason::Refused) => {
                "tasks of its VCPU can be so late that the hypervisor refuses to let them enter critical sections"
                    .into()
            }
            Some(Reason::Combined) if self.combined.is_empty() => {
                "its critical sections are not analysed".into()
            }
            Some(Reason::Combined) => {
                let (reason, help) = all_of(&self.combined);
                format!("{reason}: {help}")
            }
            Some(Reason::SectionOverhead) => {
                let taken = time(self.in_section_ns.unwrap_or_default());
                let allowed = time(self.section_overhead_ns.unwrap_or_default());
                format!(
                    "the hypervisor may take {taken} of its VCPU in a critical section, but \
                     `section_overhead` is {allowed}: set it to {taken} or more"
                )
            }
            Some(Reason::Overflow) => "the bound is longer than 64 bits of nanoseconds".into(),
            Some(Reason::LimitReached) | None => {
                "the search reached its limit before it found one".into()
            }
        }
    }
}

fn time(nanoseconds: u64) -> String {
    Duration(nanoseconds).short()
}
