//! Memory budgets for VMs of a described system that have none yet.

use std::collections::BTreeSet;

use analysis::Duration;
use analysis::memory::budget::{Critical, Share, largest};
use system::description::System;
use system::plan;

use crate::member::Member;
use crate::memory::Accesses;
use crate::overheads;
use crate::pcpu::Servers;

/// A VM that is to get a memory budget for all of its VCPUs together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Open {
    /// Its index in the system.
    pub vm: usize,
    /// The period of its budget: more than 0.
    pub period: Duration,
    /// Budgets of several VMs are in proportion to this.
    pub weight: u64,
}

/// The reason why there are no budgets.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoBudgets {
    /// The platform does not state the time for which accesses delay each other.
    #[error("the platform has no `access_latency`")]
    NoLatency,
    /// The counter of the platform counts cycles or instructions.
    #[error("the platform counts no memory accesses")]
    NotCounted,
    /// Some task is not in time, even beside budgets of one access.
    #[error("tasks can be late even if the others make one access in each period")]
    Late,
}

/// Returns the largest budgets of these VMs, in accesses per period, with which all tasks of the
/// system are in time: see [`largest`]. VCPUs have their servers, places (`vcpus`:
/// [`plan::assign`]) and colours; other VMs their budgets, if they have some. Existing budgets of
/// the open VMs are ignored, except their compensation.
///
/// # Errors
///
/// See [`NoBudgets`].
pub fn memory_budgets(
    system: &System,
    vcpus: &[Vec<plan::Vcpu>],
    open: &[Open],
) -> Result<Vec<u64>, NoBudgets> {
    let counter = system.platform.value.bandwidth.as_ref();
    if !counter.is_some_and(|counter| counter.source.counts_memory()) {
        return Err(NoBudgets::NotCounted);
    }
    let by_vm: Vec<&[plan::Vcpu]> = vcpus.iter().map(Vec::as_slice).collect();
    let accesses = Accesses::known(system, &by_vm);
    let bus = accesses.bus().ok_or(NoBudgets::NoLatency)?;
    let places = by_vm.iter().enumerate().flat_map(|(vm, vcpus)| {
        vcpus.iter().enumerate().map(move |(index, vcpu)| (vm, index, *vcpu))
    });
    let mut members: Vec<Member<'_>> = places
        .map(|(vm, index, vcpu)| Member::new("", Some(system), Some(&accesses), (vm, index), vcpu))
        .collect();
    members.sort_by_key(|it| (it.vcpu.pcpu, it.vcpu.order()));
    let used = |pcpu| members.iter().any(|it| it.vcpu.pcpu.0 == pcpu);
    let console = plan::console(system.platform.value.cpus.len(), used);
    overheads::attach(&mut members, Some(system), Some(console));
    let pcpus: Vec<_> = members
        .chunk_by(|one, other| one.vcpu.pcpu == other.vcpu.pcpu)
        .map(|members| (Servers::new(members.iter()), members))
        .collect();
    let opened: Vec<usize> = open.iter().map(|it| it.vm).collect();
    let others: Vec<_> =
        (0..by_vm.len()).map(|vm| accesses.seen_by(vm, &opened).collect::<Vec<_>>()).collect();
    let mut critical = Vec::new();
    for (servers, members) in &pcpus {
        for (place, member) in members.iter().enumerate() {
            let vm = member.vm_index;
            if member.tasks.is_empty() {
                continue;
            }
            let supply = servers.supply(member, place).ok_or(NoBudgets::Late)?;
            // The budget of the VM itself is not known yet, and limits only the others.
            critical.push(Critical {
                pcpu: member.vcpu.pcpu.0,
                workload: member.workload(supply),
                accesses: &member.memory.accesses,
                reload: member.memory.reload,
                throttle: member.memory.throttle.filter(|_| !opened.contains(&vm)),
                others: &others[vm],
                counts: system.vms[vm].critical.is_some(),
            });
        }
    }
    let share = |it: &Open| {
        let vcpus = by_vm.get(it.vm).copied().unwrap_or_default();
        let compensation = system.vms.get(it.vm).and_then(|vm| vm.compensation.as_ref());
        Share {
            pcpus: vcpus.iter().map(|vcpu| vcpu.pcpu.0).collect::<BTreeSet<_>>(),
            overshoot: accesses.overshoot(it.vm, vcpus),
            period: it.period,
            weight: it.weight,
            compensation: compensation.map_or(1, |it| it.value.periods),
        }
    };
    let shares: Vec<_> = open.iter().map(share).collect();
    largest(&critical, &shares, &bus).ok_or(NoBudgets::Late)
}
