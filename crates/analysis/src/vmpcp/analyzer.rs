//! The tasks of VCPUs (Eq. 6), and whole systems.

use super::bound::{Bound, Bounds};
use super::endless::Endless;
use super::flat::FlatTask;
use super::host::Host;
use super::pending::Pending;
use super::protocol::{Protocol, Variant};
use super::section;
use super::system::System;
use super::turns::Turns;
use crate::hierarchy::Unmet;
use crate::response::Goal;
use crate::supply::ServerSupply;
use crate::utilization::Share;
use crate::window::{self, Found, Stop, Stream, sum};
use crate::{Duration, Failure, LONGEST, Limits};

/// Steps of the search for a window, before it is asked whether there can be one.
const FEW_PASSES: u32 = 40;

/// Analyses systems, without allocating memory for each.
#[derive(Clone, Debug)]
pub struct Analyzer {
    variant: Variant,
    protocol: Protocol,
    passes: u32,
    /// Response times of VCPUs.
    servers: Vec<Result<Duration, Failure>>,
    /// Supplies of VCPUs that get their budgets.
    supplies: Vec<Option<ServerSupply>>,
    /// `W^gcs` of all sections.
    sections: Vec<u64>,
    /// Streams of the tasks above the examined one, in its VCPU.
    above: Vec<Stream>,
    rivals: Vec<Stream>,
    /// Acquisition bounds of untrusted guests.
    turns: Turns,
    /// The longest times for which jobs can be pending.
    pending: Pending,
}

impl Analyzer {
    /// Makes an analyzer with at most a million steps for a VCPU or a task, each time that it is
    /// examined.
    pub fn new(variant: Variant, protocol: Protocol) -> Self {
        Self {
            variant,
            protocol,
            passes: Limits::default().passes,
            servers: Vec::new(),
            supplies: Vec::new(),
            sections: Vec::new(),
            above: Vec::new(),
            rivals: Vec::new(),
            turns: Turns::default(),
            pending: Pending::default(),
        }
    }

    /// Returns the same analyzer with another limit on the steps of the fixed-point iterations for
    /// one VCPU or task.
    pub fn with_passes(self, passes: u32) -> Self {
        Self { passes, ..self }
    }

    /// Checks that all VCPUs get their budgets (Eq. 5), if tasks are in time.
    ///
    /// # Panics
    ///
    /// `hosts` are not as many as the VCPUs of the system; all functions here.
    pub fn hosts_fit(&mut self, system: &System, hosts: &[Host]) -> Result<(), Unmet> {
        self.pending.start(system, self.variant);
        self.hosts(system, hosts, Goal::YesOrNo)
    }

    /// Checks that all VCPUs get their budgets (Eq. 5), and all tasks meet their deadlines (Eq. 6);
    /// returns the first failure if not.
    pub fn schedulable(&mut self, system: &System, hosts: &[Host]) -> Result<(), Unmet> {
        self.hosts_fit(system, hosts)?;
        self.respond(system, hosts);
        for vcpu in 0..system.vcpus() {
            let mut answer = Ok(());
            self.tasks(system, hosts, (vcpu, Goal::YesOrNo), |bound| {
                answer = bound.map(|_| ()).map_err(|failure| Unmet::Task { vcpu, failure });
                answer.is_ok()
            });
            answer?;
        }
        Ok(())
    }

    /// Returns bounds for all VCPUs and tasks, including late ones. A task without a bound removes
    /// the bounds of the tasks that depend on it, and of no others. (In the published variant, a
    /// late task removes those of all other tasks with locks: [`Failure::Others`].)
    pub fn response_times(&mut self, system: &System, hosts: &[Host]) -> Bounds {
        self.pending.start(system, self.variant);
        let mut tasks = self.round(system, hosts);
        match self.variant {
            Variant::Published => without_late(system, &mut tasks),
            Variant::Sound => {
                while self.pending.grow(system, &tasks) || self.pending.refuse(system, &tasks) {
                    tasks = self.round(system, hosts);
                }
            }
        }
        Bounds { servers: self.servers.clone(), tasks }
    }

