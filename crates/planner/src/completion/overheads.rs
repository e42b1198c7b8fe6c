//! The time that the hypervisor takes from VCPUs that share a PCPU.
//!
//! The time that a VCPU loses because of its neighbours is known only when all VCPUs have their
//! PCPUs, and these follow from the budgets. So budgets are first planned as if no VCPU had a
//! neighbour, and then with more and more neighbours, until all planned tasks meet their deadlines
//! where they are.

use analysis::Duration;
use system::description::{System, Task};
use system::diagnostic::{Diagnostic, Errors};
use verdict::VcpuVerdict;

use super::{Obstacle, cannot_plan, section, verdict};

/// Tasks beyond which a system is large: less is tried then.
const LARGE: usize = 40;

/// Returns true if a system is large.
pub(super) fn is_large(system: &System) -> bool {
    system.vms.iter().map(|vm| vm.tasks.len()).sum::<usize>() > LARGE
}

/// Returns the first system of those with more and more neighbours that holds, for `planned` VMs.
pub(super) fn settle(
    system: &System,
    planned: &[usize],
    with_neighbours: impl Fn(u64) -> Result<System, Obstacle>,
) -> Result<System, Obstacle> {
    let first = with_neighbours(0)?;
    if system.platform.value.overheads.is_none() || late(&first, planned).is_none() {
        return Ok(first);
    }
    // What waits for resources needs more than the time for neighbours.
    let mut tasks = system.vms.iter().flat_map(|vm| &vm.tasks);
    if is_large(system) && tasks.any(|task| !task.sections.is_empty()) {
        return Err(Obstacle::Overheads(Box::new(first)));
    }
    let vcpus = system.vms.iter().flat_map(|vm| &vm.vcpus);
    let others = vcpus.filter(|vcpu| vcpu.server.is_some()).count().saturating_sub(1) as u64;
    let counts = (0..).map(|power| 1u64 << power).take_while(|count| *count < 2 * others);
    for count in counts {
        match with_neighbours(count.min(others)) {
            Ok(found) if late(&found, planned).is_none() => return Ok(found),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Err(Obstacle::Overheads(Box::new(first)))
}

/// Returns a task of these VMs that is late: the VCPU and the index of the task there.
fn late(system: &System, planned: &[usize]) -> Option<(VcpuVerdict, usize)> {
    let is_planned = |name: &str| planned.iter().any(|&vm| system.vms[vm].name.value == name);
    let vcpus = verdict(system)?.pcpus.into_iter().flat_map(|pcpu| pcpu.vcpus);
    let mut late = vcpus.filter(|vcpu| is_planned(&vcpu.vm)).filter_map(|vcpu| {
        let task = vcpu.tasks.iter().position(|task| !task.ok)?;
        Some((vcpu, task))
    });
    late.next()
}

/// Explains why the best system that was found does not hold.
pub(super) fn explain(best: &System) -> Errors {
    let all: Vec<usize> = (0..best.vms.len()).collect();
    let Some((vcpu, task)) = late(best, &all) else {
        return cannot_plan("VCPUs that share PCPUs need more time than there is").into();
    };
    let task = &vcpu.tasks[task];
    let late = match task.wcrt_ns {
        Some(wcrt) => format!("is late by {}", Duration(wcrt.saturating_sub(task.deadline_ns))),
        None => "has no bound".into(),
    };
    let (circumstances, change) = circumstances(best, &vcpu);
    let mut message = format!(
        "task `{}` of VM `{}` {late}{circumstances}, with the time that the hypervisor takes",
        task.task, vcpu.vm
    );
    if task.wcrt_ns.is_none() {
        message = format!("{message}: {}", vcpu.why_no_bound(task));
    }
    let enough = section::advice(best, task);
    let help = enough.unwrap_or_else(|| change.into());
    let mistake = cannot_plan(message).help(help);
    let vms = best.vms.iter().filter(|vm| vm.name.value == vcpu.vm);
    let mut tasks = vms.flat_map(|vm| &vm.tasks).filter(|it| it.name.value == task.task);
    let at =
        |described: &Task| -> Diagnostic { mistake.clone().at(&described.name.place, "this task") };
    tasks.next().map_or_else(|| mistake.clone(), at).into()
}

/// Returns a clause that says what delays the tasks of a VCPU beside the hypervisor, and the changes that help.
fn circumstances(system: &System, vcpu: &VcpuVerdict) -> (&'static str, &'static str) {
    let vms = || system.vms.iter();
    let own = vms().find(|vm| vm.name.value == vcpu.vm);
    let own = own.and_then(|vm| Some((vm, vm.vcpus.get(vcpu.vcpu)?)));
    let is_limited = own.is_some_and(|(vm, it)| vm.bandwidth.is_some() || it.bandwidth.is_some());
    let pcpu = own.and_then(|(_, it)| it.pcpu.as_ref()).map(|it| it.value);
    let here =
        vms().flat_map(|vm| &vm.vcpus).filter(|it| it.pcpu.as_ref().map(|it| it.value) == pcpu);
    match (is_limited, here.count() > 1) {
        (true, _) => (
            " where a limit on memory accesses can stop its VCPU",
            "give the VCPU a larger limit (`bandwidth`), tasks longer deadlines or fewer accesses, or VCPUs longer periods",
        ),
        (false, true) => (
            " where its VCPU shares a PCPU",
            "give VCPUs longer periods, tasks longer deadlines, or the platform more CPUs",
        ),
        (false, false) => ("", "give VCPUs longer periods, or tasks longer deadlines"),
    }
}
