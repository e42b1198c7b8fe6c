//! Accesses that are made many at once against accesses one by one: all events and all results are
//! the same.

use policy::bandwidth::Parameters;
use policy::cpu::WHOLE_CPU;
use policy::server::{self, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;
use sim::{
    Accesses, Compensation, Contention, Event, Execution, Limits, Locks, Memory, MemoryBudget,
    Observer, Overheads, Pcpu, Pool, Release, Section, Sections, Simulation, System, Task,
    TaskStatistics, Vcpu, VcpuStatistics,
};

/// Simulated time in units. With a unit of 1 ns many things happen at one time; with a longer one
/// most accesses are made many at once.
const END: u64 = 2_000;

fn task(unit: u64) -> impl Strategy<Value = Task> {
    let times = (0u64..50 * unit, 50 * unit..600 * unit, 1u64..100 * unit, any::<bool>());
    let release = prop_oneof![
        3 => Just(Release::Periodic),
        1 => (0..100 * unit).prop_map(|delay_max| Release::Sporadic { delay_max }),
    ];
    // With as many accesses as nanoseconds, and with few.
    let accesses = prop_oneof![Just(0), 1u64..20, 1u64..200 * unit];
    (times, release, accesses).prop_map(|((offset, period, time, random), release, accesses)| {
        let execution = match random {
            true => Execution::Uniform { min: time.div_ceil(3), max: time },
            false => Execution::Always(time),
        };
        let accesses = Accesses::PerJob(accesses);
        Task { name: "task".into(), offset, period, deadline: period, release, execution, accesses }
    })
}

fn endless(unit: u64) -> impl Strategy<Value = Task> {
    let every = (1u64..12).prop_map(Accesses::Every);
    let rarely = (1..60 * unit).prop_map(Accesses::Every);
    prop_oneof![Just(Accesses::WithOthers), every, rarely].prop_map(|accesses| Task {
        name: "endless".into(),
        offset: 0,
        period: u64::MAX,
        deadline: u64::MAX,
        release: Release::Periodic,
        execution: Execution::Always(u64::MAX),
        accesses,
    })
}

fn parameters(unit: u64) -> impl Strategy<Value = Parameters> {
    (1u64..40 * unit, 20 * unit..400 * unit, 0u64..30 * unit).prop_map(|(budget, period, start)| {
        let (period, start) = (Duration(period), Instant(start));
        Parameters { budget, period, start }
    })
}

fn vcpu(unit: u64) -> impl Strategy<Value = Vcpu> {
    let policy = (0..6, 1u64..80 * unit, 0u64..200 * unit, 0..20 * unit).prop_map(
        |(kind, budget, rest, overrun)| {
            let (budget, period) = (Duration(budget), Duration(budget + rest));
            let (start, overrun) = (Instant(0), Duration(overrun.min(rest)));
            let parameters = server::Parameters { budget, period, start, overrun };
            match kind {
                0 => Policy::Periodic(parameters),
                1 => Policy::Deferrable(parameters),
                2 => Policy::Sporadic(server::Parameters { overrun: Duration::ZERO, ..parameters }),
                _ => WHOLE_CPU,
            }
        },
    );
    let memory = prop_oneof![
        Just(MemoryBudget::None),
        parameters(unit).prop_map(MemoryBudget::Own),
        (0usize..2).prop_map(MemoryBudget::Shared),
    ];
    let tasks = (prop::collection::vec(task(unit), 0..3), prop::option::of(endless(unit)));
    (policy, memory, tasks, any::<bool>()).prop_map(
        |(policy, memory, (mut tasks, more), critical)| {
            tasks.extend(more);
            let critical = critical && !matches!(memory, MemoryBudget::Shared(_));
            Vcpu { memory, critical, ..Vcpu::new("vcpu", policy, tasks) }
        },
    )
}

fn overheads(unit: u64) -> impl Strategy<Value = Overheads> {
    let few = || 0..2 * unit;
    let some = (0u64..3, few(), few(), few(), few(), few()).prop_map(
        |(kicks, switch, tick, kick, interrupt, exit)| Overheads {
            kicks,
            switch,
            tick,
            kick,
            interrupt,
            exit,
        },
    );
    prop_oneof![Just(Overheads::default()), some]
}

fn system(unit: u64) -> impl Strategy<Value = System> {
    let pcpu = prop::collection::vec(vcpu(unit), 1..3).prop_map(|mut vcpus| {
        vcpus.sort_by_key(|vcpu| vcpu.server == Policy::Background);
        Pcpu { vcpus }
    });
    let compensation = (1u32..4, any::<bool>());
    let compensation = compensation
        .prop_map(|(periods, flush_task_switch)| Compensation { periods, flush_task_switch });
    let pool = (parameters(unit), prop::option::of(compensation)).prop_map(
        |(parameters, compensation)| Pool { name: "pool".into(), parameters, compensation },
    );
    let memory = (prop::collection::vec(pool, 2), 1u64..16, any::<bool>());
    let memory = memory.prop_map(|(pools, latency, always_longest)| {
        let contention = Some(Contention { latency, always_longest });
        Memory { pools, contention }
    });
    let sections = (any::<bool>(), any::<bool>(), prop::collection::vec(any::<u8>(), 8));
    (prop::collection::vec(pcpu, 1..5), memory, overheads(unit), sections).prop_map(
        |(pcpus, memory, overheads, (shares, ceilings, parts))| {
            let mut system = System { memory, overheads, ..System::new(pcpus) };
            if shares {
                system.locks = locks(&system, ceilings, &parts);
            }
            system
        },
    )
}

/// Every second task of jobs that end has a section of a global resource.
fn locks(system: &System, ceilings: bool, parts: &[u8]) -> Locks {
    let (mut tasks, mut count) = (Vec::new(), 0u8);
    let mut ranks = Vec::new();
    for (at, pcpu) in system.pcpus.iter().enumerate() {
        let mut of_pcpu = Vec::new();
        for (number, vcpu) in pcpu.vcpus.iter().enumerate() {
            of_pcpu.push(count);
            count += 1;
            for (task, it) in vcpu.tasks.iter().enumerate().step_by(2) {
                let longest = match it.execution {
                    Execution::Always(u64::MAX) | Execution::Trace(_) => continue,
                    Execution::Always(time) | Execution::Uniform { max: time, .. } => time,
                };
                let part = u64::from(parts[(at + number + task) % parts.len()]);
                let length = (longest * part / 300).max(1);
                let after = (longest - length) * part / 256;
                let section = Section { resource: usize::from(part % 2 == 1), after, length };
                tasks.push(Sections { pcpu: at, vcpu: number, task, sections: vec![section] });
            }
        }
        ranks.push(of_pcpu);
    }
    Locks { global: vec![true, true], ceilings, ranks, tasks }
}

/// All that a simulation shows.
#[derive(Debug, PartialEq)]
struct Shown {
    events: Vec<(u64, usize, Event)>,
    /// Events and time at the end of each piece.
    stops: Vec<(u64, u64)>,
    tasks: Vec<(TaskStatistics, u64)>,
    vcpus: Vec<VcpuStatistics>,
    /// Why it could not go on.
    overload: Option<String>,
}

/// `pieces`: limits of time (in units) and of events at which the simulation is interrupted.
fn simulate(system: &System, unit: u64, one_by_one: bool, pieces: &[(u64, u64)]) -> Shown {
    let mut simulation = Simulation::new(system, 1).unwrap();
    if one_by_one {
        simulation = simulation.one_by_one();
    }
    let (mut events, mut stops) = (Vec::new(), Vec::new());
    let mut overload = None;
    let last = (END, u64::MAX);
    for &(until, more) in pieces.iter().chain([&last]) {
        let until = (until * unit).max(simulation.now_ns());
        let limits = Limits { until, events: simulation.events().saturating_add(more) };
        let mut see = |at: u64, pcpu: usize, event: Event| events.push((at, pcpu, event));
        if let Err(error) = simulation.run(limits, &mut see) {
            overload = Some(error.to_string());
            break;
        }
        stops.push((simulation.events(), simulation.now_ns()));
    }
    let (mut tasks, mut vcpus) = (Vec::new(), Vec::new());
    for (at, pcpu) in system.pcpus.iter().enumerate() {
        for (number, vcpu) in pcpu.vcpus.iter().enumerate() {
            vcpus.push(simulation.vcpu(at, number));
            for task in 0..vcpu.tasks.len() {
                let overdue = simulation.overdue(at, number, task);
                tasks.push((simulation.task(at, number, task), overdue));
            }
        }
    }
    stops.push((simulation.events(), simulation.now_ns()));
    Shown { events, stops, tasks, vcpus, overload }
}

/// Sees all but accesses.
struct Deaf(Vec<(u64, usize, Event)>);

impl Observer for Deaf {
    fn event(&mut self, at: u64, pcpu: usize, event: Event) {
        if !matches!(event, Event::Access { .. }) {
            self.0.push((at, pcpu, event));
        }
    }

    fn sees_accesses(&self) -> bool {
        false
    }
}

fn is_the_same(system: &System, unit: u64, pieces: &[(u64, u64)]) -> Result<(), TestCaseError> {
    let slow = simulate(system, unit, true, pieces);
    let fast = simulate(system, unit, false, pieces);
    let differs = slow.events.iter().zip(&fast.events).position(|(slow, fast)| slow != fast);
    if let Some(at) = differs {
        let from = at.saturating_sub(5);
        prop_assert_eq!(&slow.events[from..=at], &fast.events[from..=at]);
    }
    prop_assert!(slow == fast, "the results differ");
    let mut simulation = Simulation::new(system, 1).unwrap();
    let mut deaf = Deaf(Vec::new());
    let _ = simulation.run(Limits { until: END * unit, events: u64::MAX }, &mut deaf);
    if pieces.is_empty() {
        let mut others = slow.events;
        others.retain(|(.., event)| !matches!(event, Event::Access { .. }));
        prop_assert_eq!(others, deaf.0);
        prop_assert_eq!(Some(&(simulation.events(), simulation.now_ns())), slow.stops.last());
    }
    Ok(())
}

fn pieces() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let ends = prop::collection::vec((0..END, prop_oneof![1u64..9, 1u64..2_000]), 0..6);
    ends.prop_map(|mut ends| {
        ends.sort_unstable();
        ends
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn short_jobs_have_the_same_events(system in system(1), pieces in pieces()) {
        is_the_same(&system, 1, &pieces)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn long_jobs_have_the_same_events(system in system(40), pieces in pieces()) {
        is_the_same(&system, 40, &pieces)?;
    }
}
