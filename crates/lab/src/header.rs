//! The header of a trace of a planned system.

use system::description;
use system::plan::{Plan, Server};
use trace::{Header, Origin, ServerHeader, TaskHeader, VcpuHeader, VmHeader};

/// Returns the header of traces of executions. `described` is the description of the plan, if it
/// is known: it has the tasks.
pub fn header(plan: &Plan, described: Option<&description::System>, frequency_hz: u64) -> Header {
    let vms = plan.vms.iter().enumerate().map(|(index, vm)| {
        let described = described.and_then(|system| system.vms.get(index));
        let vcpus = vm.vcpus.iter().enumerate().map(|(number, vcpu)| VcpuHeader {
            pcpu: vcpu.pcpu.0 as usize,
            server: vcpu.server.map(server),
            tasks: described.map(|vm| tasks(vm, number)).unwrap_or_default(),
        });
        VmHeader { name: vm.name.clone(), vcpus: vcpus.collect() }
    });
    Header {
        name: plan.name.clone(),
        origin: Origin::Hypervisor,
        frequency_hz,
        pcpus: plan.platform.cpus.len(),
        vms: vms.collect(),
        resources: plan.resources.iter().map(|it| it.name.clone()).collect(),
    }
}

/// Returns the entry of a server in the header of a trace.
pub fn server(server: Server) -> ServerHeader {
    let budget = server.class.budget();
    ServerHeader {
        kind: server.class.as_str().into(),
        budget_ns: budget.map(|it| it.budget.0),
        period_ns: budget.map(|it| it.period.0),
    }
}

/// Returns a VCPU's tasks, the one with the highest priority first: real-time guests number them
/// so.
fn tasks(vm: &description::Vm, vcpu: usize) -> Vec<TaskHeader> {
    let task = |(_, task): (usize, &description::Task)| TaskHeader {
        name: task.name.value.clone(),
        period_ns: (!task.sporadic).then_some(task.period.0),
        deadline_ns: Some(task.deadline.0),
    };
    vm.tasks_of(vcpu).into_iter().map(task).collect()
}
