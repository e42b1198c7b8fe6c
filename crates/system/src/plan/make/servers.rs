//! Priorities of VCPUs that share a PCPU.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::address::Pcpu;
use crate::description::{self, System};
use crate::plan::{Class, Server, Vcpu};

/// Returns the VCPUs of every VM: on the PCPUs that were assigned, with a priority if they have a
/// server. If no priority is given, the shorter period has the higher priority, then the order of
/// the description; VCPUs of the background are last. If two VCPUs of one PCPU have the same
/// priority, the first in the description has the higher one.
pub(super) fn vcpus(system: &System, pcpus: &[Vec<Pcpu>]) -> Vec<Vec<Vcpu>> {
    let described = system.vms.iter().zip(pcpus);
    let described = described.map(|(vm, pcpus)| vm.vcpus.iter().zip(pcpus));
    let all: Vec<(&description::Vcpu, Pcpu)> =
        described.clone().flatten().map(|(vcpu, pcpu)| (vcpu, *pcpu)).collect();
    let mut priorities = all_different(&all).into_iter();
    let mut vcpu = |(vcpu, pcpu): (&description::Vcpu, &Pcpu), overrun, hold, entries| {
        let priority = priorities.next().flatten();
        let server = vcpu.server.as_ref().zip(priority);
        let server =
            server.map(|(it, priority)| Server { class: it.class.value, priority, overrun });
        let counter = system.platform.value.bandwidth.as_ref();
        let memory_budget = counter.and_then(|counter| vcpu.bandwidth.as_ref()?.budget(counter));
        Vcpu { pcpu: *pcpu, server, memory_budget, hold, entries }
    };
    let vms = described.enumerate().map(|(vm, vcpus)| {
        let vcpus = vcpus.enumerate();
        vcpus
            .map(|(index, at)| {
                let (overrun, hold) = (system.overrun(vm, index), system.hold(vm, index));
                vcpu(at, overrun, hold, system.entries(vm, index))
            })
            .collect()
    });
    vms.collect()
}

/// Returns the priorities of VCPUs with a server, in the order of the description: the given ones,
/// or those that follow from the order on each PCPU. If two VCPUs of a PCPU have the same priority,
/// all get others in the same order, because the hypervisor runs only plans with different
/// priorities.
fn all_different(vcpus: &[(&description::Vcpu, Pcpu)]) -> Vec<Option<u32>> {
    let servers = vcpus.iter().enumerate();
    let servers = servers.filter_map(|(at, (vcpu, pcpu))| Some((at, vcpu.server.as_ref()?, *pcpu)));
    // Before: the VCPUs of the PCPU that go first.
    let order = servers.clone().map(|(at, _, pcpu)| (pcpu, vcpus[at].0.order(), at));
    let mut order: Vec<_> = order.collect();
    order.sort_unstable();
    let mut priorities = vec![None; vcpus.len()];
    for sharing in order.chunk_by(|one, next| one.0 == next.0) {
        for (rank, (.., at)) in sharing.iter().rev().enumerate() {
            let given = vcpus[*at].0.server.as_ref().and_then(|server| server.priority.as_ref());
            priorities[*at] = Some(given.map_or(rank as u32 + 1, |given| given.value as u32));
        }
    }
    let mut ranked: Vec<_> = servers
        .map(|(at, server, pcpu)| {
            let is_background = server.class.value == Class::Background;
            (priorities[at], Reverse(is_background), Reverse(at), pcpu)
        })
        .collect();
    let mut seen = BTreeSet::new();
    if !ranked.iter().all(|(priority, .., pcpu)| seen.insert((*priority, *pcpu))) {
        // Across PCPUs too, as in queues for resources.
        ranked.sort_unstable();
        for (rank, (.., Reverse(at), _)) in ranked.into_iter().enumerate() {
            priorities[at] = Some(rank as u32 + 1);
        }
    }
    priorities
}
