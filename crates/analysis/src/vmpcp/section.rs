//! Global sections: their total length (Eq. 1, 12 and 13), their order in queues, and the response
//! time of a section once the resource is granted (Eq. 14 to 16).

use std::cmp::Reverse;

use super::flat::FlatSection;
use super::host::Host;
use super::protocol::Protocol;
use super::system::System;
use crate::Kind;
use crate::supply::ServerSupply;
use crate::window::{Gaps, TOO_LONG, sum};

/// A section in the group of those with the same resource.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub task: usize,
    pub resource: usize,
    /// Index of the first section of the group, and their number.
    pub start: usize,
    pub size: usize,
    pub length: u64,
    /// True if the hypervisor keeps the mutex.
    pub inter_vm: bool,
}

/// Puts sections into the system; those of a task are contiguous. `groups`: by resource.
pub fn place(system: &mut System, groups: &[Group]) {
    let mut order: Vec<u32> = (0..groups.len() as u32).collect();
    order.sort_by_key(|it| groups[*it as usize].task);
    let mut number = vec![0; groups.len()];
    for (place, it) in order.iter().enumerate() {
        number[*it as usize] = place as u32;
    }
    for it in order {
        let Group { task, resource, start, size, length, inter_vm } = groups[it as usize];
        let group = start..start + size;
        let vcpu = system.tasks[task].vcpu;
        let priority = |task: usize| system.vcpus[system.tasks[task].vcpu].priority;
        let mut select = |which: &dyn Fn(usize) -> bool| {
            let first = system.rivals.len();
            let others = group.clone().filter(|it| which(groups[*it].task));
            system.rivals.extend(others.map(|it| number[it]));
            first..system.rivals.len()
        };
        let own = priority(task);
        let of = |task: usize| system.tasks[task].vcpu;
        // Of equal VCPUs the first one counts as the higher one.
        let rank = |task: usize| (priority(task), Reverse(of(task)));
        let below = select(&|it| rank(it) < rank(task));
        let above = select(&|it| rank(it) > rank(task));
        let also = select(&|it| {
            let is_sibling = of(it) == vcpu && it < task;
            is_sibling || of(it) > vcpu && priority(it) == own
        });
        let (place, load, preemption) = (system.sections.len(), 0, 0);
        let it =
            FlatSection { task, resource, length, inter_vm, load, preemption, below, above, also };
        system.sections.push(it);
        let task = &mut system.tasks[task];
        if task.longest == 0 {
            task.sections = place..place;
        }
        task.sections.end = place + 1;
        task.longest = task.longest.max(length);
        // At most the execution time of the task.
        task.global += length;
    }
}

/// Eq. 1, 12 and 13. All global sections of a task above have a higher ceiling, and so do all of a
/// VCPU above. One section of each task counts, because no task reaches its next section while this
/// one is pending.
pub fn sizes(system: &mut System) {
    for vcpu in &mut system.vcpus {
        vcpu.holding = sum(system.tasks[vcpu.tasks.clone()].iter().map(|task| task.longest));
        vcpu.held = vcpu.held.max(vcpu.holding);
    }
    for index in 0..system.vcpus.len() {
        let (vcpu, preemption) = (&system.vcpus[index], system.held_above(index));
        let (mut above, limited) = (0, vcpu.held > vcpu.holding);
        for task in vcpu.tasks.clone() {
            let task = &system.tasks[task];
            for section in &mut system.sections[task.sections.clone()] {
                section.load = match limited && section.inter_vm {
                    // Other VMs wait for it: the limits of its guest count, not its description.
                    true => vcpu.held,
                    false => sum([section.length, above].into_iter()),
                };
                section.preemption = preemption;
            }
            above = sum([above, task.longest].into_iter());
        }
    }
}

/// Returns `W^gcs`, the longest time from the grant of the resource to the end of the section, with
/// this load and preemption. Without a `supply` that the result needs, it is too long.
pub fn response(
    (load, preemption): (u64, u64),
    host: &Host,
    supply: Option<&ServerSupply>,
    protocol: Protocol,
) -> u64 {
    let server = host.serving();
    let gap = server.gap().0;
    let suspended = match (protocol, host.overrun, server.kind()) {
        // In the worst case the VCPU has just used up its budget, and the next ones come late.
        (Protocol::Mpcp, ..) | (_, _, Kind::Sporadic) => {
            return supply.map_or(TOO_LONG, |supply| supply.window(load));
        }
        // Eq. 14 and 15.
        (_, true, Kind::Periodic) => gap,
        (_, true, _) => 0,
        // Eq. 16.
        (_, false, _) => server.budget_divisor().ceil(load).saturating_mul(gap),
    };
    sum([load, preemption, suspended.min(TOO_LONG)].into_iter())
}
