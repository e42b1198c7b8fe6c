//! Tasks in their VCPUs (Eq. 6), and with them a whole system.

use super::flat::FlatTask;
use super::guests::Turns;
use super::remote::pending;
use super::section::{self, sum};
use super::servers::Host;
use super::system::System;
use super::{Protocol, Variant};
use crate::hierarchy::Unmet;
use crate::supply::ServerSupply;
use crate::window::{self, Found, Stop, Stream, TOO_LONG};
use crate::{Duration, Failure, LONGEST, Limits};

/// Analyses systems, without allocating memory for each.
#[derive(Clone, Debug)]
pub struct Analyzer {
    variant: Variant,
    protocol: Protocol,
    passes: u32,
    /// Of VCPUs.
    servers: Vec<Result<Duration, Failure>>,
    /// Of VCPUs that get their budgets.
    supplies: Vec<Option<ServerSupply>>,
    /// `W^gcs` of all sections.
    sections: Vec<u64>,
    /// Of the tasks above the one that is looked at, in its VCPU.
    above: Vec<Stream>,
    rivals: Vec<Stream>,
    /// What guests can do that are not trusted.
    turns: Turns,
}

/// A bound for the response time of a task, and parts of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bound {
    /// The bound: from arrival to completion, jitter included.
    pub time: Duration,
    /// The same without jitter: `W_i`.
    pub window: Duration,
    /// Jitter with which it disturbs tasks below: the time for which it can wait before it
    /// executes.
    pub jitter: Duration,
    /// Local blocking `B^l`: sections of tasks below in the same VCPU. Blocking for other reasons
    /// included.
    pub local: Duration,
    /// Remote blocking `B^r`: waiting for resources.
    pub remote: Duration,
}

/// Bounds for all VCPUs and tasks of a system, by their numbers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// `W^v`: how long it takes until a VCPU has its budget.
    pub servers: Vec<Result<Duration, Failure>>,
    /// Tasks. Failures name tasks by these numbers.
    pub tasks: Vec<Result<Bound, Failure>>,
}

