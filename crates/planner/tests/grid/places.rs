//! VCPUs to PCPUs, by rules that look at utilisations only.

use system::description::{Located, System};

use crate::simple::{Place, given_share, need};

type At = (usize, usize);

/// Gives a PCPU to each VCPU that has a server and no PCPU.
pub fn place(system: &mut System, rule: Place) {
    let all: Vec<At> = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu)))
        .collect();
    let shared = free_for_sharing(system, &all);
    if shared.is_empty() {
        return;
    }
    let share = |system: &System, at| given_share(system, at).unwrap_or_else(|| need(system, at));
    let mut loads: Vec<f64> = shared
        .iter()
        .map(|&pcpu| on(system, pcpu).into_iter().map(|at| share(system, at)).sum())
        .collect();
    let is_open = |&(vm, vcpu): &At| {
        let vcpu = &system.vms[vm].vcpus[vcpu];
        vcpu.server.is_some() && vcpu.pcpu.is_none()
    };
    let mut open: Vec<(At, f64)> =
        all.into_iter().filter(is_open).map(|at| (at, share(system, at))).collect();
    open.sort_by(|one, other| other.1.total_cmp(&one.1));
    for (turn, (at, share)) in open.into_iter().enumerate() {
        let least = (0..loads.len()).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
        let first = (0..loads.len()).find(|&pcpu| loads[pcpu] + share < 0.7);
        let chosen = match rule {
            Place::Worst => least,
            Place::First => first.unwrap_or(least),
            Place::Turns => turn % loads.len(),
        };
        loads[chosen] += share;
        let vcpu = &mut system.vms[at.0].vcpus[at.1];
        let Some(server) = &vcpu.server else { continue };
        vcpu.pcpu = Some(Located::new(shared[chosen], &server.class.place));
    }
}

/// Returns the PCPUs that VCPUs without a server leave.
fn free_for_sharing(system: &System, all: &[At]) -> Vec<u64> {
    let vcpu = |&(vm, vcpu): &At| &system.vms[vm].vcpus[vcpu];
    let pcpu = |at: &At| vcpu(at).pcpu.as_ref().map(|pcpu| pcpu.value);
    let (sharing, alone): (Vec<&At>, Vec<&At>) =
        all.iter().partition(|at| vcpu(at).server.is_some());
    let mut alone_on: Vec<u64> = alone.iter().filter_map(|at| pcpu(at)).collect();
    let given: Vec<u64> = sharing.iter().filter_map(|at| pcpu(at)).collect();
    let count = system.platform.value.cpus.len() as u64;
    // The last ones that nobody asked for.
    for _ in alone.iter().filter(|at| pcpu(at).is_none()) {
        let free = (0..count).rev().find(|it| !alone_on.contains(it) && !given.contains(it));
        alone_on.extend(free);
    }
    (0..count).filter(|pcpu| !alone_on.contains(pcpu)).collect()
}

/// Returns the VCPUs on a PCPU that share it.
pub fn on(system: &System, pcpu: u64) -> Vec<At> {
    let mut found = Vec::new();
    for (vm, it) in system.vms.iter().enumerate() {
        for (index, vcpu) in it.vcpus.iter().enumerate() {
            let here = vcpu.pcpu.as_ref().is_some_and(|it| it.value == pcpu);
            if here && vcpu.server.is_some() {
                found.push((vm, index));
            }
        }
    }
    found
}
