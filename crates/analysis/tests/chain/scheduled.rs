//! Chains of tasks on processors that are scheduled tick by tick: no run is longer than the bounds
//! that the analysis of tasks and [`propagate`] find together.

use analysis::chain::queue::triggered;
use analysis::chain::{
    Activation, Chain, Delay, EventStream, Propagated, Sampling, Source, Step, propagate,
};
use analysis::response::{Analyzer, Workload};
use analysis::{Failure, Limits, Task};
use testing::{Random, cases};

use crate::never::RandomChoices;
use crate::ns;
use crate::run::{Job, Jobs, Longest, Tie, events, longest};

/// A task. The priority of a task is its place: the first one has the highest priority.
#[derive(Clone, Copy, Debug)]
struct Model {
    processor: usize,
    activation: Activation,
    best: u64,
    worst: u64,
}

/// Tasks on processors, and those that a chain leads through.
#[derive(Clone, Debug)]
struct System {
    tasks: Vec<Model>,
    chain: Vec<usize>,
}

fn draw(random: &mut Random) -> System {
    let processors = random.between(1, 3);
    let number = random.between(2, 7) as usize;
    let mut tasks: Vec<Model> = Vec::new();
    for _ in 0..number {
        let worst = random.between(1, 5);
        let period = random.between(6, 30);
        let jitter = if random.one_in(2) { 0 } else { random.below(period + 8) };
        let stream = EventStream::periodic(ns(period)).unwrap().with_jitter(ns(jitter)).unwrap();
        tasks.push(Model {
            processor: random.below(processors) as usize,
            activation: Activation::Own(stream),
            best: random.between(1, worst),
            worst,
        });
    }
    // A chain through some of them, in any order of priorities.
    let mut chain: Vec<usize> = (0..number).collect();
    for index in (1..number).rev() {
        chain.swap(index, random.below(index as u64 + 1) as usize);
    }
    chain.truncate(random.between(1, 4) as usize);
    for pair in chain.windows(2) {
        if random.one_in(2) {
            tasks[pair[1]].activation = Activation::Output(pair[0]);
        }
    }
    System { tasks, chain }
}

impl System {
    /// The streams and delays of all tasks.
    fn propagate(&self) -> Option<Propagated> {
        let activations: Vec<_> = self.tasks.iter().map(|it| it.activation).collect();
        let mut analyzer = Analyzer::new(Limits { window: ns(3_000), passes: 100_000 });
        let delays = |streams: &[EventStream]| {
            let mut delays = vec![None; self.tasks.len()];
            for processor in 0..3 {
                let on = |index: &usize| self.tasks[*index].processor == processor;
                let on: Vec<usize> = (0..self.tasks.len()).filter(on).collect();
                let task = |index: &usize| {
                    let stream = streams[*index];
                    let task = Task::new(ns(self.tasks[*index].worst), stream.period()).unwrap();
                    task.with_jitter(stream.jitter()).unwrap()
                };
                let tasks: Vec<Task> = on.iter().map(task).collect();
                let mut responses = Vec::new();
                analyzer.response_times(&Workload::new(&tasks), &mut responses);
                for ((index, task), response) in on.iter().zip(&tasks).zip(responses) {
                    let best = ns(self.tasks[*index].best);
                    delays[*index] = Delay::of_task(task, best, &response?);
                }
            }
            Ok::<_, Failure>(delays.into_iter().map(Option::unwrap).collect())
        };
        propagate(&activations, ns(1_000), 1_000, delays).ok()
    }

    /// The chain as the analysis sees it. `ordered`: whether it knows which tasks start after
    /// others.
    fn chain(&self, found: &Propagated, ordered: impl Fn(usize, usize) -> bool) -> Chain {
        let mut source = Source::State;
        let mut steps = Vec::new();
        for (place, &index) in self.chain.iter().enumerate() {
            let (releases, delay) = (found.streams[index], found.delays[index]);
            let before = place.checked_sub(1).map(|it| self.chain[it]);
            let starts_after_writer = before.is_some_and(|before| ordered(before, index));
            steps.push(match self.tasks[index].activation {
                Activation::Output(_) => Step::Triggered(delay),
                // The first task may also be activated by events.
                Activation::Own(_) if place == 0 && self.tasks.len().is_multiple_of(2) => {
                    source = Source::Events(releases);
                    Step::Triggered(delay)
                }
                Activation::Own(_) => {
                    Step::Sampling(Sampling { releases, delay, starts_after_writer })
                }
            });
        }
        Chain::new(source, steps).unwrap()
    }

    fn starts_after(&self, before: usize, index: usize) -> bool {
        self.tasks[before].processor == self.tasks[index].processor && before < index
    }