impl Analyzer {
    /// An analyzer that takes a million steps for a system at most.
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
        }
    }

    /// The same with another limit for the steps of all fixed-point iterations together.
    pub fn with_passes(self, passes: u32) -> Self {
        Self { passes, ..self }
    }

    /// Whether all VCPUs get their budgets (Eq. 5).
    ///
    /// # Panics
    ///
    /// `hosts` are not as many as the VCPUs of the system; all functions here.
    pub fn hosts_fit(&mut self, system: &System, hosts: &[Host]) -> Result<(), Unmet> {
        self.hosts(system, hosts, &mut self.passes.clone(), true)
    }

    /// Whether all VCPUs get their budgets (Eq. 5), and all tasks meet their deadlines (Eq. 6);
    /// the first failure if not.
    pub fn schedulable(&mut self, system: &System, hosts: &[Host]) -> Result<(), Unmet> {
        let mut passes = self.passes;
        self.hosts(system, hosts, &mut passes, true)?;
        self.respond(system, hosts);
        for vcpu in 0..system.vcpus() {
            let mut answer = Ok(());
            self.tasks(system, hosts, vcpu, &mut passes, |bound| {
                answer = bound.map(|_| ()).map_err(|failure| Unmet::Task { vcpu, failure });
                answer.is_ok()
            });
            answer?;
        }
        Ok(())
    }

    /// Bounds for all VCPUs and tasks. Where one of them fails that others rest on, these have none
    /// either: [`Failure::Others`].
    pub fn response_times(&mut self, system: &System, hosts: &[Host]) -> Bounds {
        let mut passes = self.passes;
        // Failures are in the results.
        let _ = self.hosts(system, hosts, &mut passes, false);
        self.respond(system, hosts);
        let mut tasks = Vec::with_capacity(system.tasks.len());
        for vcpu in 0..system.vcpus() {
            match self.supplies[vcpu] {
                Some(_) => self.tasks(system, hosts, vcpu, &mut passes, |bound| {
                    tasks.push(bound);
                    true
                }),
                None => {
                    tasks.extend(system.tasks_of(vcpu).map(|task| Err(Failure::NoSupply { task })));
                }
            }
        }
        let is_late = |vcpu: usize| {
            let mut tasks = system.tasks_of(vcpu).map(|it| (&system.tasks[it], &tasks[it]));
            tasks.any(|(task, bound)| task.longest > 0 && bound.is_err())
        };
        if (0..system.vcpus()).any(is_late) {
            for (task, bound) in tasks.iter_mut().enumerate() {
                let pcpu = system.vcpus[system.tasks[task].vcpu].pcpu.clone();
                if bound.is_ok() && system.vcpus[pcpu].iter().any(|vcpu| vcpu.holding > 0) {
                    *bound = Err(Failure::Others { task });
                }
            }
        }
        Bounds { servers: self.servers.clone(), tasks }
    }

    /// Sets what VCPUs get; ends at the first failure if only that is wanted.
    fn hosts(
        &mut self,
        system: &System,
        hosts: &[Host],
        passes: &mut u32,
        first: bool,
    ) -> Result<(), Unmet> {
        assert_eq!(hosts.len(), system.vcpus(), "one host for each VCPU");
        self.servers.clear();
        self.supplies.clear();
        let mut answer = Ok(());
        if self.protocol == Protocol::Vmpcp {
            self.turns.find(system, (hosts, &[]), self.protocol, &mut self.rivals, passes);
        }
        for (vcpu, host) in hosts.iter().enumerate() {
            let (variant, protocol) = (self.variant, self.protocol);
            let (streams, turns) = (&mut self.rivals, &self.turns);
            let found =
                system.server_response(vcpu, hosts, turns, (protocol, variant), streams, passes);
            let deadline = host.server.period();
            let found = found.map(Found::duration).map_err(|stop| match stop {
                Stop::Beyond(at_least) => Failure::Unschedulable {
                    task: vcpu,
                    at_least: Duration(at_least.min(LONGEST.0)),
                    deadline,
                },
                Stop::Passes => Failure::LimitReached { task: vcpu },
            });
            if let Err(failure) = found {
                if first {
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
            self.turns.find(system, supplies, self.protocol, &mut self.rivals, passes);
        }
        answer
    }

    /// Sets how long sections take.
    fn respond(&mut self, system: &System, hosts: &[Host]) {
        let (supplies, protocol) = (&self.supplies, self.protocol);
        self.sections.clear();
        self.sections.extend(system.sections.iter().map(|section| {
            let vcpu = system.tasks[section.task].vcpu;
            let host = &hosts[vcpu];
            let load = (section.load, section.preemption);
            supplies[vcpu]
                .as_ref()
                .map_or(TOO_LONG, |supply| section::response(load, host, Some(supply), protocol))
        }));
    }

    /// The tasks of a VCPU with supply, the highest first, until `visit` says `false`.
    fn tasks(
        &mut self,
        system: &System,
        hosts: &[Host],
        vcpu: usize,
        passes: &mut u32,
        mut visit: impl FnMut(Result<Bound, Failure>) -> bool,
    ) {
        let Some(supply) = self.supplies[vcpu] else { return };
        self.above.clear();
        let gap = hosts[vcpu].serving().gap().0;
        let mut executions = 0;
        let mut failed = None;
        for index in system.tasks_of(vcpu) {
            let task = &system.tasks[index];
            let bound = match failed {
                Some(on) => Err(Failure::Depends { task: index, on }),
                None => self.task(system, index, (&supply, gap), executions, passes),
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

    /// Eq. 6 for a task; `executions`: of all tasks above, once.
    fn task(
        &mut self,
        system: &System,
        index: usize,
        (supply, gap): (&ServerSupply, u64),
        executions: u64,
        passes: &mut u32,
    ) -> Result<Bound, Failure> {
        let (task, variant) = (&system.tasks[index], self.variant);
        let limit = task.limit();
        let fail = |stop| match stop {
            Stop::Passes => Failure::LimitReached { task: index },
            Stop::Beyond(window) => beyond(index, task, window),
        };
        let mut remote = 0;
        for section in &system.sections[task.sections.clone()] {
            let (responses, streams) = ((&self.sections[..], &self.turns), &mut self.rivals);
            let wait = system.wait(section, responses, variant, limit, streams, passes);
            remote = sum([remote, wait.map_err(fail)?].into_iter());
        }
        // Who waits for something else, too, can be blocked each time that it goes on: all
        // sections of all jobs below count.
        let streams = self.above.len();
        let mut local = task.blocking(variant);
        if task.suspension > 0 {
            local = 0;
            let below = &system.tasks[index + 1..system.vcpus[task.vcpu].tasks.end];
            self.above.extend(below.iter().filter(|it| it.global + it.local > 0).map(|it| {
                Stream::new(it.global + it.local, it.period, pending(it, Variant::Sound))
            }));
        }
        local = sum([local, task.other_blocking].into_iter());
        let own = sum([task.wcet, task.suspension, local, remote].into_iter());
        let known = sum([own, executions].into_iter());
        let found = window::shortest((&self.above, ()), own, known, *supply, limit, passes);
        if found.is_err() {
            self.above.truncate(streams);
        }
        let window = found.map_err(fail)?.window;
        let below = window::demand(&self.above[streams..], window) as u64;
        self.above.truncate(streams);
        let jitter = match variant {
            Variant::Published => task.jitter + gap + (window - task.wcet),
            Variant::Sound if task.suspends() => task.jitter + (window - task.wcet),
            Variant::Sound => task.jitter,
        };
        Ok(Bound {
            time: Duration(window + task.jitter),
            jitter: Duration(jitter),
            window: Duration(window),
            local: Duration(local + below),
            remote: Duration(remote),
        })
    }
}

/// The window of a job is above the limit.
#[cold]
fn beyond(index: usize, task: &FlatTask, window: u64) -> Failure {
    let at_least = Duration(window.min(LONGEST.0) + task.jitter);
    let deadline = Duration(task.deadline);
    if at_least <= deadline {
        // It is in time, but not done when the next one arrives: windows of several jobs are not
        // looked at.
        return Failure::LimitReached { task: index };
    }
    Failure::Unschedulable { task: index, at_least, deadline }
}
