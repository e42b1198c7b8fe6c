//! Tasks that share resources: the case study of vMPCP, local resources, and what must hold whatever
//! the system.

use std::collections::BTreeMap;

use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;
use sim::{
    Accesses, Error, Event, Execution, Limits, Locks, Pcpu, RESOURCES_MAX, Release, Section,
    Sections, Simulation, System, Task, Vcpu,
};

fn task(offset: u64, period: u64, time: u64) -> Task {
    Task {
        name: "task".into(),
        offset,
        period,
        deadline: period,
        release: Release::Periodic,
        execution: Execution::Always(time),
        accesses: Accesses::None,
    }
}

fn parameters(budget: u64, period: u64, overrun: u64) -> Parameters {
    Parameters {
        budget: Duration(budget),
        period: Duration(period),
        start: Instant(0),
        overrun: Duration(overrun),
    }
}

/// vMPCP, section V.B (figure 11), in tenths of milliseconds: the response times of `tau_1` to
/// `tau_8`.
fn case_study(ceilings: bool, overrun: bool) -> [u64; 8] {
    let length = |index: u64| if index == 2 { 11 } else { 10 };
    // On each PCPU the VCPU with the higher index first: v_2 and v_1, v_4 and v_3, ...
    let vcpu = |index: u64| {
        let limit = if overrun { length(index) } else { 0 };
        let server = Policy::Deferrable(parameters(30, 100, limit));
        let task = task((index - 1) * 10, 2000, 40 + length(index));
        Vcpu::new(format!("v{index}"), server, vec![task])
    };
    let pcpu = |pcpu: u64| Pcpu { vcpus: vec![vcpu(2 * pcpu + 2), vcpu(2 * pcpu + 1)] };
    let mut system = System::new((0..4).map(pcpu).collect());
    let place = |index: u64| (((index - 1) / 2) as usize, (index % 2) as usize);
    let sections = |index: u64| {
        let (pcpu, vcpu) = place(index);
        let section = Section { resource: 0, after: 20, length: length(index) };
        Sections { pcpu, vcpu, task: 0, sections: vec![section] }
    };
    system.locks = Locks {
        global: vec![true],
        ceilings,
        ranks: (0..4).map(|pcpu| vec![6 - 2 * pcpu, 7 - 2 * pcpu]).collect(),
        tasks: (1..=8).map(sections).collect(),
    };
    let mut simulation = Simulation::new(&system, 1).unwrap();
    simulation.run(Limits { until: 1900, events: u64::MAX }, &mut sim::Silent).unwrap();
    std::array::from_fn(|index| {
        let (pcpu, vcpu) = place(index as u64 + 1);
        let found = simulation.task(pcpu, vcpu, 0);
        assert_eq!(found.jobs, 1);
        found.response_max_ns
    })
}

#[test]
fn the_case_study_takes_what_its_statements_say() {
    let mpcp = case_study(false, false);
    let without = case_study(true, false);
    let with = case_study(true, true);
    assert_eq!(mpcp, [251, 111, 221, 181, 161, 121, 101, 61]);
    assert_eq!(without, [191, 111, 181, 151, 141, 111, 101, 71]);
    assert_eq!(with, [140, 110, 120, 90, 110, 80, 150, 50]);
    let mean = |times: [u64; 8]| times.iter().sum::<u64>();
    assert!(mean(without) < mean(mpcp) && mean(with) < mean(without));
    // "slightly lengthens the response time of tau_8"
    assert!(without[7] >= mpcp[7]);
    // "the response times of all tasks except tau_7 are shorter"
    for index in [0, 1, 2, 3, 4, 5, 7] {
        assert!(with[index] <= mpcp[index].min(without[index]), "tau_{}", index + 1);
    }
}

