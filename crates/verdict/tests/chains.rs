//! Chains of described systems: no simulated chain takes longer than its bound, wherever its jobs
//! read.

use std::path::Path;

use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use sim::{Accesses, Event, Execution, Release, Simulation};
use system::description::System;
use system::plan;
use taskgen::Random;
use verdict::{ChainVerdict, Verdict};

/// A task on a VCPU of its own, which shares a PCPU with the others.
#[derive(Clone, Debug)]
struct Drawn {
    period: u64,
    wcet: u64,
    offset: u64,
    budget: u64,
    sporadic: bool,
    /// Execution time of a task above it, with half of the period; 0 if there is none.
    above: u64,
}

fn drawn(random: &mut Random, sporadic: bool) -> Drawn {
    let period = [20, 30, 40, 60, 100][random.between(0, 4) as usize];
    Drawn {
        period,
        wcet: random.between(1, 5),
        offset: random.between(0, 40),
        budget: random.between(2, 5),
        sporadic,
        above: random.between(0, 1),
    }
}

fn description(tasks: &[Drawn], chain: &str) -> String {
    let vm = |(index, task): (usize, &Drawn)| {
        let Drawn { period, wcet, budget, sporadic, above, .. } = task;
        let above = match above {
            0 => String::new(),
            wcet => format!(
                "[[vm.task]]\nname = \"above\"\nperiod = \"{}us\"\nwcet = \"{wcet}us\"\npriority = 2\n",
                period / 2
            ),
        };
        format!(
            "[[vm]]\nname = \"v{index}\"\nmemory = \"16MiB\"\nkernel = \"a\"\nboot = \"raw\"\n\
             [[vm.vcpu]]\npcpu = {}\nserver = \"deferrable\"\nbudget = \"{budget}us\"\nperiod = \"10us\"\n\
             [[vm.task]]\nname = \"t\"\nperiod = \"{period}us\"\nwcet = \"{wcet}us\"\n\
             deadline = \"1s\"\nsporadic = {sporadic}\npriority = 1\n{above}",
            index % 2
        )
    };
    let vms: String = tasks.iter().enumerate().map(vm).collect();
    format!("platform = \"i7-2600\"\n[[chain]]\nname = \"c\"\n{chain}\n{vms}")
}

fn judged(text: &str) -> Verdict {
    let system = System::from_toml("s.toml", text, Path::new(""));
    let system = system.unwrap_or_else(|errors| panic!("{errors}"));
    Verdict::of_description(&system, &plan::assign(&system).expect("places"))
}

/// Releases and completions of the jobs of each task, in the order of the tasks.
fn simulated(tasks: &[Drawn], seed: u64) -> Option<Vec<Vec<(u64, u64)>>> {
    let vcpu = |task: &Drawn| {
        let server = Parameters {
            budget: Duration(task.budget),
            period: Duration(10),
            start: Instant(0),
            overrun: Duration(0),
        };
        let more = task.period / 2;
        let above = sim::Task {
            name: "above".into(),
            offset: 0,
            period: task.period / 2,
            deadline: 1_000_000,
            release: Release::Periodic,
            execution: Execution::Always(task.above),
            accesses: Accesses::None,
        };
        let above = (task.above > 0).then_some(above);
        let task = sim::Task {
            name: "t".into(),
            offset: task.offset,
            period: task.period,
            deadline: 1_000_000,
            release: match task.sporadic {
                true => Release::Sporadic { delay_max: more },
                false => Release::Periodic,
            },
            execution: match seed % 2 {
                0 => Execution::Uniform { min: 1, max: task.wcet },
                _ => Execution::Always(task.wcet),
            },
            accesses: Accesses::None,
        };
        // The highest priority first: the task of the chain is the last one.
        let tasks = above.into_iter().chain([task]).collect();
        sim::Vcpu::new("v", Policy::Deferrable(server), tasks)
    };
    let mut pcpus = vec![Vec::new(), Vec::new()];
    for (index, task) in tasks.iter().enumerate() {
        pcpus[index % 2].push(vcpu(task));
    }
    let pcpus = pcpus.into_iter().map(|vcpus| sim::Pcpu { vcpus }).collect();
    let mut simulation = Simulation::new(&sim::System::new(pcpus), seed).ok()?;
    let mut jobs = vec![(Vec::new(), Vec::new()); tasks.len()];
    let is_last = |index: usize, task: usize| task == usize::from(tasks[index].above > 0);
    let mut observer = |at: u64, pcpu: usize, event: Event| match event {
        Event::Release { vcpu, task } if is_last(2 * vcpu + pcpu, task) => {
            jobs[2 * vcpu + pcpu].0.push(at);
        }
        Event::Complete { vcpu, task, .. } if is_last(2 * vcpu + pcpu, task) => {
            jobs[2 * vcpu + pcpu].1.push(at);
        }
        _ => {}
    };
    let limits = sim::Limits { until: 20_000, events: u64::MAX };
    simulation.run(limits, &mut observer).ok()?;
    let zipped = |(releases, ends): (Vec<u64>, Vec<u64>)| releases.into_iter().zip(ends).collect();
    Some(jobs.into_iter().map(zipped).collect())
}

