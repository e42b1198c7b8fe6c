//! The parameters of certificates: the values on which the bounds of a verdict rest.

use analysis::memory::{Contention, Curve, Interferer};
use analysis::overheads::Overheads;
use analysis::{Duration, Server, Task};
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
            let here = &members[first..=place];
            match locks.get(place).and_then(Option::as_ref) {
                None => vcpu(here, verdicts.get(place)?, late),
                Some(bounds) => locked(&members[place], verdicts.get(place)?, bounds),
            }
        };
        (0..members.len()).filter_map(place).collect()
    }
}

/// Returns the parameters of the last of these VCPUs, if it has tasks; the others are above on its
/// PCPU. `late`: the time for which the PCPU serves nothing.
fn vcpu(members: &[Member<'_>], verdict: &VcpuVerdict, late: u64) -> Option<written::Vcpu> {
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
    let lack = lack(member);
    let mut tasks: Vec<_> = member
        .tasks
        .iter()
        .zip(&verdict.tasks)
        .enumerate()
        .map(|(index, (task, verdict))| self::task(member, index, task, verdict, lack.as_ref()))
        .collect();
    for tie in ties::of(member) {
        let tie = &mut tasks[tie];
        // What holds off one of them holds off all.
        let blocking = tie.iter().map(|task| task.blocking).max().unwrap_or(0);
        tie.iter_mut().for_each(|task| task.blocking = blocking);
        // All but the last one.
        tie.iter_mut().rev().skip(1).for_each(|task| task.tied = true);
    }
    let contention = member.memory.contention();
    Some(written::Vcpu {
        vm: member.vm.into(),
        vcpu: member.index,
        above: servers,
        place,
        late,
        tasks,
        reload: member.reload.map_or(0, |reload| reload.0),
        sources: sources(member),
        once: member.overhead(),
        interferers: contention.map_or(Vec::new(), |it| interferers(&it)),
        on_way: contention.map_or(0, |it| it.bus.in_flight),
        reloads_of_color: contention.map_or(0, |it| it.reload),
        locks: false,
    })
}

/// Returns the parameters of a VCPU on a PCPU with critical sections, if it has tasks. What the theorem takes as its hypothesis
/// is what the analysis computed: when the VCPU has its budget, and how long its tasks wait for others.
fn locked(
    member: &Member<'_>,
    verdict: &VcpuVerdict,
    bounds: &locks::Bounds,
) -> Option<written::Vcpu> {
    if member.tasks.is_empty() {
        return None;
    }
    let place = match (member.vcpu.server, server(member), verdict.wcrt_ns) {
        (None, ..) => Place::Whole,
        (_, Some(own), Some(response)) => Place::Promised { own, response },
        _ => Place::Nothing,
    };
    let has_sections = |task: usize| member.sections.get(task).is_some_and(|it| !it.is_empty());
    let of = |(index, verdict): (usize, &TaskVerdict)| {
        let bound = bounds.tasks.get(index).and_then(|it| it.as_ref().ok());
        let own = member.tasks[index].with_more_wcet(member.memory_delay(index));
        // While it suspends itself, any number of sections below can begin: as many as jobs there.
        let asleep = own.suspension() > Duration(0);
        let many = asleep && (index + 1..member.tasks.len()).any(has_sections);
        let lack = (bound.is_some() && many).then_some(Lack::Sections);
        let each = |time: u64, jobs: u64| time.checked_div(jobs).unwrap_or(0);
        let remote = bound.map_or(0, |it| each(it.remote.0, it.jobs));
        written::Task {
            blocking: bound.map_or(0, |it| each(it.local.0, it.blocked)),
            suspension: own.suspension().0.saturating_add(remote),
            colors: 0,
            accesses: None,
            ..task(member, index, &own, verdict, lack.as_ref())
        }
    };
    Some(written::Vcpu {
        tasks: verdict.tasks.iter().enumerate().take(member.tasks.len()).map(of).collect(),
        sources: sources(member),
        locks: true,
        ..written::Vcpu::new(member.vm, member.index, place)
    })
}

/// Returns the recurring events of the hypervisor.
fn sources(member: &Member<'_>) -> Vec<written::Source> {
    let source = |it: Task| written::Source {
        cost: it.wcet().0,
        spacing: it.period().0,
        early: it.jitter().0,
    };
    member.overheads.iter().flat_map(Overheads::as_tasks).map(source).collect()
}

/// Returns the other PCPUs for which tasks wait.
fn interferers(contention: &Contention<'_>) -> Vec<written::Interferer> {
    let limit = |curve: &Curve| written::Limit {
        step: curve.staircase().step().0,
        span: curve.staircase().period().0,
        after: curve.late().0,
        credit: curve.credit().0,
    };
    let interferer = |it: &Interferer| written::Interferer {
        wait: it.pcpus.saturating_mul(contention.bus.latency.0),
        limits: it.limit.as_ref().map(|curves| curves.iter().map(limit).collect()),
    };
    contention.interferers.iter().map(interferer).collect()
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
fn lack(member: &Member<'_>) -> Option<Lack> {
    let asleep = |task: usize| member.tasks[task].suspension() > Duration(0);
    if member.memory.contention().is_some_and(|it| it.throttle.is_some()) {
        Some(Lack::Throttled)
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
        accesses: member.memory.accesses.get(index).copied().flatten(),
        tied: false,
        bound: match (verdict.wcrt_ns, lack) {
            (None, _) => Err(Lack::NoBound),
            _ if !verdict.ok => Err(Lack::Late),
            (_, Some(lack)) => Err(lack.clone()),
            _ if task.counts_from_event() => Err(Lack::Triggered),
            (Some(bound), None) => Ok(bound),
        },
    }
}

/// Returns the server of a VCPU: with the budget in whole ticks, and the one that others count.
fn server(member: &Member<'_>) -> Option<written::Server> {
    let (own, counted): (Server, Server) = (member.server_in_ticks()?, member.server()?);
    Some(written::Server {
        kind: own.kind(),
        budget: own.budget().0,
        counted: counted.budget().0,
        period: own.period().0,
    })
}
