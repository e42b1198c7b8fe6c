//! Tasks with release jitter, that suspend themselves, and that keep those above them waiting:
//! a machine that is followed tick by tick, whose VCPUs are chosen by `policy::cpu`. No response
//! time is longer than its bound.

use std::collections::VecDeque;

use analysis::hierarchy::{PcpuAnalyzer, Vcpu};
use analysis::{Duration, Kind, Limits, Server, Task};
use policy::cpu::{Cpu, Slot};
use policy::server::{Parameters, Policy};
use policy::time::Instant;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use taskgen::Random;

const UNTIL: u64 = 1_500;

/// A task and what the analysis does not know of it.
#[derive(Clone, Debug)]
struct Drawn {
    wcet: u64,
    period: u64,
    jitter: u64,
    suspension: u64,
    offset: u64,
    /// For so long at the start of each job, and whenever it goes on after a suspension, it does
    /// not let others of its VCPU go on.
    section: u64,
}

#[derive(Clone, Debug)]
struct DrawnVcpu {
    server: Server,
    tasks: Vec<Drawn>,
}

fn task() -> impl Strategy<Value = Drawn> {
    (1u64..8, 8u64..60, 0u64..40, 0u64..14, 0u64..60, 0u64..9).prop_map(
        |(wcet, period, jitter, suspension, offset, section)| Drawn {
            wcet,
            period,
            jitter: jitter.saturating_sub(20),
            suspension: suspension.saturating_sub(7),
            offset,
            section: section.saturating_sub(5),
        },
    )
}

fn vcpu() -> impl Strategy<Value = DrawnVcpu> {
    let kind = prop::sample::select(vec![Kind::Periodic, Kind::Deferrable, Kind::Sporadic]);
    let server = (kind, 1u64..12, 0u64..10).prop_map(|(kind, budget, gap)| {
        Server::new(kind, Duration(budget), Duration(budget + gap)).unwrap()
    });
    let tasks = prop::collection::vec(task(), 1..4);
    (server, tasks).prop_map(|(server, tasks)| DrawnVcpu { server, tasks })
}

/// The tasks as they are analysed. A job can be blocked once, and each time it goes on after a
/// suspension, which takes a tick at least.
fn tasks(vcpu: &DrawnVcpu) -> Vec<Task> {
    let task = |(place, it): (usize, &Drawn)| {
        let below = &vcpu.tasks[place + 1..];
        let section = below.iter().map(|it| it.section.min(it.wcet)).max().unwrap_or(0);
        let blocking = section * (it.suspension + 1);
        let task = Task::new(Duration(it.wcet), Duration(it.period)).unwrap();
        let task = task.with_jitter(Duration(it.jitter)).unwrap();
        let task = task.with_blocking(Duration(blocking)).unwrap();
        task.with_suspension(Duration(it.suspension)).unwrap()
    };
    vcpu.tasks.iter().enumerate().map(task).collect()
}

/// A task while it runs.
#[derive(Default)]
struct Running {
    /// Arrivals of jobs that are released, the first one of which executes.
    arrived: VecDeque<u64>,
    /// Arrivals and releases that are still to come.
    next: (u64, u64),
    /// What is left of the first job: execution, suspension, and until when it suspends.
    remaining: u64,
    suspension: u64,
    wakes: u64,
    /// What is left of a section that others wait for.
    section: u64,
    longest: u64,
}

impl Running {
    fn new(drawn: &Drawn, random: &mut Random) -> Self {
        let arrival = drawn.offset;
        let next = (arrival, arrival + late(drawn, random));
        Self { next, ..Self::default() }
    }

    fn release(&mut self, drawn: &Drawn, now: u64, random: &mut Random) {
        while self.next.1 <= now {
            self.arrived.push_back(self.next.0);
            // Sometimes more than the period.
            let arrival = self.next.0 + drawn.period + random.between(0, 3) / 3;
            // Jobs are released in the order of their arrivals.
            let release = (arrival + late(drawn, random)).max(self.next.1);
            self.next = (arrival, release);
            if self.arrived.len() == 1 {
                self.begin(drawn);
            }
        }
    }

    fn begin(&mut self, drawn: &Drawn) {
        self.remaining = drawn.wcet;
        self.suspension = drawn.suspension;
        self.section = 0;
        self.wakes = 0;
    }

    fn is_ready(&self, now: u64) -> bool {
        self.remaining > 0 && self.wakes <= now
    }

