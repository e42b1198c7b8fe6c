//! The order of the VCPUs of a PCPU, where their priorities are not given.
//!
//! The one with the shorter period goes first. Where that leads to no plan, a search tries other
//! orders. Such an order is written as priorities of all VCPUs of the PCPU, and stays theirs as long
//! as they stay on it.

use std::cmp::Reverse;

use analysis::Duration;
use system::description::{Located, System};

use super::pcpus::{At, all, given, members, order, server, vcpu};
use super::whole::open::Open;

/// Returns true if the order of some VCPUs can change.
pub(super) fn can_differ(system: &System, open: &Open) -> bool {
    let shared = open.priorities.iter().filter(|at| server(vcpu(system, **at)).is_some());
    shared.count() > 1 && !open.budgets.is_empty()
}

/// Returns true if there are several VCPUs, and none of them has a given priority.
pub(super) fn are_open(open: &Open, vcpus: &[At]) -> bool {
    vcpus.len() > 1 && vcpus.iter().all(|at| open.priorities.contains(at))
}

/// Gives the VCPUs of a PCPU with budgets this order, the first one the highest priority, and those
/// of the background lower ones. The order of periods needs no priorities.
pub(super) fn set(system: &mut System, pcpu: usize, first_to_last: &[At]) {
    clear(system, first_to_last);
    let here = all(system).into_iter().filter(|&at| given(system, at) == Some(pcpu));
    let background: Vec<At> = here.filter(|at| !first_to_last.contains(at)).collect();
    clear(system, &background);
    if first_to_last.is_sorted_by_key(|&at| order(system, at)) {
        return;
    }
    let all = first_to_last.iter().chain(&background).rev();
    for (priority, &(vm, index)) in (1..).zip(all) {
        let place = system.vms[vm].name.place.clone();
        if let Some(server) = system.vms[vm].vcpus[index].server.as_mut() {
            server.priority = Some(Located::new(priority, &place));
        }
    }
}

/// Takes the priorities of these VCPUs away.
pub(super) fn clear(system: &mut System, vcpus: &[At]) {
    for &(vm, index) in vcpus {
        if let Some(server) = system.vms[vm].vcpus[index].server.as_mut() {
            server.priority = None;
        }
    }
}

/// Takes the priorities that were decided on a PCPU away.
pub(super) fn clear_pcpu(system: &mut System, open: &Open, pcpu: usize) {
    let decided = decided_on(system, open, pcpu);
    clear(system, &decided);
}

/// Returns the VCPUs of a PCPU whose priorities were decided.
pub(super) fn decided_on(system: &System, open: &Open, pcpu: usize) -> Vec<At> {
    explicit(system, pcpu).into_iter().filter(|at| open.priorities.contains(at)).collect()
}

/// Returns the VCPUs of a PCPU with priorities, the highest one first.
pub(super) fn explicit(system: &System, pcpu: usize) -> Vec<At> {
    let has_one = |at: &At| {
        given(system, *at) == Some(pcpu)
            && vcpu(system, *at).server.as_ref().is_some_and(|it| it.priority.is_some())
    };
    let mut here: Vec<At> = all(system).into_iter().filter(has_one).collect();
    here.sort_by_key(|&at| order(system, at));
    here
}

/// Returns these VCPUs in the order of their most urgent tasks; those without tasks are last.
pub(super) fn by_urgency(system: &System, vcpus: &[At]) -> Vec<At> {
    let urgency = |at: &At| {
        let tasks = system.vms[at.0].tasks.iter().filter(|task| task.vcpu == at.1);
        tasks.map(|task| task.deadline).min().unwrap_or(Duration(u64::MAX))
    };
    let mut sorted = vcpus.to_vec();
    sorted.sort_by_key(|at| (urgency(at), order(system, *at)));
    sorted
}

/// Gives the VCPUs of all PCPUs whose order is open the order of their most urgent tasks.
pub(super) fn set_by_urgency(system: &mut System, open: &Open) {
    for pcpu in 0..system.platform.value.cpus.len() {
        let here = members(system, pcpu);
        if are_open(open, &here) {
            let urgent = by_urgency(system, &here);
            set(system, pcpu, &urgent);
        }
    }
}

/// Returns the places of neighbours in an order that can be exchanged, those with equal periods
/// first.
pub(super) fn exchanges(system: &System, order: &[At]) -> Vec<usize> {
    let period = |at: At| vcpu(system, at).order().1;
    let mut places: Vec<usize> = (1..order.len()).map(|place| place - 1).collect();
    places.sort_by_key(|&place| Reverse(period(order[place]) == period(order[place + 1])));
    places
}