/// The outputs of a chain: what the first task read when, and the output when. `latest`: jobs read
/// as late as they can, not as early.
fn outputs(jobs: &[Vec<(u64, u64)>], latest: bool) -> Vec<(u64, u64)> {
    let at = |job: &(u64, u64)| if latest { job.1 } else { job.0 };
    let mut values: Vec<(u64, u64)> = jobs[0].iter().map(|job| (at(job), job.1)).collect();
    for step in &jobs[1..] {
        let read = |job: &(u64, u64)| {
            let written = values.iter().take_while(|(_, written)| *written < at(job));
            Some((written.last()?.0, job.1))
        };
        values = step.iter().filter_map(read).collect();
    }
    values
}

/// The longest reaction to a change of the state, or to an event, and the oldest data.
fn observed(jobs: &[Vec<(u64, u64)>], events: bool, latest: bool) -> (u64, u64) {
    let outputs = outputs(jobs, latest);
    let pairs = || outputs.iter().zip(outputs.iter().skip(1));
    let age = pairs().map(|(one, next)| next.1 - one.0).max().unwrap_or(0);
    let reaction = match events {
        false => {
            let changed = pairs().filter(|(one, next)| next.0 > one.0);
            changed.map(|(one, next)| next.1 - one.0).max().unwrap_or(0)
        }
        true => {
            let first = outputs.first().map_or(u64::MAX, |(_, written)| *written);
            let arrivals = jobs[0].iter().filter(|(release, _)| *release > first);
            let answer = |(release, end): &(u64, u64)| {
                let read = if latest { *end } else { *release };
                let found = outputs.iter().find(|(source, _)| *source >= read)?;
                Some(found.1 - release)
            };
            arrivals.filter_map(answer).max().unwrap_or(0)
        }
    };
    (reaction, age)
}

/// Stands behind P10 of the safety manual.
#[test]
fn no_chain_takes_longer_than_its_bound() {
    let [mut bounded, mut close, mut events, mut refuted] = [0; 4];
    for set in 0..300 {
        let mut random = Random::new(77, set);
        let count = random.between(1, 4) as usize;
        let with_events = random.between(0, 2) == 0;
        let tasks: Vec<Drawn> =
            (0..count).map(|index| drawn(&mut random, with_events && index == 0)).collect();
        let steps: Vec<String> = (0..count).map(|index| format!("\"v{index}.t\"")).collect();
        let text = description(&tasks, &format!("steps = [{}]", steps.join(", ")));
        let verdict = judged(&text);
        let chain: &ChainVerdict = &verdict.chains[0];
        let Some(reaction) = chain.reaction_ns.map(|time| time / 1_000) else { continue };
        assert_eq!(chain.age_ns.is_none(), with_events);
        bounded += 1;
        events += u64::from(with_events);
        let mut worst = 0;
        for seed in 1..5 {
            let mut moved = tasks.clone();
            moved.iter_mut().for_each(|task| task.offset = random.between(0, task.period));
            let Some(jobs) = simulated(&moved, seed) else { continue };
            for latest in [false, true] {
                let found = observed(&jobs, with_events, latest);
                assert!(found.0 <= reaction, "{found:?} of {reaction}: {text}");
                if let Some(age) = chain.age_ns {
                    assert!(found.1 <= age / 1_000, "{found:?} of {age}: {text}");
                }
                worst = worst.max(found.0);
            }
        }
        close += u64::from(10 * worst >= 7 * reaction);
        // The simulation finds mistakes: a bound that leaves out how long data waits for the last step.
        let wait = chain.steps.last().map_or(0, |step| step.wait_ns / 1_000);
        refuted += u64::from(wait > 0 && worst > reaction - wait);
    }
    println!(
        "{bounded} bounds, {events} with events; {close} within 30 % of what was seen, {refuted} refuted without the last wait"
    );
    assert!(
        bounded > 150 && events > 30 && close > 40 && refuted > 40,
        "{bounded} {events} {close} {refuted}"
    );
}

