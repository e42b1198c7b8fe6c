//! Judges all VCPUs of a plan or a description.

use system::description::System;
use system::plan::{self, Plan};

use crate::chain::ChainVerdict;
use crate::member::Member;
use crate::memory::Accesses;
use crate::pcpu::Detail;
use crate::verdict::{PcpuVerdict, Verdict};
use crate::{locks, overheads, pcpu};

impl PcpuVerdict {
    /// Returns the verdict on VCPUs of a description, each with its VM and its index there. They
    /// count as if they had a PCPU of their own and ran with these parameters, and as if no VCPU on
    /// other PCPUs delayed their memory accesses or held resources that they use. There must be at
    /// least one VCPU. `console`: the PCPU serves the console. Bounds have no terms.
    pub fn of(system: &System, vcpus: &[(usize, usize, plan::Vcpu)], console: bool) -> Self {
        let member = |&(vm, index, vcpu): &(usize, usize, plan::Vcpu)| {
            let name = system.vms.get(vm).map_or("", |vm| vm.name.value.as_str());
            Member::new(name, Some(system), None, (vm, index), vcpu)
        };
        let mut members: Vec<_> = vcpus.iter().map(member).collect();
        members.sort_by_key(|it| it.vcpu.order());
        overheads::attach(&mut members, Some(system), console.then_some(0));
        pcpu::verdict(&members, &locks::bounds(system, &members), Detail::Bounds)
    }
}

impl Verdict {
    /// Returns the verdict on a plan, and on the tasks in the description from which it was made,
    /// if that is known.
    pub fn of_plan(plan: &Plan, described: Option<&System>) -> Self {
        let vms: Vec<_> = plan.vms.iter().map(|vm| (vm.name.as_str(), &*vm.vcpus)).collect();
        Self::new(&vms, described, Some(plan.platform.serial.pcpu.0))
    }

    /// Returns the verdict on a description, with its VCPUs in their assigned places
    /// ([`plan::assign`]): for machines that have no plan.
    pub fn of_description(system: &System, vcpus: &[Vec<plan::Vcpu>]) -> Self {
        let names = system.vms.iter().map(|vm| vm.name.value.as_str());
        let vms: Vec<_> = names.zip(vcpus.iter().map(Vec::as_slice)).collect();
        Self::new(&vms, Some(system), Some(console_of(system, vcpus)))
    }

    fn new(
        vms: &[(&str, &[plan::Vcpu])],
        described: Option<&System>,
        console: Option<u32>,
    ) -> Self {
        let vcpus: Vec<_> = vms.iter().map(|(_, vcpus)| *vcpus).collect();
        let accesses = described.and_then(|system| Accesses::new(system, &vcpus));
        let all = members(vms, described, accesses.as_ref(), console);
        let same = |one: &Member<'_>, other: &Member<'_>| one.vcpu.pcpu == other.vcpu.pcpu;
        let mut bounds = match described {
            Some(system) => locks::bounds(system, &all),
            None => Vec::new(),
        };
        bounds.resize_with(all.len(), || None);
        let mut bounds = bounds.into_iter();
        let verdict = |members: &[Member<'_>]| {
            let bounds: Vec<_> = bounds.by_ref().take(members.len()).collect();
            pcpu::verdict(members, &bounds, Detail::Terms)
        };
        let pcpus: Vec<_> = all.chunk_by(same).map(verdict).collect();
        let mut tasks = pcpus.iter().flat_map(|pcpu| &pcpu.vcpus).flat_map(|vcpu| &vcpu.tasks);
        let in_time = tasks.all(|task| task.ok);
        let chains = described.map(|system| ChainVerdict::all(system, pcpus.iter()));
        let chains = chains.unwrap_or_default();
        let schedulable = in_time && chains.iter().all(|chain| chain.ok);
        let overheads_unknown = described.is_some_and(|system| {
            let platform = &system.platform.value;
            let has_tasks = system.vms.iter().any(|vm| !vm.tasks.is_empty());
            has_tasks && platform.runs() && platform.overheads.is_none()
        });
        Self { schedulable, overheads_unknown, pcpus, chains }
    }
}

/// Returns the PCPU that serves the console of a description without a plan.
pub(crate) fn console_of(system: &System, vcpus: &[Vec<plan::Vcpu>]) -> u32 {
    let used = |pcpu| vcpus.iter().flatten().any(|vcpu| vcpu.pcpu.0 == pcpu);
    plan::console(system.platform.value.cpus.len(), used)
}

/// Returns all VCPUs with the time that the hypervisor takes of them: PCPU by PCPU, on each the
/// highest priority first.
pub(crate) fn members<'a>(
    vms: &[(&'a str, &[plan::Vcpu])],
    described: Option<&'a System>,
    accesses: Option<&Accesses<'_>>,
    console: Option<u32>,
) -> Vec<Member<'a>> {
    let mut all: Vec<Member<'_>> = Vec::new();
    for (vm_index, (vm, vcpus)) in vms.iter().enumerate() {
        let of_vm = vcpus.iter().enumerate();
        all.extend(
            of_vm.map(|(index, &vcpu)| {
                Member::new(vm, described, accesses, (vm_index, index), vcpu)
            }),
        );
    }
    all.sort_by_key(|it| (it.vcpu.pcpu, it.vcpu.order()));
    overheads::attach(&mut all, described, console);
    all
}
