//! The simulator against a machine that is followed tick by tick.

#[path = "../../policy/tests/server/naive.rs"]
mod naive;

use std::collections::VecDeque;

use naive::NaiveCpu;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;
use sim::{Accesses, Execution, Limits, Pcpu, Release, Silent, Simulation, System, Task, Vcpu};

const END: u64 = 500;

/// Offset, period and execution times of a task.
type Numbers = (u64, u64, Vec<u64>);

fn task() -> impl Strategy<Value = Numbers> {
    (0u64..20, 5u64..60, prop::collection::vec(1u64..8, 1..4))
}

fn vcpu() -> impl Strategy<Value = (Policy, Vec<Numbers>)> {
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
    (policy, prop::collection::vec(task(), 1..4))
}

fn vcpus() -> impl Strategy<Value = Vec<(Policy, Vec<Numbers>)>> {
    prop::collection::vec(vcpu(), 1..4).prop_map(|mut vcpus| {
        vcpus.sort_by_key(|(policy, _)| *policy == Policy::Background);
        vcpus
    })
}

fn system(vcpus: &[(Policy, Vec<Numbers>)]) -> System {
    let task = |(offset, period, times): &Numbers| Task {
        name: "task".into(),
        offset: *offset,
        period: *period,
        deadline: *period,
        release: Release::Periodic,
        execution: Execution::Trace(times.clone()),
        accesses: Accesses::None,
    };
    let vcpu = |(server, tasks): &(Policy, Vec<Numbers>)| {
        Vcpu::new("vcpu", *server, tasks.iter().map(task).collect())
    };
    System::new(vec![Pcpu { vcpus: vcpus.iter().map(vcpu).collect() }])
}

/// Jobs of a task: release times and what the first one still needs.
#[derive(Default)]
struct NaiveTask {
    released: VecDeque<u64>,
    remaining: u64,
    begun: usize,
    responses: Vec<u64>,
}

/// Response times of every task, and the ticks of every VCPU.
fn tick_by_tick(vcpus: &[(Policy, Vec<Numbers>)]) -> (Vec<Vec<Vec<u64>>>, Vec<u64>) {
    let policies: Vec<_> = vcpus.iter().map(|(policy, _)| *policy).collect();
    let mut cpu = NaiveCpu::new(&policies);
    let mut tasks: Vec<Vec<NaiveTask>> = vcpus
        .iter()
        .map(|(_, tasks)| tasks.iter().map(|_| NaiveTask::default()).collect())
        .collect();
    let mut ticks = vec![0; vcpus.len()];
    for now in 0..END {
        for (vcpu, (_, numbers)) in vcpus.iter().enumerate() {
            for (task, (offset, period, times)) in tasks[vcpu].iter_mut().zip(numbers) {
                if now >= *offset && (now - offset).is_multiple_of(*period) {
                    task.released.push_back(now);
                }
                if task.remaining == 0 && !task.released.is_empty() {
                    task.remaining = times[task.begun % times.len()];
                    task.begun += 1;
                }
            }
            let ready = tasks[vcpu].iter().any(|task| task.remaining > 0);
            if ready && !cpu.ready[vcpu] {
                cpu.servers[vcpu].wake(now);
            }
            cpu.ready[vcpu] = ready;
        }
        let Some(vcpu) = cpu.run(now) else { continue };
        ticks[vcpu] += 1;
        let task = tasks[vcpu].iter_mut().find(|task| task.remaining > 0).expect("it is ready");
        task.remaining -= 1;
        if task.remaining == 0 {
            let released = task.released.pop_front().expect("it was released");
            task.responses.push(now + 1 - released);
        }
    }
    let responses = |task: NaiveTask| task.responses;
    let of_vcpu = |tasks: Vec<NaiveTask>| tasks.into_iter().map(responses).collect();
    (tasks.into_iter().map(of_vcpu).collect(), ticks)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn responses_are_those_of_every_tick(vcpus in vcpus()) {
        let mut simulation = Simulation::new(&system(&vcpus), 1).unwrap();
        simulation.run(Limits { until: END, events: u64::MAX }, &mut Silent).unwrap();
        let (responses, ticks) = tick_by_tick(&vcpus);
        for (vcpu, tasks) in responses.iter().enumerate() {
            prop_assert_eq!(simulation.vcpu(0, vcpu).supply_ns, ticks[vcpu], "VCPU {}", vcpu);
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