    /// Returns bounds for the assumed pending times.
    fn round(&mut self, system: &System, hosts: &[Host]) -> Vec<Result<Bound, Failure>> {
        // Failures are in the results.
        let _ = self.hosts(system, hosts, Goal::AllBounds);
        self.respond(system, hosts);
        let mut tasks = Vec::with_capacity(system.tasks.len());
        for vcpu in 0..system.vcpus() {
            match self.supplies[vcpu] {
                Some(_) => self.tasks(system, hosts, (vcpu, Goal::AllBounds), |bound| {
                    tasks.push(bound);
                    true
                }),
                None => {
                    tasks.extend(system.tasks_of(vcpu).map(|task| Err(Failure::NoSupply { task })));
                }
            }
        }
        tasks
    }

    /// Sets the supplies of VCPUs; ends at the first failure if only that is wanted.
    fn hosts(&mut self, system: &System, hosts: &[Host], goal: Goal) -> Result<(), Unmet> {
        assert_eq!(hosts.len(), system.vcpus(), "one host for each VCPU");
        self.servers.clear();
        self.supplies.clear();
        let mut answer = Ok(());
        if self.protocol == Protocol::Vmpcp {
            self.turns.find(system, (hosts, &[]), self.protocol, &mut self.rivals, self.passes);
        }
        for (vcpu, host) in hosts.iter().enumerate() {
            let mut passes = self.passes;
            let (variant, protocol) = (self.variant, self.protocol);
            let (streams, others) = (&mut self.rivals, (&self.turns, &self.pending));
            let found = system.server_response(
                vcpu,
                hosts,
                others,
                (protocol, variant),
                streams,
                &mut passes,
            );
            let deadline = host.server.period();
            let found = found.map(Found::duration).map_err(|why| match why {
                Endless::Stopped(Stop::Beyond(at_least)) => Failure::Unschedulable {
                    task: vcpu,
                    at_least: Duration(at_least.min(LONGEST.0)),
                    deadline,
                },
                Endless::Stopped(Stop::Passes) => Failure::LimitReached { task: vcpu },
                Endless::Others => Failure::Others { task: vcpu },
            });
            if let Err(failure) = found {
                if goal == Goal::YesOrNo {
                    return Err(Unmet::Vcpu(failure));
                }
                answer = answer.and(Err(Unmet::Vcpu(failure)));
            }
            self.servers.push(found);
            self.supplies.push(found.ok().and_then(|response| match variant {
                Variant::Published => Some(ServerSupply::new(host.serving())),
                Variant::Sound => ServerSupply::with_response(host.serving(), response),
            }));
        }
        if self.protocol == Protocol::Mpcp {
            let supplies = (hosts, &self.supplies[..]);
            self.turns.find(system, supplies, self.protocol, &mut self.rivals, self.passes);
        }
        answer
    }

    /// Sets the response times of sections: under vMPCP also for VCPUs that may not get their
    /// budgets, because a VCPU in a section is above those that keep it from its budget.
    fn respond(&mut self, system: &System, hosts: &[Host]) {
        let (supplies, protocol) = (&self.supplies, self.protocol);
        self.sections.clear();
        self.sections.extend(system.sections.iter().map(|section| {
            let vcpu = system.tasks[section.task].vcpu;
            let load = (section.load, section.preemption);
            section::response(load, &hosts[vcpu], supplies[vcpu].as_ref(), protocol)
        }));
    }

