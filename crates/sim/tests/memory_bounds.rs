//! Random systems whose tasks access memory: nobody makes more accesses than its budget has, in any
//! window, and nobody is delayed more often than others make accesses.

use policy::bandwidth::Parameters;
use policy::cpu::WHOLE_CPU;
use policy::server::{self, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;
use sim::{
    Accesses, Compensation, Contention, Event, Execution, Limits, Memory, MemoryBudget, Pcpu, Pool,
    Release, Simulation, System, Task, Vcpu,
};

const END: u64 = 3_000;

fn task() -> impl Strategy<Value = Task> {
    let accesses = prop_oneof![Just(0), 1u64..20, 1u64..200];
    (0u64..50, 50u64..600, 1u64..100, accesses).prop_map(|(offset, period, time, accesses)| Task {
        name: "task".into(),
        offset,
        period,
        deadline: period,
        release: Release::Periodic,
        execution: Execution::Always(time),
        accesses: Accesses::PerJob(accesses),
    })
}

/// One that always makes accesses: when others do, or on its own.
fn endless() -> impl Strategy<Value = Task> {
    prop_oneof![Just(Accesses::WithOthers), (1u64..60).prop_map(Accesses::Every)].prop_map(
        |accesses| Task {
            name: "endless".into(),
            offset: 0,
            period: u64::MAX,
            deadline: u64::MAX,
            release: Release::Periodic,
            execution: Execution::Always(u64::MAX),
            accesses,
        },
    )
}

fn parameters() -> impl Strategy<Value = Parameters> {
    (1u64..40, 20u64..400, 0u64..30).prop_map(|(budget, period, start)| {
        let (period, start) = (Duration(period), Instant(start));
        Parameters { budget, period, start }
    })
}

fn vcpu() -> impl Strategy<Value = Vcpu> {
    let policy = (0..4, 1u64..80, 0u64..200).prop_map(|(kind, budget, rest)| {
        let (budget, period) = (Duration(budget), Duration(budget + rest));
        let (start, overrun) = (Instant(0), Duration::ZERO);
        let parameters = server::Parameters { budget, period, start, overrun };
        match kind {
            0 => Policy::Periodic(parameters),
            1 => Policy::Deferrable(parameters),
            2 => Policy::Sporadic(parameters),
            _ => WHOLE_CPU,
        }
    });
    let memory = prop_oneof![
        Just(MemoryBudget::None),
        parameters().prop_map(MemoryBudget::Own),
        (0usize..2).prop_map(MemoryBudget::Shared),
    ];
    let tasks = (prop::collection::vec(task(), 0..3), prop::option::of(endless()));
    (policy, memory, tasks, any::<bool>()).prop_map(
        |(policy, memory, (mut tasks, more), critical)| {
            tasks.extend(more);
            let critical = critical && !matches!(memory, MemoryBudget::Shared(_));
            Vcpu { memory, critical, ..Vcpu::new("vcpu", policy, tasks) }
        },
    )
}

fn system() -> impl Strategy<Value = System> {
    let pcpu = prop::collection::vec(vcpu(), 1..3).prop_map(|vcpus| Pcpu { vcpus });
    let compensation = (1u32..4, any::<bool>());
    let compensation = compensation
        .prop_map(|(periods, flush_task_switch)| Compensation { periods, flush_task_switch });
    let pool =
        (parameters(), prop::option::of(compensation)).prop_map(|(parameters, compensation)| {
            Pool { name: "pool".into(), parameters, compensation }
        });
    let memory = (prop::collection::vec(pool, 2), 1u64..9, any::<bool>());
    let memory = memory.prop_map(|(pools, latency, always_longest)| {
        let contention = Some(Contention { latency, always_longest });
        Memory { pools, contention }
    });
    (prop::collection::vec(pcpu, 1..4), memory)
        .prop_map(|(pcpus, memory)| System { memory, ..System::new(pcpus) })
}

/// When who made how many accesses: time, PCPU, VCPU, accesses. Those that are not delayed are seen
/// at the event that follows.
type Seen = Vec<(u64, usize, usize, u64)>;

fn simulate(system: &System) -> Option<(Simulation, Seen)> {
    let mut seen = Seen::new();
    let mut see = |at: u64, pcpu: usize, event: Event| {
        if let Event::Access { vcpu, accesses } = event {
            seen.push((at, pcpu, vcpu, accesses));
        }
    };
    let mut simulation = Simulation::new(system, 1).unwrap();
    let limits = Limits { until: END, events: u64::MAX };
    // Where jobs pile up there is nothing to see.
    simulation.run(limits, &mut see).ok()?;
    Some((simulation, seen))
}

/// In every window that begins and ends with an access: as many as its periods have.
fn check_windows(
    seen: &[(u64, u64)],
    Parameters { budget, period, .. }: Parameters,
    most_of_period: u64,
) -> Result<(), TestCaseError> {
    for (first, &(from, _)) in seen.iter().enumerate() {
        let mut sum = 0;
        for &(to, accesses) in &seen[first..] {
            sum += accesses;
            let bound = ((to - from) / period.0 + 2) * budget * most_of_period;
            prop_assert!(sum <= bound, "{} from {} to {}", sum, from, to);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Stands behind P12 of the safety manual.
    #[test]
    fn nobody_makes_more_accesses_than_its_budget_has(system in system()) {
        let Some((simulation, seen)) = simulate(&system) else { return Ok(()) };
        let of = |is: &dyn Fn(usize, usize) -> bool| -> Vec<(u64, u64)> {
            let mine = seen.iter().filter(|&&(_, pcpu, vcpu, _)| is(pcpu, vcpu));
            mine.map(|&(at, _, _, accesses)| (at, accesses)).collect()
        };
        for (at, pcpu) in system.pcpus.iter().enumerate() {
            for (index, vcpu) in pcpu.vcpus.iter().enumerate() {
                let mine = of(&|pcpu, vcpu| (pcpu, vcpu) == (at, index));
                let sum: u64 = mine.iter().map(|it| it.1).sum();
                let found = simulation.vcpu(at, index);
                // Those since the last event have not been seen.
                prop_assert!(sum <= found.accesses);
                if let MemoryBudget::Own(parameters) = vcpu.memory {
                    check_windows(&mine, parameters, 1)?;
                    let periods = (END - parameters.start.0).div_ceil(parameters.period.0);
                    prop_assert!(found.accesses <= periods * parameters.budget);
                }
                prop_assert!(found.throttled_ns == 0 || vcpu.memory != MemoryBudget::None);
            }
        }
        for (number, pool) in system.memory.pools.iter().enumerate() {
            let shares =
                |pcpu: usize, vcpu: usize| system.pcpus[pcpu].vcpus[vcpu].memory == MemoryBudget::Shared(number);
            let credit = pool.compensation.map_or(1, |it| u64::from(it.periods));
            check_windows(&of(&shares), pool.parameters, credit)?;
        }
    }

    /// A job takes its own time, and the latency for each access of others at most, but one of each
    /// other PCPU for each of its own; with WCETs that are those of its VCPU's PCPU alone.
    #[test]
    fn nobody_is_delayed_more_than_others_make_accesses(
        accesses in 1u64..50,
        others in prop::collection::vec((endless(), prop::option::of(parameters())), 1..4),
        latency in 1u64..9,
        always_longest in any::<bool>(),
    ) {
        let victim = Task {
            name: "victim".into(),
            offset: 0,
            period: END,
            deadline: END,
            release: Release::Periodic,
            execution: Execution::Always(500),
            accesses: Accesses::PerJob(accesses),
        };
        let vcpus = others.iter().map(|(task, limit)| {
            let memory = limit.map_or(MemoryBudget::None, MemoryBudget::Own);
            Vcpu { memory, ..Vcpu::new("other", WHOLE_CPU, vec![task.clone()]) }
        });
        let vcpus = std::iter::once(Vcpu::new("victim", WHOLE_CPU, vec![victim])).chain(vcpus);
        let system = System {
            pcpus: vcpus.map(|vcpu| Pcpu { vcpus: vec![vcpu] }).collect(),
            memory: Memory { pools: Vec::new(), contention: Some(Contention { latency, always_longest }) },
            ..System::default()
        };
        let mut simulation = Simulation::new(&system, 1).unwrap();
        let mut response = None;
        while response.is_none() {
            let mut see = |_: u64, _: usize, event: Event| {
                if let Event::Complete { response_ns, .. } = event {
                    response = Some(response_ns);
                }
            };
            let limits = Limits { until: END, events: simulation.events() + 1 };
            simulation.run(limits, &mut see).unwrap();
        }
        let response = response.unwrap();
        let delays: u64 = (1..=others.len())
            .map(|pcpu| simulation.vcpu(pcpu, 0).accesses.min(accesses))
            .sum();
        let delayed = simulation.vcpu(0, 0).delayed_ns;
        prop_assert_eq!(response, 500 + delayed);
        prop_assert!(delayed <= delays * latency, "{} by {}", delayed, delays);
        // Neighbours that make an access whenever the victim does reach that.
        if others.iter().all(|(task, limit)| task.accesses == Accesses::WithOthers && limit.is_none()) {
            prop_assert_eq!(delayed, accesses * others.len() as u64 * latency);
        }
    }
}
