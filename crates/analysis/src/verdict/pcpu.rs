//! The VCPUs of a PCPU and their tasks, judged.

use super::member::Member;
use super::{PcpuVerdict, TaskVerdict, Term, VcpuVerdict};
use crate::response::{Analyzer, Response};
use crate::supply::{ServerSupply, Supply};
use crate::terms::{Terms, terms};
use crate::{Duration, Failure, LONGEST, Limits, Server, Task, utilization, vcpu};

/// Enough for all but systems that need all of their time.
const LIMITS: Limits = Limits { window: LONGEST, passes: 200_000 };

/// Most terms of a bound that are kept.
const TERMS_MAX: usize = 100;

/// A PCPU by its VCPUs, of which there is at least one, the highest priority first.
pub(super) fn verdict(members: &[Member<'_>]) -> PcpuVerdict {
    let servers = Servers::new(members.iter());
    let vcpus = members.iter().enumerate().map(|(place, member)| {
        let response = servers.responses.get(place).copied();
        let mut others = members.iter().enumerate().filter(|(other, _)| *other != place);
        let evicted = others.any(|(_, other)| member.is_evicted_by(other));
        vcpu_verdict(member, evicted, response, servers.supply(member, place))
    });
    PcpuVerdict {
        pcpu: members.first().map_or(0, |member| member.vcpu.pcpu.0),
        budgets_ppm: utilization::utilization_of_servers(&servers.servers).ppm(),
        vcpus: vcpus.collect(),
    }
}

/// The servers of a PCPU, the highest priority first.
pub(super) struct Servers {
    servers: Vec<Server>,
    responses: Vec<Result<Duration, Failure>>,
}

impl Servers {
    /// Of the VCPUs of a PCPU, the highest priority first.
    pub fn new<'m, 'a: 'm>(members: impl Iterator<Item = &'m Member<'a>>) -> Self {
        let servers: Vec<Server> = members.map_while(Member::server).collect();
        let responses = vcpu::response_times(&servers);
        Self { servers, responses }
    }

    /// What the VCPU in this place gets at least, if anything is sure.
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
) -> VcpuVerdict {
    let tasks = &member.tasks;
    let caches = member.caches();
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
        let parts = workload.as_ref().and_then(|it| terms(it, &responses, index));
        let parts = parts.map_or(Vec::new(), |parts| named(member, index, &parts));
        let verdict = task_verdict(member.names[index], &tasks[index], responses[index], parts);
        match member.known[index] {
            true => verdict,
            false => TaskVerdict { failure: Some("unknown-wcet"), ..verdict },
        }
    });
    let server = member.server_in_ticks();
    let failure = response.and_then(Result::err);
    VcpuVerdict {
        vm: member.vm.into(),
        vcpu: member.index,
        server: member.vcpu.server.map(|server| server.class.as_str()),
        budget_ns: server.map(|server| server.budget().0),
        period_ns: server.map(|server| server.period().0),
        wcrt_ns: response.and_then(Result::ok).map(|time| time.0),
        blackout_ns: match supply {
            Some(Supply::Server(supply)) => Some(supply.blackout().0),
            _ => None,
        },
        utilization_ppm: utilization::utilization(tasks, caches.as_ref()).ppm(),
        ok: failure.is_none(),
        failure: failure.map(|failure| failure.code()),
        unlimited_neighbours: match tasks.is_empty() {
            true => Vec::new(),
            false => member.memory.unlimited.clone(),
        },
        shares_colors,
        tasks: judged.collect(),
    }
}

fn task_verdict(
    name: &str,
    task: &Task,
    response: Result<Response, Failure>,
    terms: Vec<Term>,
) -> TaskVerdict {
    let slack = response.map(|response| task.deadline as i64 - response.time.0 as i64);
    let ok = slack.is_ok_and(|slack| slack >= 0);
    let failure = match response {
        Ok(_) if ok => None,
        Ok(_) => Some("unschedulable"),
        Err(failure) => Some(failure.code()),
    };
    TaskVerdict {
        task: name.into(),
        wcet_ns: task.wcet,
        period_ns: task.period().0,
        deadline_ns: task.deadline,
        wcrt_ns: response.ok().map(|response| response.time.0),
        slack_ns: slack.ok(),
        ok,
        failure,
        jobs: response.ok().map(|response| response.jobs),
        terms,
    }
}

/// The terms of a task that are not 0, the longest first, and at most [`TERMS_MAX`].
fn named(member: &Member<'_>, index: usize, terms: &Terms) -> Vec<Term> {
    let name = |task: usize| member.names.get(task).map(|&name| name.into());
    let plain = |term, time: Duration| Term { term, task: None, jobs: None, time_ns: time.0 };
    let mut all = vec![
        plain("execution", terms.execution),
        plain("jitter", member.tasks[index].jitter()),
        plain("blocking", terms.blocking),
        plain("suspension", terms.suspension),
        plain("memory", terms.memory),
        plain("memory-budget", terms.memory_budget),
        plain("servers", terms.servers),
        plain("supply", terms.supply),
    ];
    // Of many only the longest can count: no need to name the others.
    let mut longest: Vec<_> = terms.above.iter().collect();
    longest.sort_by_key(|above| std::cmp::Reverse(above.execution.max(above.cache)));
    for above in longest.into_iter().take(TERMS_MAX) {
        for (term, time) in [("preemption", above.execution), ("cache", above.cache)] {
            let (task, jobs) = (name(above.task), Some(above.jobs));
            all.push(Term { term, task, jobs, time_ns: time.0 });
        }
    }
    all.retain(|term| term.time_ns > 0);
    all.sort_by_key(|term| std::cmp::Reverse(term.time_ns));
    all.truncate(TERMS_MAX);
    all
}
