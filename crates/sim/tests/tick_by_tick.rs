//! The simulator against a machine that is followed tick by tick.

use std::collections::VecDeque;

use policy::bandwidth;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;
use sim::{
    Accesses, Execution, Limits, MemoryBudget, Pcpu, Release, Silent, Simulation, System, Task,
    Vcpu,
};
use testing::NaiveCpu;

const END: u64 = 500;

/// Offset, period, execution times and accesses of a task.
type Numbers = (u64, u64, Vec<u64>, u64);

/// Server, tasks, and memory budget of a VCPU.
type Drawn = (Policy, Vec<Numbers>, Option<bandwidth::Parameters>);

fn task() -> impl Strategy<Value = Numbers> {
    (0u64..20, 5u64..60, prop::collection::vec(1u64..8, 1..4), 0u64..6)
}

fn vcpu() -> impl Strategy<Value = Drawn> {
    let parameters = (1u64..8, 0u64..20, 0u64..10).prop_map(|(budget, rest, start)| Parameters {
        budget: Duration(budget),
        period: Duration(budget + rest),
        start: Instant(start),
        overrun: Duration::ZERO,
    });
    let policy = (0..4, parameters).prop_map(|(kind, parameters)| match kind {
        0 => Policy::Periodic(parameters),
        1 => Policy::Deferrable(parameters),
        2 => Policy::Sporadic(parameters),
        _ => Policy::Background,
    });
    let memory = (1u64..7, 1u64..40, 0u64..10).prop_map(|(budget, period, start)| {
        let (period, start) = (Duration(period), Instant(start));
        bandwidth::Parameters { budget, period, start }
    });
    (policy, prop::collection::vec(task(), 1..4), prop::option::of(memory))
}

fn vcpus() -> impl Strategy<Value = Vec<Drawn>> {
    prop::collection::vec(vcpu(), 1..4).prop_map(|mut vcpus| {
        vcpus.sort_by_key(|(policy, ..)| *policy == Policy::Background);
        vcpus
    })
}

/// `memory`: with the accesses of the tasks, and the memory budgets.
fn system(vcpus: &[Drawn], memory: bool) -> System {
    let task = |(offset, period, times, accesses): &Numbers| Task {
        name: "task".into(),
        offset: *offset,
        period: *period,
        deadline: *period,
        release: Release::Periodic,
        execution: Execution::Trace(times.clone()),
        accesses: if memory { Accesses::PerJob(*accesses) } else { Accesses::None },
    };
    let vcpu = |(server, tasks, limit): &Drawn| {
        let limit = limit.filter(|_| memory).map_or(MemoryBudget::None, MemoryBudget::Own);
        Vcpu { memory: limit, ..Vcpu::new("vcpu", *server, tasks.iter().map(task).collect()) }
    };
    System::new(vec![Pcpu { vcpus: vcpus.iter().map(vcpu).collect() }])
}

/// Jobs of a task: release times and what the first one still needs.
#[derive(Default)]
struct NaiveTask {
    released: VecDeque<u64>,
    remaining: u64,
    /// What it needed in all.
    execution: u64,
    begun: usize,
    responses: Vec<u64>,
}

/// Response times of every task; the ticks and the accesses of every VCPU.
fn tick_by_tick(vcpus: &[Drawn], memory: bool) -> (Vec<Vec<Vec<u64>>>, Vec<u64>, Vec<u64>) {
    let policies: Vec<_> = vcpus.iter().map(|(policy, ..)| *policy).collect();
    let mut cpu = NaiveCpu::new(&policies);
    for (vcpu, limit) in vcpus.iter().enumerate().filter_map(|(vcpu, it)| Some((vcpu, it.2?))) {
        if memory {
            cpu.limit(vcpu, limit);
        }
    }
    let mut accesses = vec![0; vcpus.len()];
    let mut tasks: Vec<Vec<NaiveTask>> = vcpus
        .iter()
        .map(|(_, tasks, _)| tasks.iter().map(|_| NaiveTask::default()).collect())
        .collect();
    let mut ticks = vec![0; vcpus.len()];
    for now in 0..END {
        for (vcpu, (_, numbers, _)) in vcpus.iter().enumerate() {
            for (task, (offset, period, times, _)) in tasks[vcpu].iter_mut().zip(numbers) {
                if now >= *offset && (now - offset).is_multiple_of(*period) {
                    task.released.push_back(now);
                }
                if task.remaining == 0 && !task.released.is_empty() {
                    task.execution = times[task.begun % times.len()];
                    task.remaining = task.execution;
                    task.begun += 1;
                }
            }
            let ready = tasks[vcpu].iter().any(|task| task.remaining > 0);
            if ready != cpu.ready[vcpu] {
                cpu.change_ready(vcpu, now);
            }
        }
        let Some(vcpu) = cpu.run(now) else { continue };
        ticks[vcpu] += 1;
        let number = tasks[vcpu].iter().position(|task| task.remaining > 0).expect("it is ready");
        let task = &mut tasks[vcpu][number];
        task.remaining -= 1;
        let all = vcpus[vcpu].1[number].3.min(task.execution);
        let made = |done: u64| done * all / task.execution;
        let done = task.execution - task.remaining;
        let new = made(done) - made(done - 1);
        accesses[vcpu] += new;
        cpu.access(vcpu, new);
        if task.remaining == 0 {
            let released = task.released.pop_front().expect("it was released");
            task.responses.push(now + 1 - released);
        }
    }
    let responses = |task: NaiveTask| task.responses;
    let of_vcpu = |tasks: Vec<NaiveTask>| tasks.into_iter().map(responses).collect();
    (tasks.into_iter().map(of_vcpu).collect(), ticks, accesses)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn responses_are_those_of_every_tick(vcpus in vcpus(), memory in any::<bool>()) {
        let mut simulation = Simulation::new(&system(&vcpus, memory), 1).unwrap();
        simulation.run(Limits { until: END, events: u64::MAX }, &mut Silent).unwrap();
        let (responses, ticks, accesses) = tick_by_tick(&vcpus, memory);
        for (vcpu, tasks) in responses.iter().enumerate() {
            let found = simulation.vcpu(0, vcpu);
            prop_assert_eq!(found.supply_ns, ticks[vcpu], "VCPU {}", vcpu);
            prop_assert_eq!(found.accesses, if memory { accesses[vcpu] } else { 0 });
            for (task, responses) in tasks.iter().enumerate() {
                // Jobs that end at the end itself are not counted by the simulation.
                let found = simulation.task(0, vcpu, task);
                let count = found.jobs as usize;
                prop_assert!(count <= responses.len() && responses.len() <= count + 1);
                let sum = responses[..count].iter().sum::<u64>();
                prop_assert_eq!(found.response_sum_ns, u128::from(sum));
                let max = responses[..count].iter().max().copied().unwrap_or(0);
                prop_assert_eq!(found.response_max_ns, max);
            }
        }
    }
}
