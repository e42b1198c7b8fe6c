//! Properties of a VCPU with which critical sections are not analysed.

use analysis::{Duration, Kind};

use super::host;
use crate::combined::{Combination, With};
use crate::member::Member;
use crate::ties;

/// Something with which sections are not analysed, and the places of the tasks that have it.
type Found = (With, Vec<usize>);

/// Returns the kind of the server of a VCPU if it keeps others from bounds, too: the time at which the
/// VCPU executes in sections depends on its server.
pub fn of_server(member: &Member<'_>, has_sections: bool) -> Option<With> {
    if host(member).is_none() && has_sections {
        return Some(With::Background);
    }
    let is_sporadic = member.server().is_some_and(|server| server.kind() == Kind::Sporadic);
    is_sporadic.then_some(With::SporadicServer)
}

/// Returns the things that keep VCPUs of its VM from bounds, with the tasks that have them.
pub fn of_tasks(member: &Member<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    if let Err(excess) = member.in_section {
        found.push((With::SectionOverhead { taken_ns: excess.taken }, Vec::new()));
    }
    if member.caches().is_some() {
        found.push((With::ColorReload, Vec::new()));
    }
    found.extend(ties::of(member).into_iter().map(|tie| (With::SamePriority, tie.collect())));
    found.extend(of_memory(member));
    found
}

/// Returns the things because of which the delays of its tasks by memory accesses are not counted, if these are
/// not part of execution times.
fn of_memory(member: &Member<'_>) -> Vec<Found> {
    let Some(contention) = member.memory.contention() else { return Vec::new() };
    let mut found = Vec::new();
    let tasks = |is_so: &dyn Fn(&usize) -> bool| -> Vec<usize> {
        (0..member.tasks.len()).filter(is_so).collect()
    };
    if contention.throttle.is_some() {
        let with = match member.vcpu.memory_budget {
            Some(_) => With::MemoryBudget,
            None => With::SharedMemoryBudget,
        };
        found.push((with, Vec::new()));
    }
    if contention.bus.latency == Duration(0) {
        // Nothing is known of accesses, and execution times include what others delay.
        return found;
    }
    let unknown = tasks(&|task| contention.accesses[*task].is_none());
    if !unknown.is_empty() {
        found.push((With::UnknownAccesses, unknown));
    }
    // Tasks below can make accesses while a job waits for something else.
    let last = contention.accesses.iter().rposition(|accesses| *accesses != Some(0));
    let waits = tasks(&|place| {
        let task = &member.tasks[*place];
        let waits = task.blocking() > Duration(0) || task.suspension() > Duration(0);
        waits && last.is_some_and(|last| last > *place)
    });
    if !waits.is_empty() {
        found.push((With::Waits, waits));
    }
    found
}

/// Returns this with names.
pub fn named(member: &Member<'_>, (with, tasks): Found) -> Combination {
    Combination {
        with,
        vm: member.vm.into(),
        vcpu: member.index,
        tasks: tasks.into_iter().map(|task| member.names[task].into()).collect(),
        beside: member.sections.iter().all(Vec::is_empty),
    }
}
