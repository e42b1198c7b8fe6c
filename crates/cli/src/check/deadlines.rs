//! What `check` and `plan` say beside bounds.

use planner::completion;
use system::description::{self, System};
use verdict::{VcpuVerdict, Verdict};

/// What would help VCPUs with tasks that can be late, and chains that are.
pub fn advice(system: &System, verdict: &Verdict) -> Vec<String> {
    let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
    let late = vcpus.filter(|vcpu| vcpu.tasks.iter().any(|task| !task.ok));
    let advice = |vcpu: &VcpuVerdict| {
        let vm = system.vms.iter().position(|vm| vm.name.value == vcpu.vm)?;
        let advice = completion::advice::of_vcpu(system, verdict, vm, vcpu.vcpu)?;
        Some(format!("VCPU {} of VM `{}`: {advice}", vcpu.vcpu, vcpu.vm))
    };
    let chains = (0..verdict.chains.len()).filter_map(|chain| {
        let advice = completion::advice::of_chain(system, verdict, chain)?;
        Some(format!("chain `{}`: {advice}", verdict.chains[chain].chain))
    });
    late.filter_map(advice).chain(chains).collect()
}

/// Notes on tasks whose execution times were not monotone.
pub fn raised(system: &System) -> Vec<String> {
    let tasks = system.vms.iter().flat_map(|vm| vm.tasks.iter().map(move |task| (vm, task)));
    let raised = tasks.filter(|(_, task)| task.wcet_raised);
    let note = |(vm, task): (&description::Vm, &description::Task)| {
        format!(
            "task `{}` of VM `{}` takes longer with more colours: the longer time is used for fewer \
             colours, too",
            task.name.value, vm.name.value
        )
    };
    raised.map(note).collect()
}
