//! Advice and remarks beside bounds.

use planner::completion;
use system::description::{self, Channel, System};
use system::plan::{Plan, Vm};
use verdict::{VcpuVerdict, Verdict};

/// Returns advice for VCPUs with tasks that can be late, and for chains that are late.
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

/// Returns notes on tasks whose execution times were not monotone.
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

/// Returns notes on steps from which no channel leads to the VM of the next one, which may get its data in
/// other ways: through a device, or through what a machine controls.
pub fn without_channel(system: &System) -> Vec<String> {
    let mut notes = Vec::new();
    for chain in &system.chains {
        for (from, to) in chain.steps.windows(2).map(|steps| (steps[0].vm, steps[1].vm)) {
            let leads = |it: &Channel| it.from == from && it.to.contains(&to);
            if from != to && !system.channels.iter().any(leads) {
                let [from, to] = [from, to].map(|vm| system.vms[vm].name.value.as_str());
                notes.push(format!(
                    "no channel leads from VM `{from}` to VM `{to}`: how data of chain `{}` gets \
                     there, and how long that takes, is not known",
                    chain.name.value
                ));
            }
        }
    }
    notes.dedup();
    notes
}

/// Returns a note on VMs without colours where others have colours, or on the hypervisor without.
pub fn note_on_colors(plan: &Plan) -> Option<String> {
    let (with, without): (Vec<&Vm>, Vec<_>) = plan.vms.iter().partition(|vm| vm.colors().is_some());
    if with.is_empty() {
        return None;
    }
    if without.is_empty() {
        let own = plan.platform.hypervisor_area;
        let note = "the hypervisor has no colours and can evict a few cache lines of all VMs: \
                    `hypervisor_colors` gives it some";
        return own.is_none().then(|| note.into());
    }
    let names: Vec<String> = without.iter().map(|vm| format!("`{}`", vm.name)).collect();
    let names = names.join(", ");
    Some(format!("VMs without colours can evict cache lines of all others: {names}"))
}