    /// Lets the processors execute; returns the jobs of each task that are complete.
    fn execute(&self, until: u64, random: u64) -> Vec<Jobs> {
        let mut random = Random::new(random);
        let middle = random.between(1, 5);
        let mut choices = RandomChoices { random: random.clone(), middle };
        let arrivals = self.tasks.iter().map(|task| match &task.activation {
            Activation::Own(stream) => {
                let number = until / stream.period().0;
                let mut jobs = events(stream, 0, number as usize, &mut choices);
                jobs.reverse();
                jobs
            }
            Activation::Output(_) => Jobs::new(),
        });
        let mut arrivals: Vec<Jobs> = arrivals.collect();
        // Jobs that wait or execute, the oldest one first, with the time that they still need.
        let mut pending: Vec<Vec<(Job, u64, bool)>> = vec![Vec::new(); self.tasks.len()];
        let mut complete: Vec<Jobs> = vec![Jobs::new(); self.tasks.len()];
        for now in 0..until {
            // Jobs are activated, also by those that complete at this instant.
            for (index, task) in self.tasks.iter().enumerate() {
                let arrived: Vec<Job> = match task.activation {
                    Activation::Own(_) => {
                        let due = |job: &mut Job| job.activation == now;
                        let mut arrived = Vec::new();
                        while let Some(job) = arrivals[index].pop_if(due) {
                            arrived.push(job);
                        }
                        arrived
                    }
                    Activation::Output(before) => {
                        let output = complete[before].last().filter(|job| job.write == now);
                        output.map(|job| Job { activation: now, ..*job }).into_iter().collect()
                    }
                };
                for job in arrived {
                    let time = match random.below(3) {
                        0 => random.between(task.best, task.worst),
                        1 => task.best,
                        _ => task.worst,
                    };
                    pending[index].push((job, time, false));
                }
            }
            for processor in 0..3 {
                let runs = (0..self.tasks.len())
                    .find(|it| self.tasks[*it].processor == processor && !pending[*it].is_empty());
                let Some(index) = runs else { continue };
                let (job, left, started) = &mut pending[index][0];
                if !*started {
                    (job.read, *started) = (now, true);
                }
                *left -= 1;
                if *left == 0 {
                    job.write = now + 1;
                    let job = *job;
                    complete[index].push(job);
                    pending[index].remove(0);
                }
            }
        }
        complete
    }

    /// The segments of the chain in a run.
    fn segments(&self, chain: &Chain, complete: &[Jobs]) -> Vec<Jobs> {
        let mut segments: Vec<Jobs> = Vec::new();
        for (step, &index) in chain.steps().iter().zip(&self.chain) {
            let jobs = &complete[index];
            match step {
                // Job by job, the one before it in the chain and its output.
                Step::Triggered(_) if !segments.is_empty() => {
                    let before = segments.last_mut().unwrap();
                    before.truncate(jobs.len());
                    for (before, job) in before.iter_mut().zip(jobs) {
                        before.write = job.write;
                    }
                }
                _ => segments.push(jobs.clone()),
            }
        }
        segments
    }
}

/// The longest times of some runs.
fn runs(system: &System, chain: &Chain, found: &Propagated, seed: u64) -> Longest {
    let mut all = Longest::default();
    for run in 0..6 {
        let complete = system.execute(600, seed * 6 + run);
        for ((stream, delay), jobs) in found.streams.iter().zip(&found.delays).zip(&complete) {
            let wait = ns(stream.jitter().0 + delay.worst().0);
            let places = triggered(stream, wait).messages;
            for job in jobs {
                let inside = |it: &&Job| (it.activation..=it.write).contains(&job.activation);
                assert!(jobs.iter().filter(inside).count() as u64 <= places);
            }
        }
        let segments = system.segments(chain, &complete);
        all = all.max(longest(&chain.source(), &segments, Tie::New));
    }
    all
}

#[test]
fn no_scheduled_run_is_longer_than_the_bounds() {
    let mut random = Random::new(12);
    let (mut bounded, mut ordered) = (0, 0);
    let mut ratios = [0u64; 3];
    for seed in 0..u64::from(cases(1_500)) {
        let system = draw(&mut random);
        let Some(found) = system.propagate() else { continue };
        let chain = system.chain(&found, |before, index| system.starts_after(before, index));
        let longest = runs(&system, &chain, &found, seed);
        let bounds = [chain.reaction_time(), chain.data_age(), chain.reduced_data_age()];
        let bounds = bounds.map(|it| it.unwrap().0);
        let times = [longest.reaction, longest.age, longest.reduced];
        for ((time, bound), ratio) in times.iter().zip(bounds).zip(&mut ratios) {
            assert!(*time <= bound, "{longest:?} {bounds:?} {system:?} {chain:?}");
            let percent = (time * 100).checked_div(bound).unwrap_or(0);
            *ratio = (*ratio).max(percent);
        }
        bounded += 1;
        let without = system.chain(&found, |_, _| false);
        ordered += u32::from(without.data_age() != chain.data_age());
    }
    println!("{bounded} systems, {ordered} with order; at most {ratios:?} % of the bounds");
    assert!(bounded > cases(1_500) / 2 && ordered > cases(1_500) / 30, "{bounded} {ordered}");
    assert!(ratios.iter().all(|it| *it >= 80), "{ratios:?}");
}

/// A reader above its writer may read before it, so that the whole delay of the writer counts.
#[test]
fn the_order_of_priorities_matters() {
    let mut random = Random::new(13);
    let [mut sound, mut refuted] = [0; 2];
    for seed in 0..400 {
        let system = draw(&mut random);
        let Some(found) = system.propagate() else { continue };
        let same = |before: usize, index: usize| {
            system.tasks[before].processor == system.tasks[index].processor
        };
        let wrong = system.chain(&found, same);
        let right = system.chain(&found, |before, index| system.starts_after(before, index));
        if wrong.reaction_time() == right.reaction_time() {
            continue;
        }
        let longest = runs(&system, &wrong, &found, seed);
        sound += 1;
        refuted += u32::from(
            longest.reaction > wrong.reaction_time().unwrap().0
                || longest.age > wrong.data_age().unwrap().0,
        );
    }
    println!("{refuted} of {sound} systems refute a reader above its writer that starts after it");
    assert!(refuted > 0);
}
