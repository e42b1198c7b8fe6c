//! The parameters of certificates: what the bounds of a verdict rest on.

use analysis::overheads::Overheads;
use analysis::{Duration, Kind, Server, Task};
use certificate::{self as written, Lack, Place};
use system::description::System;
use system::plan::{self, Plan};

use crate::member::Member;
use crate::memory::Accesses;
use crate::verdict::{TaskVerdict, VcpuVerdict, Verdict};
use crate::{judge, locks, ties};

impl Verdict {
    /// Returns the parameters of all VCPUs with tasks for certificates, in the order of the verdict,
    /// which is that of [`Verdict::of_plan`] for this plan and description.
    pub fn certificates(&self, plan: &Plan, described: &System) -> Vec<written::Vcpu> {
        let vms: Vec<_> = plan.vms.iter().map(|vm| (vm.name.as_str(), &*vm.vcpus)).collect();
        self.certificates_of(&vms, described, Some(plan.platform.serial.pcpu.0))
    }

    /// Returns the same for a verdict of [`Verdict::of_description`].
    pub fn certificates_without_plan(
        &self,
        system: &System,
        vcpus: &[Vec<plan::Vcpu>],
    ) -> Vec<written::Vcpu> {
        let names = system.vms.iter().map(|vm| vm.name.value.as_str());
        let vms: Vec<_> = names.zip(vcpus.iter().map(Vec::as_slice)).collect();
        self.certificates_of(&vms, system, Some(judge::console_of(system, vcpus)))
    }

    fn certificates_of(
        &self,
        vms: &[(&str, &[plan::Vcpu])],
        described: &System,
        console: Option<u32>,
    ) -> Vec<written::Vcpu> {
        let vcpus: Vec<_> = vms.iter().map(|(_, vcpus)| *vcpus).collect();
        let accesses = Accesses::new(described, &vcpus);
        let members = judge::members(vms, Some(described), accesses.as_ref(), console);
        let locks = locks::bounds(described, &members);
        let verdicts: Vec<_> = self.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus).collect();
        let place = |place: usize| {
            let pcpu = members[place].vcpu.pcpu;
            let first = members.iter().position(|it| it.vcpu.pcpu == pcpu).unwrap_or(place);
            let here: Vec<_> = members.iter().filter(|it| it.vcpu.pcpu == pcpu).collect();
            let late = late(&here);
            let locks = locks.get(place).is_some_and(Option::is_some);
            vcpu(&members[first..=place], verdicts.get(place)?, late, locks)
        };
        (0..members.len()).filter_map(place).collect()
    }
}

/// Returns the parameters of the last of these VCPUs, if it has tasks; the others are above on its
/// PCPU. `late`: the time for which the PCPU serves nothing; `locks`: there are critical sections.
fn vcpu(
    members: &[Member<'_>],
    verdict: &VcpuVerdict,
    late: u64,
    locks: bool,
) -> Option<written::Vcpu> {
    let (member, above) = members.split_last()?;
    if member.tasks.is_empty() {
        return None;
    }
    let servers: Vec<_> = above.iter().map_while(server).collect();
    let place = match member.vcpu.server {
        None => Place::Whole,
        Some(_) => match (server(member), verdict.wcrt_ns) {
            (Some(own), Some(response)) => Place::Served { own, response },
            (None, _) if servers.len() == above.len() && member.server().is_none() => {
                Place::Background
            }
            _ => Place::Nothing,
        },
    };
    let alone = above.is_empty() && member.server().is_some_and(|it| it.gap() == Duration(0));
    let late = match place {
        Place::Served { .. } if !alone => late.saturating_mul(members.len() as u64),
        _ => 0,
    };
    let lack = lack(member, locks);
    let mut tasks: Vec<_> = member
        .tasks
        .iter()
        .zip(&verdict.tasks)
        .enumerate()
        .map(|(index, (task, verdict))| self::task(member, index, task, verdict, lack.as_ref()))
        .collect();
    for task in ties::of(member).into_iter().flatten() {
        tasks[task].bound = Err(Lack::SamePriority);
    }
    let events = member.overheads.iter().flat_map(Overheads::as_tasks);
    let source = |it: Task| written::Source {
        cost: it.wcet().0,
        spacing: it.period().0,
        early: it.jitter().0,
    };
    Some(written::Vcpu {
        vm: member.vm.into(),
        vcpu: member.index,
        above: servers,
        place,
        late,
        tasks,
        reload: member.reload.map_or(0, |reload| reload.0),
        sources: events.map(source).collect(),
        once: member.overhead(),
    })
}

/// Returns the time for which a PCPU with these VCPUs serves nothing, as the analysis counts it.
fn late(members: &[&Member<'_>]) -> u64 {
    let mut late = 0;
    for member in members {
        late = member.costs.map_or(late, |costs| costs.late.0);
        if member.server().is_none() {
            break;
        }
    }
    late
}

/// Returns the reason why no bound of the VCPU has a certificate, if there is one.
fn lack(member: &Member<'_>, locks: bool) -> Option<Lack> {
    let asleep = |task: usize| member.tasks[task].suspension() > Duration(0);
    if locks {
        Some(Lack::Sections)
    } else if member.memory.contention().is_some() {
        Some(Lack::Memory)
    } else if ties::of(member).into_iter().flatten().any(asleep) {
        // The others are judged as if these tasks executed meanwhile.
        Some(Lack::SamePriority)
    } else {
        None
    }
}

fn task(
    member: &Member<'_>,
    index: usize,
    task: &Task,
    verdict: &TaskVerdict,
    lack: Option<&Lack>,
) -> written::Task {
    let colors = member.caches().and(member.colors.get(index));
    written::Task {
        name: verdict.task.clone(),
        wcet: task.wcet().0,
        period: task.period().0,
        deadline: task.deadline().0,
        jitter: task.jitter().0,
        blocking: task.blocking().0,
        suspension: task.suspension().0,
        colors: colors.map_or(0, |colors| colors.bits()),
        bound: match (verdict.wcrt_ns, lack) {
            (_, Some(lack)) => Err(lack.clone()),
            _ if task.counts_from_event() => Err(Lack::Triggered),
            (None, None) => Err(Lack::NoBound),
            (Some(_), None) if !verdict.ok => Err(Lack::Late),
            (Some(bound), None) => Ok(bound),
        },
    }
}

/// Returns the server of a VCPU: with the budget in whole ticks, and the one that others count.
fn server(member: &Member<'_>) -> Option<written::Server> {
    let (own, counted): (Server, Server) = (member.server_in_ticks()?, member.server()?);
    let kind = match own.kind() {
        Kind::Periodic => written::Kind::Periodic,
        Kind::Deferrable => written::Kind::Deferrable,
        Kind::Sporadic => written::Kind::Sporadic,
    };
    Some(written::Server {
        kind,
        budget: own.budget().0,
        counted: counted.budget().0,
        period: own.period().0,
    })
}
