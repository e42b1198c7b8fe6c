//! Sound bounds hold in the simulator, which decides with the code of the hypervisor.

use analysis::Kind;
use analysis::vmpcp::{Protocol, Variant};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use sim::{Accesses, Execution, Release, Silent, Simulation};
use taskgen::Random;

use super::described::{Described, OneTask, OneVcpu, times};
use super::model::{self, Course};
use super::random::{self, APART, SMALL, Shape, WIDE};

fn simulated(described: &Described, course: &Course, always: bool) -> sim::System {
    let all = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks).flat_map(OneTask::sections);
    let resources = all.map(|it| it.0 + 1).max().unwrap_or(0);
    let global: Vec<bool> = (0..resources).map(|it| described.is_global(it)).collect();
    let begun = described.vcpus.iter().map(|vcpu| vcpu.period).max().unwrap_or(0);
    let mut offsets = course.task_offsets.iter();
    let (mut pcpus, mut ranks, mut tasks): (Vec<sim::Pcpu>, Vec<Vec<u8>>, Vec<_>) =
        Default::default();
    for (number, vcpu) in described.vcpus.iter().enumerate() {
        pcpus.resize_with(pcpus.len().max(vcpu.pcpu + 1), Default::default);
        ranks.resize_with(pcpus.len(), Vec::new);
        let place = pcpus[vcpu.pcpu].vcpus.len();
        let above = described.vcpus.iter().filter(|it| it.priority > vcpu.priority);
        ranks[vcpu.pcpu].push(above.count() as u8);
        let mut of_vcpu = Vec::new();
        for (task, it) in vcpu.tasks.iter().enumerate() {
            let sections = sections(it);
            if !sections.is_empty() {
                tasks.push(sim::Sections { pcpu: vcpu.pcpu, vcpu: place, task, sections });
            }
            let wcet = it.wcet();
            of_vcpu.push(sim::Task {
                name: "task".into(),
                offset: begun + offsets.next().expect("one for each"),
                period: it.period,
                deadline: it.deadline,
                release: Release::Periodic,
                execution: match always {
                    true => Execution::Always(wcet),
                    false => Execution::Uniform { min: wcet.div_ceil(2), max: wcet },
                },
                accesses: Accesses::None,
            });
        }
        let server = server(vcpu, &global, course.vcpu_offsets[number]);
        pcpus[vcpu.pcpu].vcpus.push(sim::Vcpu::new("vcpu", server, of_vcpu));
    }
    let ceilings = described.protocol == Protocol::Vmpcp;
    let locks = sim::Locks { global, ceilings, ranks, tasks };
    sim::System { locks, ..sim::System::new(pcpus) }
}

fn sections(task: &OneTask) -> Vec<sim::Section> {
    let (mut sections, mut after) = (Vec::new(), 0);
    for &(resource, length) in &task.segments {
        match resource {
            None => after += length,
            Some(resource) => sections.push(sim::Section { resource, after, length }),
        }
        if resource.is_some() {
            after = 0;
        }
    }
    sections
}

fn server(vcpu: &OneVcpu, global: &[bool], start: u64) -> Policy {
    let longest = |task: &OneTask| task.sections().filter(|it| global[it.0]).map(|it| it.1).max();
    let holding: u64 = vcpu.tasks.iter().filter_map(longest).sum();
    let overrun = if vcpu.overrun { holding } else { 0 };
    let parameters = Parameters {
        budget: Duration(vcpu.budget),
        period: Duration(vcpu.period),
        start: Instant(start),
        overrun: Duration(overrun),
    };
    match vcpu.kind {
        Kind::Periodic => Policy::Periodic(parameters),
        _ => Policy::Deferrable(parameters),
    }
}

/// Simulates random systems, with so many courses of events each.
fn within_bounds(seed: u64, systems: u64, courses: u64, shape: Shape, protocol: Protocol) {
    let (mut bounded, mut late, mut locks, mut same) = (0, 0, 0, 0);
    for set in 0..systems {
        let mut random = Random::new(seed, set);
        let mut described = random::described(&mut random, shape, protocol);
        if set % 2 > 0 {
            random::other_deadlines(&mut random, &mut described);
        }
        let bounds = times(&described.bounds(Variant::Sound));
        let all = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
        let is_late =
            |(bound, task): &(&Option<u64>, &OneTask)| bound.is_some_and(|it| it > task.deadline);
        late += bounds.iter().zip(all).filter(is_late).count() as u64;
        bounded += u64::from(bounds.iter().any(Option::is_some));
        let longest = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks).map(|task| task.period);
        let until = 3 * longest.max().unwrap_or(0);
        for number in 0..courses {
            let course = random::course(&mut random, &described);
            let always = number % 2 == 0;
            // A budget and the limit of its overrun have to fit into a period.
            let system = simulated(&described, &course, always);
            let Ok(mut simulation) = Simulation::new(&system, course.seed) else { continue };
            let limits = sim::Limits { until, events: u64::MAX };
            match simulation.run(limits, &mut Silent) {
                Ok(_) => {}
                // Some task has more jobs than time, and no bound.
                Err(sim::Error::Overload { .. }) => continue,
                Err(error) => panic!("{error}"),
            }
            let mut responses = Vec::new();
            let mut places = vec![0; system.pcpus.len()];
            for vcpu in &described.vcpus {
                let place = places[vcpu.pcpu];
                places[vcpu.pcpu] += 1;
                for task in 0..vcpu.tasks.len() {
                    responses.push(simulation.task(vcpu.pcpu, place, task).response_max_ns);
                }
            }
            for (task, (response, bound)) in responses.iter().zip(&bounds).enumerate() {
                assert!(
                    bound.is_none_or(|bound| *response <= bound),
                    "task {task}: {response} > {bound:?}\n{described:?} {course:?}"
                );
            }
            locks += u64::from(system.locks.global.contains(&true));
            if always {
                let course = Course { lengths: model::full, ..course };
                let model = model::run(&described, &course, until);
                same += u64::from(model == responses);
            }
        }
    }
    println!(
        "{protocol:?}: {bounded} systems, {late} late tasks, {locks} runs with global resources, {same} \
         as in the model"
    );
    assert!(bounded > systems / 3 && late > systems / 20 && locks > systems / 20 && same > 0);
}

#[test]
fn no_simulated_response_is_above_its_sound_bound() {
    for protocol in [Protocol::Vmpcp, Protocol::Mpcp] {
        for shape in [SMALL, WIDE, APART] {
            within_bounds(5, 150, 4, shape, protocol);
        }
    }
}

#[test]
#[ignore = "a minute"]
fn no_simulated_response_of_many_systems_is_above_its_sound_bound() {
    for protocol in [Protocol::Vmpcp, Protocol::Mpcp] {
        for shape in [SMALL, WIDE, APART] {
            within_bounds(6, 20_000, 10, shape, protocol);
        }
    }
}
