//! Tasks that share resources: all PCPUs are analysed together, because an owner on one PCPU delays
//! tasks on others.

mod connected;

use std::cmp::Reverse;

use analysis::overheads::Overheads;
use analysis::vmpcp::{self, Analyzer, Bound, Host, Protocol, Variant, Vcpu};
use analysis::{Duration, Failure, Kind, Server};
use system::description::System;
use system::plan::Locks;

use crate::limits::LIMITS;
use crate::member::Member;
use crate::ties;
use connected::{Reach, connected};

/// Bounds of a VCPU and its tasks, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Bound of its server, if it has one with a budget.
    pub server: Option<Result<Duration, Failure>>,
    /// Bounds of its tasks.
    pub tasks: Vec<Result<Bound, Failure>>,
}

/// Returns bounds for VCPUs, PCPU by PCPU and the highest priority first; `None` for those of PCPUs
/// without critical sections, where locks change nothing. Where a VCPU cannot be analysed, VCPUs
/// that depend on it have no bounds either.
pub(crate) fn bounds(system: &System, members: &[Member<'_>]) -> Vec<Option<Bounds>> {
    let has_sections = |member: &Member<'_>| member.sections.iter().any(|it| !it.is_empty());
    let is_concerned = |member: &Member<'_>| {
        members.iter().any(|it| it.vcpu.pcpu == member.vcpu.pcpu && has_sections(it))
    };
    let mut bounds: Vec<Option<Bounds>> = members
        .iter()
        .map(|member| {
            let none = |task| match member.in_section {
                Err(_) => Err(Failure::SectionOverhead { task }),
                Ok(_) => Err(Failure::Combined { task }),
            };
            let tasks = (0..member.tasks.len()).map(none).collect();
            is_concerned(member).then_some(Bounds { server: None, tasks })
        })
        .collect();
    let concerned = |it: &usize| bounds[*it].is_some();
    let places: Vec<usize> = (0..members.len()).filter(concerned).collect();
    let has_no_server = |place: &usize| {
        let it = &members[*place];
        let background = host(it).is_none() && has_sections(it);
        background || it.server().is_some_and(|server| server.kind() == Kind::Sporadic)
    };
    let has_no_tasks = |place: &usize| {
        let it = &members[*place];
        let has_ties = !ties::of(it).is_empty();
        it.caches().is_some() || !is_counted(it) || has_ties || it.in_section.is_err()
    };
    // The time at which a VCPU executes in sections depends on its server, the amount on its tasks:
    // for other VMs the hypervisor's limits are enough.
    let lost = connected(system, members, &places, Reach::All, has_no_server);
    let unknown = connected(system, members, &places, Reach::Vm, has_no_tasks);
    let is_analysed = |it: &usize| !lost.contains(it) && host(&members[*it]).is_some();
    let places: Vec<usize> = places.into_iter().filter(is_analysed).collect();
    let ranks = ranks(members);
    let vcpu = |place: &usize| {
        let member = &members[*place];
        let task = |index: usize| {
            let task = member.tasks[index];
            let task = task.with_more_wcet(member.memory_delay(index));
            let task = task.with_more_blocking(Duration(member.overhead()));
            vmpcp::Task { task, sections: member.sections_with_overheads(system, index) }
        };
        let above = member.overheads.iter().flat_map(Overheads::as_tasks);
        let above = above.map(|task| vmpcp::Task { task, sections: Vec::new() });
        Vcpu {
            priority: ranks[*place],
            tasks: above.chain((0..member.tasks.len()).map(task)).collect(),
        }
    };
    let same = |one: &usize, other: &usize| members[*one].vcpu.pcpu == members[*other].vcpu.pcpu;
    let pcpus = places.chunk_by(same).map(|pcpu| pcpu.iter().map(vcpu).collect());
    let Ok(shared) = vmpcp::System::new(&pcpus.collect::<Vec<_>>()) else { return bounds };
    let enforced = places.iter().map(|place| members[*place].enforced(&system.resources));
    let shared = shared.enforced(&enforced.collect::<Vec<_>>());
    let hosts: Vec<Host> = places.iter().filter_map(|it| host(&members[*it])).collect();
    let protocol = match system.locks {
        Locks::Vmpcp => Protocol::Vmpcp,
        Locks::Mpcp => Protocol::Mpcp,
    };
    let mut analyzer = Analyzer::new(Variant::Sound, protocol).with_passes(LIMITS.passes);
    let found = analyzer.response_times(&shared, &hosts);
    for (vcpu, place) in places.into_iter().enumerate() {
        let server = members[place].vcpu.server.map(|_| found.servers[vcpu]);
        if unknown.contains(&place) {
            bounds[place].iter_mut().for_each(|it| it.server = server);
            continue;
        }
        // Without the tasks that stand for the hypervisor.
        let tasks =
            found.tasks[shared.tasks_of(vcpu)].iter().rev().take(members[place].tasks.len());
        let tasks = tasks.rev().copied().collect();
        bounds[place] = Some(Bounds { server, tasks });
    }
    bounds
}

/// Returns true if the delays of its tasks by memory accesses are counted, or part of execution
/// times.
fn is_counted(member: &Member<'_>) -> bool {
    let memory = &member.memory;
    let Some(contention) = memory.contention() else { return true };
    let known = memory.accesses.iter().all(Option::is_some) && contention.bus.latency.0 > 0;
    // Tasks below can make accesses while a job waits for something else.
    let waits = member
        .tasks
        .iter()
        .any(|task| task.blocking() > Duration(0) || task.suspension() > Duration(0));
    known && !waits && contention.throttle.is_none()
}

/// Returns how a VCPU gets processor time; `None` in the background.
fn host(member: &Member<'_>) -> Option<Host> {
    let Some(described) = member.vcpu.server else {
        // All of the PCPU.
        let always = Duration(1_000_000);
        let server = Server::new(Kind::Deferrable, always, always).ok()?;
        return Some(Host::new(server, false));
    };
    let host = Host::new(member.server()?, described.overrun > Duration(0));
    let late = member.costs.map_or(Duration(0), |costs| costs.late);
    Some(Host { served: member.server_in_ticks()?.budget(), late, ..host })
}

/// Returns distinct priorities, the larger one first: among VCPUs with the same priority, the first
/// one in the plan comes first in queues, and those without server have priority 0.
fn ranks(members: &[Member<'_>]) -> Vec<u32> {
    let key = |place: &usize| {
        let it = &members[*place];
        let priority = it.vcpu.server.map_or(0, |server| server.priority);
        (priority, Reverse((it.vm_index, it.index)))
    };
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(key);
    let mut ranks = vec![0; members.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = rank as u32;
    }
    ranks
}