/// The middle task executes while the low one has the resource, but not while the low one has
/// it and the high one waits.
#[test]
fn a_local_resource_blocks_once() {
    let server = Policy::Deferrable(parameters(100, 100, 0));
    let tasks = vec![task(2, 1000, 4), task(3, 1000, 10), task(0, 1000, 6)];
    let mut system = System::new(vec![Pcpu { vcpus: vec![Vcpu::new("v", server, tasks)] }]);
    let uses = |task, after, length| Sections {
        pcpu: 0,
        vcpu: 0,
        task,
        sections: vec![Section { resource: 0, after, length }],
    };
    system.locks = Locks {
        global: vec![false],
        ceilings: true,
        ranks: vec![vec![0]],
        tasks: vec![uses(0, 1, 2), uses(2, 1, 4)],
    };
    let mut simulation = Simulation::new(&system, 1).unwrap();
    let mut events = Vec::new();
    let mut observer = |at: u64, _: usize, event: Event| match event {
        Event::Lock { task, .. } => events.push((at, task, "lock")),
        Event::Wait { task, .. } => events.push((at, task, "wait")),
        Event::Unlock { task, .. } => events.push((at, task, "unlock")),
        Event::Complete { task, .. } => events.push((at, task, "end")),
        Event::StartGcs { .. } => panic!("a local section is no matter of the scheduler"),
        _ => {}
    };
    simulation.run(Limits { until: 900, events: u64::MAX }, &mut observer).unwrap();
    let expected = [
        (1, 2, "lock"),
        (3, 0, "wait"),
        (6, 2, "unlock"),
        (6, 0, "lock"),
        (8, 0, "unlock"),
        (9, 0, "end"),
        (19, 1, "end"),
        (20, 2, "end"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let server = Policy::Deferrable(parameters(10, 10, 0));
    let vcpu = || Vcpu::new("v", server, vec![task(0, 100, 5)]);
    let plain = System::new(vec![Pcpu { vcpus: vec![vcpu(), vcpu()] }]);
    let section = |resource, length| Section { resource, after: 1, length };
    let sections = |vcpu, task, section| Sections { pcpu: 0, vcpu, task, sections: vec![section] };
    let good = Locks {
        global: vec![true, false],
        ceilings: true,
        ranks: vec![vec![0, 1]],
        tasks: vec![sections(0, 0, section(0, 2)), sections(1, 0, section(1, 4))],
    };
    let refuse = |change: &dyn Fn(&mut Locks), part: &str| {
        let mut system = plain.clone();
        system.locks = good.clone();
        change(&mut system.locks);
        match Simulation::new(&system, 1) {
            Err(error @ Error::Locks { .. }) => {
                assert!(error.to_string().contains(part), "{error}")
            }
            other => panic!("{part}: {other:?}"),
        }
    };
    refuse(&|it| it.ranks[0][1] = 0, "rank");
    refuse(&|it| it.ranks[0].truncate(1), "rank");
    refuse(&|it| it.ranks[0][1] = 64, "rank");
    refuse(&|it| it.global = vec![true; RESOURCES_MAX + 1], "resources");
    refuse(&|it| it.tasks[0].task = 1, "no task");
    refuse(&|it| it.tasks[0].sections[0].resource = 2, "no resource");
    refuse(&|it| it.tasks[0].sections[0].resource = 1, "not global");
    refuse(&|it| it.tasks[0].sections[0].length = 0, "empty");
    refuse(&|it| it.tasks[0].sections[0].length = 5, "longer");
}

/// PCPUs; VCPUs on each (periodic, budget, rest, overrun); their tasks (offset, period,
/// sections: resource, after, length).
type Drawn = Vec<Vec<((bool, u64, u64, u64), Vec<(u64, u64, Vec<(usize, u64, u64)>)>)>>;

fn drawn() -> impl Strategy<Value = Drawn> {
    let section = (0usize..3, 0u64..5, 1u64..5);
    let task = (0u64..30, 60u64..200, prop::collection::vec(section, 0..4));
    let server = (any::<bool>(), 2u64..10, 2u64..20, 0u64..4);
    let vcpu = (server, prop::collection::vec(task, 1..4));
    prop::collection::vec(prop::collection::vec(vcpu, 1..4), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// One task at a time, in the order of VCPUs and tasks; who waits gets it; and what is
    /// executed is what the tasks need.
    #[test]
    fn resources_are_held_one_at_a_time(drawn in drawn(), ceilings in any::<bool>()) {
        let mut locks = Locks { global: vec![true, true, true], ceilings, ..Locks::default() };
        let mut rank = 0..;
        let mut pcpus = Vec::new();
        for (pcpu, vcpus) in drawn.iter().enumerate() {
            let mut all = Vec::new();
            for (vcpu, ((periodic, budget, rest, overrun), tasks)) in vcpus.iter().enumerate() {
                let it = parameters(*budget, budget + rest, *overrun.min(rest));
                let server = if *periodic { Policy::Periodic(it) } else { Policy::Deferrable(it) };
                let mut simulated = Vec::new();
                for (number, (offset, period, sections)) in tasks.iter().enumerate() {
                    let sum: u64 = sections.iter().map(|(_, after, length)| after + length).sum();
                    simulated.push(task(*offset, 20 * period, sum + 2));
                    let section =
                        |&(resource, after, length): &_| Section { resource, after, length };
                    let sections = sections.iter().map(section).collect();
                    locks.tasks.push(Sections { pcpu, vcpu, task: number, sections });
                }
                all.push(Vcpu::new("v", server, simulated));
            }
            locks.ranks.push(all.iter().filter_map(|_| rank.next()).collect());
            pcpus.push(Pcpu { vcpus: all });
        }
        let ranks = locks.ranks.clone();
        let mut system = System::new(pcpus);
        system.locks = locks;
        let mut simulation = Simulation::new(&system, 1).unwrap();
        let mut owners: BTreeMap<usize, (u8, usize)> = BTreeMap::new();
        let mut waiting: BTreeMap<usize, Vec<(u8, usize)>> = BTreeMap::new();
        let mut next: BTreeMap<usize, (u8, usize)> = BTreeMap::new();
        let mut sections: BTreeMap<(usize, usize), i32> = BTreeMap::new();
        let mut told: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        let mut observer = |_: u64, pcpu: usize, event: Event| match event {
            Event::Wait { vcpu, task, resource, .. } => {
                waiting.entry(resource).or_default().push((ranks[pcpu][vcpu], task));
            }
            Event::Lock { vcpu, task, resource, .. } => {
                let who = (ranks[pcpu][vcpu], task);
                // Who is next was clear when it was released; others may have asked since.
                match next.remove(&resource) {
                    Some(next) => assert_eq!(next, who, "not its turn"),
                    None => assert_eq!(owners.get(&resource), None, "two at a time"),
                }
                owners.insert(resource, who);
                waiting.entry(resource).or_default().retain(|it| *it != who);
                *sections.entry((pcpu, vcpu)).or_default() += 1;
            }
            Event::Unlock { vcpu, task, resource, .. } => {
                assert_eq!(owners.remove(&resource), Some((ranks[pcpu][vcpu], task)));
                if let Some(first) = waiting.get(&resource).and_then(|queue| queue.iter().min()) {
                    assert_eq!(next.insert(resource, *first), None);
                }
                *sections.entry((pcpu, vcpu)).or_default() -= 1;
            }
            // A grant wakes: the hypervisor makes its interrupt pending after the ceiling is raised.
            Event::Wake { vcpu } if ceilings && sections.get(&(pcpu, vcpu)) > Some(&0) => {
                assert_eq!(told.get(&(pcpu, vcpu)), Some(&true), "the wake comes last");
            }
            Event::StartGcs { vcpu } => assert_ne!(told.insert((pcpu, vcpu), true), Some(true)),
            Event::FinishGcs { vcpu } => assert_eq!(told.insert((pcpu, vcpu), false), Some(true)),
            _ => {}
        };
        // All jobs of the first period, which is long enough for all of them.
        let run = simulation.run(Limits { until: 1_200, events: 1_000_000 }, &mut observer);
        run.unwrap();
        let overfull = drawn.iter().any(|vcpus| {
            vcpus.iter().map(|((_, c, rest, o), _)| (c + o) as f64 / (c + rest) as f64).sum::<f64>() > 0.9
        });
        if !overfull {
            for (pcpu, vcpus) in drawn.iter().enumerate() {
                for (vcpu, (_, tasks)) in vcpus.iter().enumerate() {
                    for task in 0..tasks.len() {
                        let found = simulation.task(pcpu, vcpu, task);
                        prop_assert!(found.releases == 0 || found.jobs > 0, "{pcpu}/{vcpu}/{task} is stuck");
                    }
                }
            }
            prop_assert!(owners.is_empty() && next.is_empty() && waiting.values().all(Vec::is_empty));
            prop_assert!(sections.values().all(|count| *count == 0));
            prop_assert!(told.values().all(|told| !told), "ceilings are restored");
            prop_assert!(ceilings || told.is_empty());
        }
    }
}