    /// Analyses the tasks of a VCPU with supply, the highest first, until `visit` returns `false`.
    fn tasks(
        &mut self,
        system: &System,
        hosts: &[Host],
        (vcpu, goal): (usize, Goal),
        mut visit: impl FnMut(Result<Bound, Failure>) -> bool,
    ) {
        let Some(supply) = self.supplies[vcpu] else { return };
        self.above.clear();
        let gap = hosts[vcpu].serving().gap().0;
        let mut executions = 0;
        let mut failed = None;
        for index in system.tasks_of(vcpu) {
            let task = &system.tasks[index];
            let bound = match (self.pending.failure(index), failed) {
                (Some(failure), _) => Err(failure),
                (_, Some(on)) => Err(Failure::Depends { task: index, on }),
                _ => self.task(system, index, (&supply, gap, goal), executions),
            };
            match (bound, self.variant) {
                (Ok(bound), _) => {
                    self.above.push(Stream::new(task.wcet, task.period, bound.jitter.0));
                }
                (Err(_), Variant::Sound) if !task.suspends() => {
                    self.above.push(Stream::new(task.wcet, task.period, task.jitter));
                }
                (Err(_), _) => failed = failed.or(Some(index)),
            }
            executions = sum([executions, task.wcet].into_iter());
            if !visit(bound) {
                return;
            }
        }
    }

    /// Solves Eq. 6 for a task; `executions`: of all tasks above, once.
    fn task(
        &mut self,
        system: &System,
        index: usize,
        (supply, gap, goal): (&ServerSupply, u64, Goal),
        executions: u64,
    ) -> Result<Bound, Failure> {
        let (task, variant) = (&system.tasks[index], self.variant);
        let mut passes = self.passes;
        let limit = |jobs: u64| match (variant, goal) {
            // No window of several jobs is examined.
            (Variant::Published, _) => task.on_time(1).min(task.free(1)),
            (Variant::Sound, Goal::YesOrNo) => task.on_time(jobs).min(LONGEST.0),
            (Variant::Sound, Goal::AllBounds) => LONGEST.0,
        };
        let mut remote = 0;
        for section in &system.sections[task.sections.clone()] {
            let (responses, streams) =
                ((&self.sections[..], &self.turns, &self.pending), &mut self.rivals);
            let wait = system.wait(section, responses, variant, limit(1), streams, &mut passes);
            let wait = wait.map_err(|why| match why {
                Endless::Others => Failure::Others { task: index },
                Endless::Stopped(stop) => self.why(system, index, stop, (limit(1), 1)),
            })?;
            remote = sum([remote, wait].into_iter());
        }
        // A task that also waits for something else can be blocked each time that it continues: all
        // sections of all jobs below count.
        let streams = self.above.len();
        let mut local = task.blocking(variant);
        if task.suspension > 0 {
            local = 0;
            for below in index + 1..system.vcpus[task.vcpu].tasks.end {
                let it = &system.tasks[below];
                if it.global + it.local == 0 {
                    continue;
                }
                let Some(pending) = self.pending.of(below) else {
                    self.above.truncate(streams);
                    return Err(Failure::Others { task: index });
                };
                self.above.push(Stream::new(it.global + it.local, it.period, pending));
            }
        }
        local = sum([local, task.other_blocking].into_iter());
        let first = sum([task.wcet, task.suspension, local, remote].into_iter());
        // A task that never waits is not blocked again before its jobs are complete.
        let next = if task.suspends() { first } else { task.wcet };
        let found =
            self.windows(system, index, supply, (first, next, executions), &limit, &mut passes);
        let below = found.map(|(window, _)| window::demand(&self.above[streams..], window) as u64);
        self.above.truncate(streams);
        let (window, jobs) = found?;
        let arrival = (jobs - 1).saturating_mul(task.period.get());
        let time = (window + task.jitter).saturating_sub(arrival);
        let jitter = match variant {
            Variant::Published => time + gap - task.wcet,
            Variant::Sound if task.suspends() => time - task.wcet,
            Variant::Sound => task.jitter,
        };
        let waits = if task.suspends() { jobs } else { 1 };
        Ok(Bound {
            time: Duration(time),
            jitter: Duration(jitter),
            window: Duration(window),
            jobs,
            blocked: waits,
            local: Duration(waits * local + below?),
            remote: Duration(jobs * remote),
        })
    }

