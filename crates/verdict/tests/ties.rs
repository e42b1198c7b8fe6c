//! Tasks of one VCPU with the same priority, and deadlines beyond periods: no simulated response time is longer than
//! its bound, in whatever order the tasks go.

use std::path::Path;

use sim::{Accesses, Execution, Release, Silent, Simulation};
use system::description::System;
use system::plan;
use taskgen::Random;
use verdict::Verdict;

#[derive(Clone, Debug)]
struct Drawn {
    priority: u64,
    period: u64,
    deadline: u64,
    wcet: u64,
    offset: u64,
}

fn drawn(random: &mut Random) -> Drawn {
    let period = [40, 60, 100, 120][random.between(0, 3) as usize];
    Drawn {
        priority: random.between(1, 2),
        period,
        deadline: period * random.between(1, 8) / 4,
        wcet: random.between(2, 22),
        offset: random.between(0, 30),
    }
}

/// Bounds in us, in the order of the tasks.
fn bounds(tasks: &[Drawn], budget: Option<u64>) -> Vec<Option<u64>> {
    let vcpu = match budget {
        Some(budget) => format!(
            "[[vm.vcpu]]\npcpu = 0\nserver = \"deferrable\"\nbudget = \"{budget}us\"\nperiod = \"10us\"\n"
        ),
        None => "[[vm.vcpu]]\npcpu = 0\n".to_owned(),
    };
    let mut text = format!(
        "platform = \"i7-2600\"\n[[vm]]\nname = \"a\"\nmemory = \"16MiB\"\nkernel = \"a\"\nboot = \"raw\"\n{vcpu}"
    );
    for (number, task) in tasks.iter().enumerate() {
        text += &format!(
            "[[vm.task]]\nname = \"t{number}\"\npriority = {}\nperiod = \"{}us\"\ndeadline = \"{}us\"\n\
             wcet = \"{}us\"\n",
            task.priority, task.period, task.deadline, task.wcet
        );
    }
    let system = System::from_toml("s.toml", &text, Path::new("")).expect("a description");
    let verdict = Verdict::of_description(&system, &plan::assign(&system).expect("a place"));
    let found = &verdict.pcpus[0].vcpus[0].tasks;
    let bound = |number: usize| {
        let name = format!("t{number}");
        let task = found.iter().find(|task| task.task == name).expect("each has a verdict");
        let deadline = tasks[number].deadline * 1_000;
        assert_eq!(task.ok, task.wcrt_ns.is_some_and(|bound| bound <= deadline), "{task:?}");
        task.wcrt_ns.map(|bound| bound.div_ceil(1_000))
    };
    (0..tasks.len()).map(bound).collect()
}

/// The longest response times of the tasks in this order.
fn simulated(tasks: &[Drawn], order: &[usize], budget: Option<u64>) -> Option<Vec<u64>> {
    let task = |number: &usize| {
        let it = &tasks[*number];
        sim::Task {
            name: "task".into(),
            offset: 20 + it.offset,
            period: it.period,
            deadline: it.deadline,
            release: Release::Periodic,
            execution: Execution::Always(it.wcet),
            accesses: Accesses::None,
        }
    };
    let server = policy::server::Parameters {
        budget: policy::time::Duration(budget.unwrap_or(10)),
        period: policy::time::Duration(10),
        start: policy::time::Instant(0),
        overrun: policy::time::Duration(0),
    };
    let server = policy::server::Policy::Deferrable(server);
    let vcpu = sim::Vcpu::new("vcpu", server, order.iter().map(task).collect());
    let system = sim::System::new(vec![sim::Pcpu { vcpus: vec![vcpu] }]);
    let mut simulation = Simulation::new(&system, 1).expect("a simulation");
    let limits = sim::Limits { until: 3_000, events: u64::MAX };
    simulation.run(limits, &mut Silent).ok()?;
    let mut responses = vec![0; tasks.len()];
    for (place, number) in order.iter().enumerate() {
        responses[*number] = simulation.task(0, 0, place).response_max_ns;
    }
    Some(responses)
}

#[test]
fn no_task_of_equal_priority_is_later_than_its_bound() {
    let [mut ties, mut late, mut beyond, mut reached] = [0; 4];
    for set in 0..400 {
        let mut random = Random::new(41, set);
        let tasks: Vec<Drawn> = (0..random.between(2, 4)).map(|_| drawn(&mut random)).collect();
        let budget = (random.between(0, 1) > 0).then(|| random.between(5, 9));
        let bounds = bounds(&tasks, budget);
        let mut worst = vec![0; tasks.len()];
        for _ in 0..6 {
            let mut order: Vec<usize> = (0..tasks.len()).collect();
            random.shuffle(&mut order);
            // A stable sort: those of equal priority are in any order.
            order.sort_by_key(|task| std::cmp::Reverse(tasks[*task].priority));
            let mut moved = tasks.clone();
            moved.iter_mut().for_each(|task| task.offset *= random.between(0, 1));
            let Some(responses) = simulated(&moved, &order, budget) else { continue };
            for (task, (response, bound)) in responses.iter().zip(&bounds).enumerate() {
                assert!(
                    bound.is_none_or(|bound| *response <= bound),
                    "task {task}: {response} of {bound:?}: {tasks:?} {budget:?} {order:?} {moved:?}"
                );
                worst[task] = worst[task].max(*response);
            }
        }
        for (task, bound) in bounds.iter().enumerate() {
            let equals = tasks.iter().filter(|it| it.priority == tasks[task].priority).count();
            let Some(bound) = *bound else { continue };
            ties += u64::from(equals > 1);
            late += u64::from(bound > tasks[task].deadline);
            beyond += u64::from(bound > tasks[task].period && bound <= tasks[task].deadline);
            reached += u64::from(equals > 1 && worst[task] == bound);
        }
    }
    println!(
        "{ties} bounds beside equals, {reached} reached; {late} late, {beyond} in time beyond the period"
    );
    assert!(ties > 200 && late > 50 && beyond > 20 && reached > 100);
}

/// What holds off a task holds off those with its priority, which would have to go before it.
#[test]
fn the_longest_blocking_counts_for_all() {
    let text = "platform = \"i7-2600\"\n[[vm]]\nname = \"a\"\nmemory = \"16MiB\"\nkernel = \"a\"\nboot = \"raw\"\n\
                [[vm.vcpu]]\npcpu = 0\n\
                [[vm.task]]\nname = \"one\"\npriority = 2\nperiod = \"100us\"\nwcet = \"5us\"\nblocking = \"10us\"\n\
                [[vm.task]]\nname = \"two\"\npriority = 2\nperiod = \"100us\"\nwcet = \"7us\"\n\
                [[vm.task]]\nname = \"low\"\npriority = 1\nperiod = \"200us\"\nwcet = \"20us\"\n";
    let system = System::from_toml("s.toml", text, Path::new("")).expect("a description");
    let verdict = Verdict::of_description(&system, &plan::assign(&system).expect("a place"));
    let bounds = verdict.pcpus[0].vcpus[0].tasks.iter();
    let mut bounds: Vec<_> = bounds.map(|task| (&*task.task, task.wcrt_ns)).collect();
    bounds.sort_unstable();
    let us = |us: u64| Some(us * 1_000);
    assert_eq!(bounds, [("low", us(32)), ("one", us(22)), ("two", us(22))]);
}
