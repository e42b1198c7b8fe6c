//! The resources that tasks of a system share.

use policy::lock;
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
        ranks: ranks(plan, pcpus),
        tasks: sections,
    }
}

/// Returns the rank of each VCPU among all, by its priority and then in the order of the plan.
fn ranks(plan: &Plan, pcpus: &[Vec<Vcpu>]) -> Vec<Vec<u8>> {
    let all = || {
        plan.vms
            .iter()
            .enumerate()
            .flat_map(|(vm, it)| (0..it.vcpus.len()).map(move |vcpu| (vm, vcpu)))
    };
    let planned = plan.vms.iter().flat_map(|vm| &vm.vcpus);
    let priorities: Vec<u32> =
        planned.map(|vcpu| vcpu.server.map_or(0, |server| server.priority)).collect();
    let mut ranks = vec![0; priorities.len()];
    lock::rank(&priorities, &mut ranks);
    let rank = |it: &Vcpu| {
        all().position(|place| place == (it.vm, it.index)).map_or(u8::MAX, |index| ranks[index])
    };
    pcpus.iter().map(|vcpus| vcpus.iter().map(rank).collect()).collect()
}
