//! Limits of the simulator, at their places in a description.

use model::Model;
use sim::TASKS_MAX;
use system::description::System;
use system::diagnostic::{Diagnostic, Errors};

use crate::failure::Failure;

/// Refuses the first task of a VCPU for which the simulator has no room.
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
    Ok(())
}