    /// Executes for one tick that ends at `end`.
    fn execute(&mut self, drawn: &Drawn, end: u64, random: &mut Random) {
        if self.section == 0 && (self.remaining == drawn.wcet || self.wakes + 1 == end) {
            self.section = drawn.section.min(self.remaining);
        }
        self.section = self.section.saturating_sub(1);
        self.remaining -= 1;
        if self.remaining == 0 {
            let arrival = self.arrived.pop_front().expect("a job");
            self.longest = self.longest.max(end - arrival);
            if !self.arrived.is_empty() {
                self.begin(drawn);
            }
        } else if self.section == 0 && self.suspension > 0 && random.between(0, 2) > 0 {
            // Not within a section.
            let time = random.between(1, self.suspension);
            self.suspension -= time;
            self.wakes = end + time;
        }
    }
}

/// No time or all of the jitter, or something between.
fn late(drawn: &Drawn, random: &mut Random) -> u64 {
    match random.between(0, 2) {
        0 => 0,
        1 => drawn.jitter,
        _ => random.between(0, drawn.jitter),
    }
}

/// The longest response time of each task of each VCPU.
fn simulate(vcpus: &[DrawnVcpu], random: &mut Random) -> Vec<Vec<u64>> {
    let slot = |vcpu: &DrawnVcpu| {
        let parameters = Parameters {
            budget: policy::time::Duration(vcpu.server.budget().0),
            period: policy::time::Duration(vcpu.server.period().0),
            start: Instant(0),
            overrun: policy::time::Duration::ZERO,
        };
        Slot::new(match vcpu.server.kind() {
            Kind::Periodic => Policy::Periodic(parameters),
            Kind::Deferrable => Policy::Deferrable(parameters),
            Kind::Sporadic => Policy::Sporadic(parameters),
        })
    };
    let slots: Vec<_> = vcpus.iter().map(|vcpu| slot(vcpu).unwrap()).collect();
    let mut cpu = Cpu::new(slots);
    let mut running: Vec<Vec<Running>> = vcpus
        .iter()
        .map(|vcpu| vcpu.tasks.iter().map(|drawn| Running::new(drawn, random)).collect())
        .collect();
    for now in 0..UNTIL {
        for (index, (vcpu, tasks)) in vcpus.iter().zip(&mut running).enumerate() {
            for (drawn, task) in vcpu.tasks.iter().zip(tasks.iter_mut()) {
                task.release(drawn, now, random);
            }
            let ready = tasks.iter().any(|task| task.is_ready(now));
            match (cpu.slots()[index].is_ready(), ready) {
                (false, true) => drop(cpu.wake(index, Instant(now))),
                (true, false) => drop(cpu.block(index, Instant(now))),
                _ => {}
            }
        }
        let Some(vcpu) = cpu.tick(Instant(now)).run else { continue };
        let tasks = &mut running[vcpu];
        let within = tasks.iter().position(|task| task.section > 0 && task.is_ready(now));
        let first = within.or_else(|| tasks.iter().position(|task| task.is_ready(now)));
        let task = first.expect("a VCPU that is ready");
        tasks[task].execute(&vcpus[vcpu].tasks[task], now + 1, random);
    }
    running.iter().map(|tasks| tasks.iter().map(|task| task.longest).collect()).collect()
}

#[test]
fn jitter_blocking_and_suspension_stay_within_their_bounds() {
    let strategy = (prop::collection::vec(vcpu(), 1..3), any::<u64>());
    let mut runner = TestRunner::new(Config { cases: 4_000, ..Config::default() });
    let counted = std::cell::Cell::new((0u64, 0u64));
    let result = runner.run(&strategy, |(vcpus, seed)| {
        let tasks: Vec<_> = vcpus.iter().map(tasks).collect();
        let all: Vec<_> =
            vcpus.iter().zip(&tasks).map(|(vcpu, tasks)| Vcpu::new(vcpu.server, tasks)).collect();
        let limits = Limits { window: Duration(10 * UNTIL), ..Limits::default() };
        let bounds = PcpuAnalyzer::new(limits).response_times(&all);
        let simulated = simulate(&vcpus, &mut Random::new(seed, 0));
        for (vcpu, (bounds, longest)) in bounds.iter().zip(&simulated).enumerate() {
            for (task, (bound, &longest)) in bounds.tasks.iter().zip(longest).enumerate() {
                let Ok(bound) = bound else { continue };
                let (tasks, reached) = counted.get();
                counted.set((tasks + 1, reached + u64::from(longest == bound.time.0)));
                prop_assert!(
                    longest <= bound.time.0,
                    "VCPU {}, task {}: {}, bound {}",
                    vcpu,
                    task,
                    longest,
                    bound.time
                );
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let (tasks, reached) = counted.get();
    println!("{tasks} tasks with bounds, {reached} reached them");
    assert!(reached * 50 > tasks, "only {reached} of {tasks} bounds were reached");
}
