//! Tasks that share resources: all PCPUs are analysed together, because an owner on one PCPU delays
//! tasks on others.

mod beside;
mod connected;

use std::cmp::Reverse;

use analysis::overheads::Overheads;
use analysis::vmpcp::{self, Analyzer, Bound, Host, Protocol, Variant, Vcpu};
use analysis::{Duration, Failure, Kind, Server};
use system::description::System;
use system::plan::Locks;

use crate::combined::{Combination, With};
use crate::limits::LIMITS;
use crate::member::Member;
use connected::{Reach, Reached, connected};

/// Bounds of a VCPU and its tasks, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Bound of its server, if it has one with a budget.
    pub server: Option<Result<Duration, Failure>>,
    /// Bounds of its tasks.
    pub tasks: Vec<Result<Bound, Failure>>,
    /// Things together with which sections are not analysed, if tasks have no bounds because of that.
    pub combined: Vec<Combination>,
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
            is_concerned(member).then_some(Bounds { server: None, tasks, combined: Vec::new() })
        })
        .collect();
    let concerned = |it: &usize| bounds[*it].is_some();
    let places: Vec<usize> = (0..members.len()).filter(concerned).collect();
    let of_server = |place: usize| {
        let member = &members[place];
        beside::of_server(member, has_sections(member))
    };
    let of_tasks = |place: usize| beside::of_tasks(&members[place]);
    // The time at which a VCPU executes in sections depends on its server, the amount on its tasks:
    // for other VMs the hypervisor's limits are enough.
    let has_no_server = |place: &usize| of_server(*place).is_some();
    let has_no_tasks = |place: &usize| !of_tasks(*place).is_empty();
    let lost = connected(system, members, &places, Reach::All, has_no_server);
    let unknown = connected(system, members, &places, Reach::Vm, has_no_tasks);
    for &place in &places {
        let from =
            |reached: &[Reached]| reached.iter().find(|it| it.place == place).map(|it| it.from);
        let mut found = Vec::new();
        if let Some(from) = from(&lost) {
            found.extend(
                of_server(from).map(|with| beside::named(&members[from], (with, Vec::new()))),
            );
        } else if host(&members[place]).is_none() {
            found.push(beside::named(&members[place], (With::Background, Vec::new())));
        }
        if let Some(from) = from(&unknown) {
            found.extend(of_tasks(from).into_iter().map(|it| beside::named(&members[from], it)));
        }
        bounds[place].iter_mut().for_each(|it| it.combined.clone_from(&found));
    }
    let has = |reached: &[Reached], place: usize| reached.iter().any(|it| it.place == place);
    let is_analysed = |it: &usize| !has(&lost, *it) && host(&members[*it]).is_some();
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
        if has(&unknown, place) {
            bounds[place].iter_mut().for_each(|it| it.server = server);
            continue;
        }
        // Without the tasks that stand for the hypervisor.
        let tasks =
            found.tasks[shared.tasks_of(vcpu)].iter().rev().take(members[place].tasks.len());
        let tasks = tasks.rev().copied().collect();
        bounds[place] = Some(Bounds { server, tasks, combined: Vec::new() });
    }
    bounds
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
