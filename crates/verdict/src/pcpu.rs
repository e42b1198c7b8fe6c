//! The verdicts on the VCPUs of a PCPU and their tasks.

use std::cmp::Reverse;

use analysis::response::{Analyzer, Response};
use analysis::supply::{ServerSupply, Supply};
use analysis::terms::{Above, Terms, terms};
use analysis::{Duration, Failure, Reason, Server, utilization, vcpu};

use crate::combined::Combination;
use crate::limits::LIMITS;
use crate::member::Member;
use crate::verdict::{Part, PcpuVerdict, TaskVerdict, Term, VcpuVerdict};
use crate::{locks, ties};

/// Maximum number of terms of a bound that are kept.
const TERMS_MAX: usize = 100;

/// The detail of a verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Detail {
    /// All, also the terms of bounds.
    Terms,
    /// No terms of bounds: a search asks too often for them.
    Bounds,
}

/// Returns the verdict on a PCPU with at least one VCPU, the highest priority first. `locks`: the
/// bounds of VCPUs that locks affect, one element for each VCPU.
pub(crate) fn verdict(
    members: &[Member<'_>],
    locks: &[Option<locks::Bounds>],
    detail: Detail,
) -> PcpuVerdict {
    let servers = Servers::new(members.iter());
    let vcpus = members.iter().zip(locks).enumerate().map(|(place, (member, locks))| {
        let mut others = members.iter().enumerate().filter(|(other, _)| *other != place);
        let evicted = others.any(|(_, other)| member.is_evicted_by(other));
        if let Some(bounds) = locks {
            return locked_verdict(member, evicted, bounds, detail);
        }
        let response = servers.responses.get(place).copied();
        vcpu_verdict(member, evicted, response, servers.supply(member, place), detail)
    });
    PcpuVerdict {
        pcpu: members.first().map_or(0, |member| member.vcpu.pcpu.0),
        budgets_ppm: utilization::utilization_of_servers(&servers.servers).ppm(),
        vcpus: vcpus.collect(),
    }
}

/// The servers of a PCPU, the highest priority first.
pub(crate) struct Servers {
    servers: Vec<Server>,
    responses: Vec<Result<Duration, Failure>>,
}

impl Servers {
    /// Makes the servers of the VCPUs of a PCPU, the highest priority first.
    pub fn new<'m, 'a: 'm>(members: impl Iterator<Item = &'m Member<'a>>) -> Self {
        let mut late = Duration(0);
        let servers = members.map_while(|member| {
            late = member.costs.map_or(late, |costs| costs.late);
            member.server()
        });
        let servers: Vec<Server> = servers.collect();
        let responses = vcpu::late_response_times(&servers, late);
        Self { servers, responses }
    }

    /// Returns the supply that the VCPU in this place is guaranteed, if any.
    pub fn supply(&self, member: &Member<'_>, place: usize) -> Option<Supply<'_>> {
        match (member.vcpu.server, self.responses.get(place)) {
            (None, _) => Some(Supply::Whole),
            (_, Some(response)) => response.ok().and_then(|response| {
                let supply = ServerSupply::with_response(member.server_in_ticks()?, response)?;
                Some(Supply::Server(supply))
            }),
            // The first one of the background.
            (_, None) => (place == self.servers.len()).then_some(Supply::Leftover(&self.servers)),
        }
    }
}

fn vcpu_verdict(
    member: &Member<'_>,
    shares_colors: bool,
    response: Option<Result<Duration, Failure>>,
    supply: Option<Supply<'_>>,
    detail: Detail,
) -> VcpuVerdict {
    let judged = ties::judge(member, |member, sleeps| {
        task_verdicts(member, if sleeps { supply.map(Supply::with_sleep) } else { supply }, detail)
    });
    let blackout = match supply {
        Some(Supply::Server(supply)) => Some(supply.blackout()),
        _ => None,
    };
    judge(member, shares_colors, (response, blackout), Vec::new(), judged)
}

/// Returns the verdicts on the tasks of a VCPU with this supply, if it is guaranteed any.
fn task_verdicts(
    member: &Member<'_>,
    supply: Option<Supply<'_>>,
    detail: Detail,
) -> Vec<TaskVerdict> {
    let tasks = &member.tasks;
    let workload = supply.map(|supply| {
        let workload = member.workload(supply);
        let contention = member.memory.contention();
        contention.map_or(workload, |contention| workload.with_contention(contention))
    });
    let mut responses = Vec::new();
    match &workload {
        Some(workload) => Analyzer::new(LIMITS).response_times(workload, &mut responses),
        None => {
            let none = |task| Err(Failure::NoSupply { task });
            responses.extend((0..tasks.len()).map(none));
        }
    }
    let judged = (0..tasks.len()).map(|index| {
        let workload = workload.as_ref().filter(|_| detail == Detail::Terms);
        let parts = workload.and_then(|it| terms(it, &responses, index));
        let parts = parts.map_or(Vec::new(), |parts| named(member, index, &parts));
        task_verdict(member, index, responses[index], parts)
    });
    judged.collect()
}

/// Returns the verdict on a VCPU whose bounds include the cost of locks.
fn locked_verdict(
    member: &Member<'_>,
    shares_colors: bool,
    bounds: &locks::Bounds,
    detail: Detail,
) -> VcpuVerdict {
    let judged = bounds.tasks.iter().enumerate().map(|(index, bound)| {
        let response = bound.map(|it| Response { time: it.time, window: it.window, jobs: it.jobs });
        let parts = match detail {
            Detail::Terms => parts(member, index, bounds),
            Detail::Bounds => Vec::new(),
        };
        task_verdict(member, index, response, parts)
    });
    let supply = bounds
        .server
        .and_then(Result::ok)
        .and_then(|response| ServerSupply::with_response(member.server_in_ticks()?, response));
    let blackout = supply.map(|supply| supply.blackout());
    let combined = bounds.combined.clone();
    judge(member, shares_colors, (bounds.server, blackout), combined, judged.collect())
}

/// Returns the verdict on a VCPU from those on its tasks, the response time of its server, the
/// longest time without supply, and what keeps tasks from bounds.
fn judge(
    member: &Member<'_>,
    shares_colors: bool,
    (response, blackout): (Option<Result<Duration, Failure>>, Option<Duration>),
    combined: Vec<Combination>,
    tasks: Vec<TaskVerdict>,
) -> VcpuVerdict {
    let server = member.server_in_ticks();
    let failure = response.and_then(Result::err);
    VcpuVerdict {
        vm: member.vm.into(),
        vcpu: member.index,
        server: member.vcpu.server.map(|server| server.class.as_str()),
        budget_ns: server.map(|server| server.budget().0),
        period_ns: server.map(|server| server.period().0),
        wcrt_ns: response.and_then(Result::ok).map(|time| time.0),
        blackout_ns: blackout.map(|time| time.0),
        utilization_ppm: utilization::utilization(&member.tasks, member.caches().as_ref()).ppm(),
        ok: failure.is_none(),
        failure: failure.map(|failure| failure.reason()),
        at_least_ns: match failure {
            Some(Failure::Unschedulable { at_least, .. }) => Some(at_least.0),
            _ => None,
        },
        in_section_ns: member.in_section.err().map(|it| it.taken),
        section_overhead_ns: member.in_section.err().map(|it| it.allowed),
        combined,
        unlimited_neighbours: match tasks.is_empty() {
            true => Vec::new(),
            false => member.memory.unlimited.clone(),
        },
        shares_colors,
        limited_beside_others: member.memory.limited_beside_others && !tasks.is_empty(),
        tasks,
    }
}

/// Returns the terms of a bound that includes the cost of locks.
fn parts(member: &Member<'_>, index: usize, bounds: &locks::Bounds) -> Vec<Term> {
    let Ok(bound) = bounds.tasks[index] else { return Vec::new() };
    let task = &member.tasks[index];
    let above = member.tasks.iter().zip(&bounds.tasks).take(index).enumerate();
    let above = above.map(|(above, (it, response))| {
        let jitter = response.map_or(it.jitter(), |response| response.jitter);
        let jobs = (bound.window.0 + jitter.0).div_ceil(it.period().0);
        let (execution, cache) = (Duration(jobs * it.wcet().0), Duration(0));
        Above { task: above, jobs, execution, cache }
    });
    let above: Vec<Above> = above.collect();
    let others: u64 = above.iter().map(|it| it.execution.0).sum();
    let waits = above.iter().map(|it| it.jobs * member.memory_delay(it.task).0);
    let memory = bound.jobs * member.memory_delay(index).0 + waits.sum::<u64>();
    let once = member.overhead();
    let taken = member.overheads.as_ref().map_or(Vec::new(), |it| it.of_window(bound.window));
    let again: u64 = taken.iter().map(|(_, time)| time.0).sum::<u64>().saturating_sub(once);
    let [execution, suspension] = [task.wcet(), task.suspension()].map(|time| bound.jobs * time.0);
    let own = execution + memory + again + bound.local.0 + bound.remote.0 + suspension;
    let terms = Terms {
        execution: Duration(execution),
        blocking: Duration(bound.local.0.saturating_sub(once)),
        remote: bound.remote,
        suspension: Duration(suspension),
        // This analysis counts from arrivals, also for tasks that rings release.
        jitter: task.jitter(),
        memory: Duration(memory),
        above,
        overheads: taken,
        supply: Duration(bound.window.0.saturating_sub(own + others)),
        ..Terms::default()
    };
    named(member, index, &terms)
}

fn task_verdict(
    member: &Member<'_>,
    index: usize,
    response: Result<Response, Failure>,
    terms: Vec<Term>,
) -> TaskVerdict {
    let (name, task) = (member.names[index], &member.tasks[index]);
    let slack = response.map(|response| task.deadline().0 as i64 - response.time.0 as i64);
    let ok = slack.is_ok_and(|slack| slack >= 0);
    let failure = match response {
        _ if !member.known[index] => Some(Reason::UnknownWcet),
        Ok(_) if ok => None,
        Ok(_) => Some(Reason::Unschedulable),
        Err(failure) => Some(failure.reason()),
    };
    TaskVerdict {
        task: name.into(),
        wcet_ns: task
            .wcet()
            .0
            .saturating_sub(member.job_overheads.get(index).copied().unwrap_or(0)),
        period_ns: task.period().0,
        triggered_by: member.triggers[index].map(Into::into),
        deadline_ns: task.deadline().0,
        wcrt_ns: response.ok().map(|response| response.time.0),
        slack_ns: slack.ok(),
        ok,
        failure,
        jobs: response.ok().map(|response| response.jobs),
        terms,
    }
}

/// Returns the terms of a task that are not 0, the longest first, and at most [`TERMS_MAX`].
fn named(member: &Member<'_>, index: usize, terms: &Terms) -> Vec<Term> {
    let name = |task: usize| member.names.get(task).map(|&name| name.into());
    let plain = |term, time: Duration| Term { term, task: None, jobs: None, time_ns: time.0 };
    let job = |task: usize| member.job_overheads.get(task).copied().unwrap_or(0);
    let wcet = |task: usize| member.tasks.get(task).map_or(0, |it| it.wcet().0);
    // Jobs of the task itself, and the overheads of all of them.
    let jobs = terms.execution.0.checked_div(wcet(index)).unwrap_or(0);
    let of_above = terms.above.iter().map(|above| above.jobs * job(above.task)).sum::<u64>();
    let called = |jobs: u64, task: usize| Duration(jobs * job(task));
    let less = |time: Duration, part: Duration| Duration(time.0.saturating_sub(part.0));
    let mut all = vec![
        plain(Part::Execution, less(terms.execution, called(jobs, index))),
        plain(Part::OverheadJob, Duration(jobs * job(index) + of_above)),
        plain(Part::Jitter, terms.jitter),
        plain(Part::Blocking, terms.blocking),
        plain(Part::Suspension, terms.suspension),
        plain(Part::Remote, terms.remote),
        plain(Part::Memory, terms.memory),
        plain(Part::MemoryBudget, terms.memory_budget),
        plain(Part::Servers, terms.servers),
        plain(Part::Supply, terms.supply),
    ];
    all.extend(terms.overheads.iter().map(|(source, time)| plain(Part::Overhead(*source), *time)));
    // Of many only the longest can count: no need to name the others.
    let mut longest: Vec<_> = terms.above.iter().collect();
    let key = |above: &&Above| (Reverse(above.execution.max(above.cache)), above.task);
    if longest.len() > TERMS_MAX {
        longest.select_nth_unstable_by_key(TERMS_MAX, key);
        longest.truncate(TERMS_MAX);
    }
    longest.sort_unstable_by_key(key);
    for above in longest {
        for (term, time) in [
            (Part::Preemption, less(above.execution, called(above.jobs, above.task))),
            (Part::Cache, above.cache),
        ] {
            let (task, jobs) = (name(above.task), Some(above.jobs));
            all.push(Term { term, task, jobs, time_ns: time.0 });
        }
    }
    all.retain(|term| term.time_ns > 0);
    all.sort_by_key(|term| Reverse(term.time_ns));
    all.truncate(TERMS_MAX);
    all
}
