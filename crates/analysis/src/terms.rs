//! The terms of a response time.

use crate::memory::Waits;
use crate::overheads::Source;
use crate::response::{Response, Workload, jitter_by_suspension, reloads};
use crate::supply::Supply;
use crate::{Caches, Duration, Failure};

/// The parts of a window, which add up to it, and the jitter.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Terms {
    /// Execution of the jobs of the task itself: `(q + 1) C_i`.
    pub execution: Duration,
    /// Blocking by tasks of lower priority.
    pub blocking: Duration,
    /// Its own suspensions.
    pub suspension: Duration,
    /// The jitter that counts in the response time: none if events release jobs.
    pub jitter: Duration,
    /// Waiting for resources that others hold; only if critical sections are analysed
    /// ([`crate::vmpcp`]).
    pub remote: Duration,
    /// Each task above it, by its index.
    pub above: Vec<Above>,
    /// VCPUs above one of the background class.
    pub servers: Duration,
    /// Waiting for accesses of other PCPUs.
    pub memory: Duration,
    /// Waiting for the VCPU's own budget of accesses.
    pub memory_budget: Duration,
    /// Time of the hypervisor, by source.
    pub overheads: Vec<(Source, Duration)>,
    /// Time without supply: the budget is used up, or VCPUs above run.
    pub supply: Duration,
}

/// The time that a task above takes in a window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Above {
    /// Its index.
    pub task: usize,
    /// Its jobs in the window.
    pub jobs: u64,
    /// The execution of these jobs.
    pub execution: Duration,
    /// Cache-related preemption delay that they cause; for a task that suspends itself, including
    /// the delay each time that it continues.
    pub cache: Duration,
}

/// Returns the terms of the window of task `index`, if it has a bound; `responses` are those of all
/// tasks of the workload.
pub fn terms(
    workload: &Workload<'_>,
    responses: &[Result<Response, Failure>],
    index: usize,
) -> Option<Terms> {
    let response = responses.get(index)?.ok()?;
    let (window, task) = (response.window.0, workload.tasks.get(index)?);
    let delays = Caches::delays_from(workload.caches.as_ref(), index).skip(1);
    let tasks = workload.tasks.iter().zip(responses).take(index).enumerate();
    let above = tasks.rev().zip(delays).map(|((h, (it, response)), delay)| {
        let jitter = match response {
            Ok(response) if it.suspension > 0 => jitter_by_suspension(workload, h, response),
            _ => it.jitter,
        };
        let jobs = it.period.ceil(window + jitter + workload.jitter.0);
        let delay = reloads(it, delay);
        // The window holds all of it, so that no product overflows.
        Above { task: h, jobs, execution: Duration(jobs * it.wcet), cache: Duration(jobs * delay) }
    });
    let mut above: Vec<_> = above.collect();
    above.reverse();
    let servers = match workload.supply {
        Supply::Leftover(servers) => servers,
        _ => &[],
    };
    let servers = servers
        .iter()
        .map(|server| server.divisor().ceil(window + server.jitter().0) * server.budget().0);
    let waits = if task.suspension > 0 { response.jobs } else { 1 };
    let memory = workload.contention.map_or(Waits::default(), |contention| {
        let jobs = above.iter().rev().map(|it| u128::from(it.jobs));
        let each = jobs.zip(contention.above(workload, index));
        let each = each.map(|(jobs, accesses)| jobs * u128::from(accesses));
        let beside = contention.beside(workload, index, response.jobs);
        contention.waits(beside.map(|beside| each.fold(beside, u128::saturating_add)), window)
    });
    let mut terms = Terms {
        execution: Duration(response.jobs * task.wcet),
        blocking: Duration(waits * task.blocking),
        suspension: Duration(response.jobs * task.suspension),
        jitter: Duration(task.origin(response.jobs).1),
        remote: Duration(0),
        above,
        servers: Duration(servers.sum()),
        memory: Duration(memory.others as u64),
        memory_budget: Duration(memory.budget as u64),
        overheads: workload.overheads.map_or(Vec::new(), |it| it.of_window(response.window)),
        supply: Duration(0),
    };
    let others = terms.above.iter().map(|it| it.execution.0 + it.cache.0).sum::<u64>();
    let own = terms.execution.0 + terms.blocking.0 + terms.suspension.0;
    let memory = terms.memory.0 + terms.memory_budget.0;
    let taken = terms.overheads.iter().map(|(_, time)| time.0).sum::<u64>();
    terms.supply = Duration(window - own - others - terms.servers.0 - memory - taken);
    Some(terms)
}
