//! Plans, analyses and simulates a PCPU.

use analysis::hierarchy::{self, PcpuAnalyzer};
use analysis::{Duration, Kind};
use planner::{Evaluator, Setting, Test};
use policy::color::ColorSet;
use policy::server::{self, Policy};
use policy::time::Instant;
use sim::{Execution, Limits, Pcpu, Release, Silent, Simulation};

use super::system::{System, Vcpu};
use crate::Error;

/// The result for a system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// Sum of the budgets, in 10^-9 of the PCPU and rounded up; none: some VCPU has no budget with
    /// which its tasks are in time.
    pub budgets_ppb: Option<u64>,
    /// True if the analysis guarantees that all VCPUs get their budgets and all tasks meet their
    /// deadlines.
    pub schedulable: bool,
    /// Results of the simulation, if the system has budgets.
    pub simulated: Option<Simulated>,
}

/// Results of a simulation.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Simulated {
    /// Jobs that are complete.
    pub jobs: u64,
    /// Jobs that were late.
    pub misses: u64,
    /// The longest response time by its bound, in millionths and rounded up: that of the task
    /// where it is the largest; none: no task has a bound.
    pub closest_ppm: Option<u64>,
    /// Tasks with a response time above their bound. One refutes the analysis.
    pub exceeded: u64,
}

/// Plans and analyses a system with servers of a kind, and simulates it for this time. Budgets are
/// multiples of `grain`.
///
/// # Errors
///
/// The grain is 0, or the system cannot be simulated.
pub fn evaluate(
    system: &System,
    kind: Kind,
    grain: Duration,
    simulate: Duration,
) -> Result<Outcome, Error> {
    let none = Outcome { budgets_ppb: None, schedulable: false, simulated: None };
    let Some(servers) = budgets(system, kind, grain)? else { return Ok(none) };
    let models: Vec<Vec<analysis::Task>> = system.vcpus.iter().map(Vcpu::models).collect();
    let analysed = models.iter().zip(&servers);
    let analysed: Vec<_> =
        analysed.map(|(tasks, server)| hierarchy::Vcpu::new(*server, tasks)).collect();
    let mut analyzer = PcpuAnalyzer::default();
    let schedulable = analyzer.schedulable(&analysed).is_ok();
    let ppb = |server: &analysis::Server| {
        let part = u128::from(server.budget().0) * 1_000_000_000;
        part.div_ceil(u128::from(server.period().0)) as u64
    };
    let budgets_ppb = Some(servers.iter().map(ppb).sum());
    if simulate == Duration(0) {
        return Ok(Outcome { budgets_ppb, schedulable, simulated: None });
    }
    let bounds = analyzer.response_times(&analysed);
    let mut simulation = Simulation::new(&simulated(system, &servers), 1)?;
    let limits = Limits { until: simulate.0, events: u64::MAX };
    match simulation.run(limits, &mut Silent) {
        // Jobs that pile up end a simulation: what was seen until then is true.
        Ok(_) | Err(sim::Error::Overload { .. }) => (),
        Err(error) => return Err(error.into()),
    }
    let mut seen = Simulated::default();
    for (vcpu, bounds) in bounds.iter().enumerate() {
        for (task, bound) in bounds.tasks.iter().enumerate() {
            let statistics = simulation.task(0, vcpu, task);
            seen.jobs += statistics.jobs;
            seen.misses += statistics.misses + simulation.overdue(0, vcpu, task);
            let Ok(bound) = bound else { continue };
            let longest = statistics.response_max_ns;
            seen.exceeded += u64::from(longest > bound.time.0);
            let ppm = (u128::from(longest) * 1_000_000).div_ceil(u128::from(bound.time.0.max(1)));
            seen.closest_ppm = seen.closest_ppm.max(Some(ppm.try_into().unwrap_or(u64::MAX)));
        }
    }
    Ok(Outcome { budgets_ppb, schedulable, simulated: Some(seen) })
}

/// Returns the servers with the least budgets.
fn budgets(
    system: &System,
    kind: Kind,
    grain: Duration,
) -> Result<Option<Vec<analysis::Server>>, Error> {
    let mut setting = Setting::new(1, Duration(0))?.with_grain(grain)?;
    (setting.kind, setting.test) = (kind, Test::Supply);
    let mut evaluator = Evaluator::new(setting);
    // The one colour costs nothing to load again.
    let only: ColorSet = ColorSet::from_bits(1);
    let mut servers = Vec::with_capacity(system.vcpus.len());
    for vcpu in &system.vcpus {
        let tasks: Vec<planner::Task> = vcpu
            .models()
            .into_iter()
            .map(|task| planner::Task::new(task, &[task.wcet()]))
            .collect::<Result<_, _>>()?;
        let (tasks, sets): (Vec<_>, Vec<_>) = tasks.iter().map(|task| (task, only)).unzip();
        let whole = [Duration(0), vcpu.period];
        let budget = evaluator.least_budget(&tasks, &sets, vcpu.period, whole);
        let Some(budget) = budget else { return Ok(None) };
        servers.push(analysis::Server::new(kind, budget, vcpu.period)?);
    }
    Ok(Some(servers))
}

/// The same for the simulator.
fn simulated(system: &System, servers: &[analysis::Server]) -> sim::System {
    let vcpu = |(vcpu, server): (&Vcpu, &analysis::Server)| {
        let task = |task: &super::Task| sim::Task {
            name: String::new(),
            offset: task.offset.0,
            period: task.model.period().0,
            deadline: task.model.deadline().0,
            release: Release::Periodic,
            execution: Execution::Always(task.model.wcet().0),
            accesses: sim::Accesses::None,
        };
        sim::Vcpu::new("", policy(server), vcpu.tasks.iter().map(task).collect())
    };
    sim::System::new(vec![Pcpu { vcpus: system.vcpus.iter().zip(servers).map(vcpu).collect() }])
}

fn policy(server: &analysis::Server) -> Policy {
    let parameters = server::Parameters {
        budget: policy::time::Duration(server.budget().0),
        period: policy::time::Duration(server.period().0),
        start: Instant(0),
        overrun: policy::time::Duration::ZERO,
    };
    server.kind().policy(parameters)
}

impl Vcpu {
    /// Its tasks as they are analysed.
    fn models(&self) -> Vec<analysis::Task> {
        self.tasks.iter().map(|task| task.model).collect()
    }
}
