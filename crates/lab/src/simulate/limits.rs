//! Limits of the simulator, at their places in a description.

use model::Model;
use policy::lock::VCPUS_MAX;
use sim::TASKS_MAX;
use system::description::{System, Vm};
use system::diagnostic::{Diagnostic, Errors};

use crate::failure::Failure;

/// Checks that the simulator has room for a description.
///
/// # Errors
///
/// The first task of a VCPU for which there is no room, or the first VCPU with sections.
pub fn check(described: &System, model: &Model) -> Result<(), Failure> {
    for (pcpu, index, vcpu) in model.vcpus() {
        // Work that is not described is one task more.
        let simulated = model.system.pcpus[pcpu].vcpus[index].tasks.len();
        let room = TASKS_MAX - (simulated - vcpu.tasks.len());
        let tasks = described.vms.get(vcpu.vm).into_iter().flat_map(|vm| &vm.tasks);
        let Some(task) = tasks.filter(|task| task.vcpu == vcpu.index).nth(room) else { continue };
        let message = format!("a simulated VCPU can have {room} tasks");
        let label = format!("one more of VCPU {} of `{}`", vcpu.index, vcpu.vm_name);
        let help = "give tasks to another VCPU; `bulkhead check` judges any number";
        let mistake = Diagnostic::new("out-of-range", message).at(&task.name.place, label);
        return Err(Errors::from(mistake.help(help)).into());
    }
    sections(described)
}

/// The tables of locks have room for a number of VCPUs.
fn sections(described: &System) -> Result<(), Failure> {
    let first = |vm: &Vm, vcpu: usize| {
        let tasks = vm.tasks.iter().find(|it| it.vcpu == vcpu && !it.sections.is_empty());
        tasks.map(|task| task.name.place.clone())
    };
    let mut places = described
        .vms
        .iter()
        .flat_map(|vm| (0..vm.vcpus.len()).filter_map(|vcpu| first(vm, vcpu)).collect::<Vec<_>>());
    let Some(more) = places.nth(VCPUS_MAX) else { return Ok(()) };
    let message = format!("a simulated system can have {VCPUS_MAX} VCPUs with critical sections");
    let mistake = Diagnostic::new("out-of-range", message).at(&more, "one more has this task");
    let help = "`bulkhead check` judges any number";
    Err(Errors::from(mistake.help(help)).into())
}
