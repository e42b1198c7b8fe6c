//! Priorities of VCPUs that share a PCPU.

use std::cmp::Reverse;

use crate::description::System;
use crate::plan::{Server, Vcpu};
use crate::units::{Duration, Pcpu};

/// The VCPUs of every VM: on the PCPUs that were assigned, with a priority if they have
/// a server. Where none is given, the shorter period goes first, then the order of the
/// description; those of the background are last.
pub(super) fn vcpus(system: &System, pcpus: &[Vec<Pcpu>]) -> Vec<Vec<Vcpu>> {
    let described = system.vms.iter().zip(pcpus);
    let described = described.map(|(vm, pcpus)| vm.vcpus.iter().zip(pcpus));
    // Before: the VCPUs of the PCPU that go first.
    let mut order: Vec<(Pcpu, Reverse<u64>, Duration, usize)> = Vec::new();
    for (index, (vcpu, pcpu)) in described.clone().flatten().enumerate() {
        let Some(server) = &vcpu.server else { continue };
        let given = server.priority.as_ref().map_or(0, |priority| priority.value);
        let period = server.class.value.budget().map_or(Duration(u64::MAX), |it| it.period);
        order.push((*pcpu, Reverse(given), period, index));
    }
    order.sort_unstable();
    let mut index = 0;
    let mut vcpu = |(vcpu, pcpu): (&crate::description::Vcpu, &Pcpu), overrun, hold, entries| {
        let server = vcpu.server.as_ref().map(|server| {
            let behind = order.iter().rev().filter(|(other, ..)| other == pcpu);
            let rank = behind.take_while(|(.., other)| *other != index).count();
            let planned = rank as u32 + 1;
            let given = server.priority.as_ref().map(|priority| priority.value as u32);
            Server { class: server.class.value, priority: given.unwrap_or(planned), overrun }
        });
        index += 1;
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
