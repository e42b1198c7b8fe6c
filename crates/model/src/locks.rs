//! The resources that tasks of a system share.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sim::NO_RANK;
use system::description::System;
use system::plan::{Locks, Plan};

use crate::model::Vcpu;

/// Returns the resources that the tasks of a plan share. `described` is the description behind the
/// plan, if it is known; without it nothing is known of critical sections. `pcpus` has the VCPUs in
/// the order of the simulator.
pub(crate) fn shared(plan: &Plan, described: Option<&System>, pcpus: &[Vec<Vcpu>]) -> sim::Locks {
    let Some(system) = described else { return sim::Locks::default() };
    let global = (0..system.resources.len()).map(|resource| system.is_global(resource));
    let mut sections = Vec::new();
    for (pcpu, vcpus) in pcpus.iter().enumerate() {
        for (vcpu, it) in vcpus.iter().enumerate() {
            let vm = system.vms.get(it.vm);
            let tasks = vm.map(|vm| vm.tasks_of(it.index)).unwrap_or_default();
            for (task, (_, described)) in tasks.into_iter().enumerate() {
                if described.sections.is_empty() {
                    continue;
                }
                let section = |it: &system::description::Section| sim::Section {
                    resource: it.resource,
                    after: it.after.0,
                    length: it.length.0,
                };
                let of_task = described.sections.iter().map(section).collect();
                sections.push(sim::Sections { pcpu, vcpu, task, sections: of_task });
            }
        }
    }
    sim::Locks {
        global: global.collect(),
        ceilings: plan.locks == Locks::Vmpcp,
        ranks: ranks(system, pcpus),
        tasks: sections,
    }
}

/// Returns the rank of each VCPU with sections among those, by its priority and then in the order of
/// the plan. Beyond 254 of them ranks are alike, which the simulator refuses.
fn ranks(system: &System, pcpus: &[Vec<Vcpu>]) -> Vec<Vec<u8>> {
    let uses = |it: &Vcpu| {
        let tasks = system.vms.get(it.vm).map(|vm| vm.tasks_of(it.index)).unwrap_or_default();
        tasks.iter().any(|(_, task)| !task.sections.is_empty())
    };
    let mut users: Vec<&Vcpu> = pcpus.iter().flatten().filter(|it| uses(it)).collect();
    let priority = |it: &Vcpu| it.server.map_or(0, |server| server.priority);
    users.sort_by_key(|it| (Reverse(priority(it)), it.vm, it.index));
    let users: BTreeMap<(usize, usize), usize> =
        users.iter().enumerate().map(|(rank, it)| ((it.vm, it.index), rank)).collect();
    let rank = |it: &Vcpu| {
        let rank = users.get(&(it.vm, it.index));
        rank.map_or(NO_RANK, |rank| u8::try_from(*rank).unwrap_or(NO_RANK))
    };
    pcpus.iter().map(|vcpus| vcpus.iter().map(rank).collect()).collect()
}