    /// Returns the window at the end of which the job of a task with the longest response time is
    /// complete, and its jobs in it. `first` is the demand of the first job of a window with all
    /// its waiting, `next` that of each following one.
    fn windows(
        &self,
        system: &System,
        index: usize,
        supply: &ServerSupply,
        (first, next, executions): (u64, u64, u64),
        limit: &impl Fn(u64) -> u64,
        passes: &mut u32,
    ) -> Result<(u64, u64), Failure> {
        let task = &system.tasks[index];
        let (mut own, mut known) = (first, sum([first, executions].into_iter()));
        let mut worst: Option<(u64, u64)> = None;
        let mut jobs = 1;
        // Without a bound the search would end late; it is not asked whether there is one before it
        // takes long.
        if limit(jobs) == LONGEST.0 {
            let mut few = FEW_PASSES.min(*passes);
            let found =
                window::shortest((&self.above, ()), own, known, *supply, LONGEST.0, &mut few);
            if found == Err(Stop::Passes) && self.overloads(system, index, next, supply) {
                return Err(Failure::Overload { task: index });
            }
        }
        loop {
            let found =
                window::shortest((&self.above, ()), own, known, *supply, limit(jobs), passes);
            let found =
                found.map_err(|stop| match self.overloads(system, index, next, supply) {
                    true if limit(jobs) == LONGEST.0 => Failure::Overload { task: index },
                    _ => self.why(system, index, stop, (limit(jobs), jobs)),
                })?;
            let arrival = |jobs: u64| (jobs - 1).saturating_mul(task.period.get());
            let is_worse = |(window, before): (u64, u64)| {
                found.window.saturating_sub(arrival(jobs)) > window.saturating_sub(arrival(before))
            };
            if worst.is_none_or(is_worse) {
                worst = Some((found.window, jobs));
            }
            if found.window <= task.free(jobs) {
                return worst.ok_or(Failure::LimitReached { task: index });
            }
            if self.overloads(system, index, next, supply) {
                return Err(Failure::Overload { task: index });
            }
            *passes = passes.checked_sub(1).ok_or(Failure::LimitReached { task: index })?;
            jobs += 1;
            own = sum([own, next].into_iter());
            known = sum([found.demand, next].into_iter());
        }
    }

    /// Returns true if jobs of a task that take `own` each, and the jobs of the tasks that run
    /// first, certainly need more than the supply in the long run.
    fn overloads(&self, system: &System, index: usize, own: u64, supply: &ServerSupply) -> bool {
        let own = Share::down(Duration(own), Duration(system.tasks[index].period.get()));
        self.above.iter().map(Stream::share).chain([own]).sum::<Share>() > supply.rate()
    }

    /// Returns the reason why there is no window of `jobs` jobs within the limit.
    #[cold]
    fn why(&self, system: &System, index: usize, stop: Stop, (limit, jobs): (u64, u64)) -> Failure {
        let task = &system.tasks[index];
        let Stop::Beyond(window) = stop else { return Failure::LimitReached { task: index } };
        if limit == LONGEST.0 {
            return Failure::Overflow { task: index };
        }
        let arrival = (jobs - 1).saturating_mul(task.period.get());
        let at_least = (window.min(LONGEST.0) + task.jitter).saturating_sub(arrival);
        let (at_least, deadline) = (Duration(at_least), Duration(task.deadline));
        if at_least <= deadline {
            // The job is in time, but incomplete when the next one arrives, which is not examined.
            return Failure::LimitReached { task: index };
        }
        Failure::Unschedulable { task: index, at_least, deadline }
    }
}

/// The published variant: bounds assume that all tasks that use global resources are in time.
fn without_late(system: &System, tasks: &mut [Result<Bound, Failure>]) {
    let uses =
        |(task, bound): (&FlatTask, &Result<Bound, Failure>)| task.longest > 0 && bound.is_err();
    if !system.tasks.iter().zip(&*tasks).any(uses) {
        return;
    }
    for (task, bound) in tasks.iter_mut().enumerate() {
        let pcpu = system.vcpus[system.tasks[task].vcpu].pcpu.clone();
        if bound.is_ok() && system.vcpus[pcpu].iter().any(|vcpu| vcpu.holding > 0) {
            *bound = Err(Failure::Others { task });
        }
    }
}