/// Davare et al. (DAC 2007): the latency is at most the sum of periods and response times.
#[test]
fn the_bound_is_the_sum_of_periods_and_response_times() {
    let chain = "steps = [\"v0.t\", \"v1.t\", \"v2.t\"]\nmax_reaction = \"1s\"";
    let task =
        |period, wcet| Drawn { period, wcet, offset: 0, budget: 3, sporadic: false, above: 0 };
    let tasks = [task(20, 2), task(50, 3), task(100, 4)];
    let verdict = judged(&description(&tasks, chain));
    let steps = &verdict.chains[0].steps;
    let response = |name: &str| {
        let mut tasks = verdict.tasks().filter(|(vcpu, _)| vcpu.vm == name);
        tasks.next().and_then(|(_, task)| task.wcrt_ns).expect("a bound")
    };
    let responses = ["v0", "v1", "v2"].map(response);
    let sum = (20 + 50 + 100) * 1_000 + responses.iter().sum::<u64>();
    let chain = &verdict.chains[0];
    assert_eq!((chain.reaction_ns, chain.age_ns), (Some(sum), Some(sum)));
    assert_eq!(steps.iter().map(|it| it.wait_ns).collect::<Vec<_>>(), [20_000, 50_000, 100_000]);
    // The first one as an event does not wait.
    let first = Drawn { sporadic: true, ..tasks[0].clone() };
    let events = [first, tasks[1].clone(), tasks[2].clone()];
    let steps = "steps = [\"v0.t\", \"v1.t\", \"v2.t\"]";
    let verdict = judged(&description(&events, steps));
    let chain = &verdict.chains[0];
    assert_eq!((chain.reaction_ns, chain.age_ns), (Some(sum - 20_000), None));
}

/// The numbers of the example by hand: each task alone on a PCPU of its own responds in its `wcet`.
#[test]
fn jitter_counts_once_and_limits_are_exact() {
    let text = |limit: &str| {
        format!(
            "platform = \"i7-2600\"\n[[chain]]\nname = \"c\"\nsteps = [\"a.t\", \"b.t\"]\n{limit}\n{}{}",
            vm("a", "period = \"10ms\"\nwcet = \"4ms\"\njitter = \"1ms\""),
            vm("b", "period = \"20ms\"\nwcet = \"7ms\"")
        )
    };
    let vm_bound = (10 + 4 + 1) + (20 + 7);
    for (limit, ok) in [
        (String::new(), true),
        (format!("max_reaction = \"{vm_bound}ms\""), true),
        (format!("max_age = \"{vm_bound}ms\""), true),
        (format!("max_reaction = \"{}ns\"", vm_bound * 1_000_000 - 1), false),
        (format!("max_age = \"{}ns\"", vm_bound * 1_000_000 - 1), false),
    ] {
        let verdict = judged(&text(&limit));
        let chain = &verdict.chains[0];
        assert_eq!(chain.reaction_ns, Some(vm_bound * 1_000_000), "{limit}");
        assert_eq!((chain.ok, verdict.schedulable), (ok, ok), "{limit}");
        assert!(verdict.tasks().all(|(_, task)| task.ok));
        assert_eq!(chain.why().is_none(), ok);
    }
    let why = judged(&text("max_reaction = \"40ms\"\nmax_age = \"41ms\"")).chains[0].why();
    let expected = "the reaction of chain `c` can take 42 ms: 2 ms longer than `max_reaction`; the data of \
                    chain `c` can be 42 ms old: 1 ms older than `max_age`";
    assert_eq!(why.as_deref(), Some(expected));
}

fn vm(name: &str, task: &str) -> String {
    format!(
        "[[vm]]\nname = \"{name}\"\nmemory = \"16MiB\"\nkernel = \"a\"\nboot = \"raw\"\n\
         [[vm.task]]\nname = \"t\"\n{task}\n"
    )
}

#[test]
fn a_chain_through_a_task_without_bound_has_none() {
    let text = |limit: &str| {
        format!(
            "platform = \"i7-2600\"\n[[chain]]\nname = \"c\"\nsteps = [\"a.t\", \"b.t\"]\n{limit}\n{}{}",
            vm("a", "period = \"10ms\"\nwcet = \"4ms\""),
            vm("b", "period = \"20ms\"\nwcet = \"21ms\"")
        )
    };
    let verdict = judged(&text("max_reaction = \"10s\""));
    let chain = &verdict.chains[0];
    assert_eq!((chain.unbounded_step, chain.reaction_ns, chain.ok), (Some(1), None, false));
    let expected = "chain `c` has no bound, because its step `b.t` has none";
    assert_eq!(chain.why().as_deref(), Some(expected));
    // Without limits that is no failure of the chain.
    assert!(judged(&text("")).chains[0].ok);
    // Times that cannot be counted.
    let long = |period: &str| {
        format!(
            "platform = \"i7-2600\"\n[[chain]]\nname = \"c\"\nsteps = [\"a.t\"]\nmax_age = \"1s\"\n{}",
            vm("a", &format!("period = \"{period}\"\nwcet = \"4ms\""))
        )
    };
    let verdict = judged(&long("4000000000s"));
    let chain = &verdict.chains[0];
    assert_eq!((chain.unbounded_step, chain.reaction_ns, chain.ok), (None, None, false));
    let expected = "chain `c` has no bound: it is longer than can be counted";
    assert_eq!(chain.why().as_deref(), Some(expected));
}
