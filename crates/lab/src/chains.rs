//! Chains in a simulation or a trace: how long data took through their tasks.
//!
//! Each job counts as if it read when it is released: at any later time it gets the same data or
//! newer data. So what is found is what happened, or more; and the bounds of
//! [`verdict::ChainVerdict`] hold for it, because they hold wherever a job reads.
//!
//! A change of what the first task reads takes longest if it comes just behind a job that reads, and
//! shows in the first output that was made by a later one. Therefore an output, and the next one that was made from
//! something later, tell one reaction time. The time at which an output is replaced tells a data age.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use report::verdicts::{Row, Rule};
use serde::Serialize;
use system::description::{Chain, System};
use trace::{Header, Trace, VcpuId, timeline};
use verdict::{ChainVerdict, Verdict};

use crate::amount::time;
use crate::responses;
use crate::verdicts::{both, places};

/// The times that a chain took.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Observed {
    /// Outputs of the last task that were made from something that the first one read.
    pub outputs: u64,
    /// The longest reaction time, if there was one.
    pub reaction_max_ns: Option<u64>,
    /// The longest data age, if there was one; none of chains that events begin.
    pub age_max_ns: Option<u64>,
}

impl Observed {
    /// Returns in which it exceeded these bounds, a sentence each; `chain` is its name.
    pub fn above(&self, reaction: Option<u64>, age: Option<u64>, chain: &str) -> Vec<String> {
        self.beyond(reaction, age, chain, "bound")
    }

    /// Returns in which it exceeded these limits, a sentence each.
    pub fn late(&self, reaction: Option<u64>, age: Option<u64>, chain: &str) -> Vec<String> {
        self.beyond(reaction, age, chain, "limit")
    }

    fn beyond(
        &self,
        reaction: Option<u64>,
        age: Option<u64>,
        chain: &str,
        what: &str,
    ) -> Vec<String> {
        let above = |max: Option<u64>, bound: Option<u64>| {
            let (max, bound) = max.zip(bound).filter(|(max, bound)| max > bound)?;
            Some([max, bound].map(time))
        };
        let reaction = above(self.reaction_max_ns, reaction).map(|[max, bound]| {
            format!("the reaction of chain `{chain}` took {max}, longer than its {what} of {bound}")
        });
        let age = above(self.age_max_ns, age).map(|[max, bound]| {
            format!(
                "the data of chain `{chain}` became {max} old, older than its {what} of {bound}"
            )
        });
        reaction.into_iter().chain(age).collect()
    }
}

/// A chain of a simulation or a run, beside its bounds.
#[derive(Clone, Debug, Serialize)]
pub struct Seen {
    /// The observations.
    #[serde(flatten)]
    pub observed: Observed,
    /// Its bounds and limits.
    #[serde(flatten)]
    pub judged: ChainVerdict,
}

impl Seen {
    /// Returns the chains of a verdict, with the observations of each.
    pub fn all(verdict: Verdict, observed: &[Observed]) -> Vec<Self> {
        let both = verdict.chains.into_iter().zip(observed);
        both.map(|(judged, observed)| Self { observed: *observed, judged }).collect()
    }

    /// Returns true if it took longer than it may.
    pub fn is_late(&self) -> bool {
        !self.late().is_empty()
    }

    /// Returns in which it took longer than it may, a sentence each.
    pub fn late(&self) -> Vec<String> {
        let judged = &self.judged;
        self.observed.late(judged.max_reaction_ns, judged.max_age_ns, &judged.chain)
    }

    /// Returns the verdict on its limits, if it has some.
    pub fn in_time(&self) -> Option<Row> {
        let (found, judged) = (&self.observed, &self.judged);
        judged.max_reaction_ns.or(judged.max_age_ns)?;
        let row =
            self.row(Rule::Chain).figure("limit", both(judged.max_reaction_ns, judged.max_age_ns));
        let late = self.late();
        let unseen = judged.max_reaction_ns.is_some() && found.reaction_max_ns.is_none()
            || judged.max_age_ns.is_some() && found.age_max_ns.is_none();
        Some(match late.is_empty() && unseen {
            true => row.open_if(["no data was seen to go through it"]),
            false => row.fails_if(late),
        })
    }

    /// Returns the verdict on its bounds.
    pub fn within_bounds(&self) -> Row {
        let judged = &self.judged;
        let row = self.row(Rule::Bound).figure("bound", both(judged.reaction_ns, judged.age_ns));
        row.fails_if(self.above_bounds())
    }

    fn row(&self, rule: Rule) -> Row {
        let found = &self.observed;
        Row::new(rule, places::chain(&self.judged.chain))
            .figure("executed", both(found.reaction_max_ns, found.age_max_ns))
    }

    /// Returns in which it exceeded its bounds, a sentence each.
    pub fn above_bounds(&self) -> Vec<String> {
        let judged = &self.judged;
        self.observed.above(judged.reaction_ns, judged.age_ns, &judged.chain)
    }
}

/// Follows the data of all chains of a description; `K` names tasks.
#[derive(Debug)]
pub struct Watch<K> {
    /// The chains through each task, with its place in each of them.
    places: HashMap<K, Vec<(usize, usize)>>,
    flows: Vec<Flow>,
}

/// The data of a chain.
#[derive(Debug)]
struct Flow {
    with_events: bool,
    steps: Vec<Step>,
    /// The time at which the first task read the data from which the last output was made.
    shown: Option<u64>,
    /// Releases of the first task that no output shows yet, if they are events.
    unanswered: VecDeque<u64>,
    observed: Observed,
}

/// A task of a chain: data is the time at which the first task read it.
#[derive(Clone, Debug, Default)]
struct Step {
    /// The data that its pending jobs have read.
    pending: VecDeque<Option<u64>>,
    /// Its output.
    output: Option<u64>,
}

impl<K: Eq + Hash> Watch<K> {
    /// Begins before the first job. `key` returns the task of this name in the VM with this index.
    pub fn new(system: &System, key: impl Fn(usize, &str) -> Option<K>) -> Self {
        let mut places: HashMap<K, Vec<(usize, usize)>> = HashMap::new();
        for (index, chain) in system.chains.iter().enumerate() {
            for (place, step) in chain.steps.iter().enumerate() {
                let task = system.vms.get(step.vm).and_then(|vm| vm.tasks.get(step.task));
                let key = task.and_then(|task| key(step.vm, &task.name.value));
                if let Some(key) = key {
                    places.entry(key).or_default().push((index, place));
                }
            }
        }
        let flows = system.chains.iter().map(|chain| Flow::new(system, chain)).collect();
        Self { places, flows }
    }

    /// A job of a task is released. Events come in the order of their times.
    pub fn release(&mut self, at_ns: u64, task: &K) {
        for &(chain, place) in self.places.get(task).into_iter().flatten() {
            self.flows[chain].release(at_ns, place);
        }
    }

    /// The first incomplete job of a task completes.
    pub fn complete(&mut self, at_ns: u64, task: &K) {
        for &(chain, place) in self.places.get(task).into_iter().flatten() {
            self.flows[chain].complete(at_ns, place);
        }
    }

    /// Returns the observations so far, in the order of the description.
    pub fn observed(&self) -> Vec<Observed> {
        self.flows.iter().map(|flow| flow.observed).collect()
    }
}

impl Flow {
    fn new(system: &System, chain: &Chain) -> Self {
        Self {
            with_events: chain.begins_with_events(&system.vms),
            steps: vec![Step::default(); chain.steps.len()],
            shown: None,
            unanswered: VecDeque::new(),
            observed: Observed::default(),
        }
    }

    fn release(&mut self, at_ns: u64, place: usize) {
        let read = match place.checked_sub(1) {
            None => Some(at_ns),
            Some(before) => self.steps[before].output,
        };
        self.steps[place].pending.push_back(read);
        // Before the first output the others may not run yet.
        if self.with_events && place == 0 && self.shown.is_some() {
            self.unanswered.push_back(at_ns);
        }
    }

    fn complete(&mut self, at_ns: u64, place: usize) {
        let Some(Some(read)) = self.steps[place].pending.pop_front() else { return };
        self.steps[place].output = Some(read);
        if place + 1 < self.steps.len() {
            return;
        }
        let before = self.shown.replace(read);
        let found = &mut self.observed;
        found.outputs += 1;
        if self.with_events {
            while self.unanswered.front().is_some_and(|event| *event <= read) {
                let event = self.unanswered.pop_front();
                found.reaction_max_ns = found.reaction_max_ns.max(event.map(|it| at_ns - it));
            }
        } else if let Some(before) = before {
            let age = Some(at_ns.saturating_sub(before));
            found.age_max_ns = found.age_max_ns.max(age);
            if read > before {
                found.reaction_max_ns = found.reaction_max_ns.max(age);
            }
        }
    }
}

/// Returns the times of the chains in a trace, as long as all of their tasks release jobs; none if
/// records are missing.
pub fn of_trace(system: &System, trace: &Trace) -> Vec<Observed> {
    if system.chains.is_empty() || trace.lost() > 0 {
        return vec![Observed::default(); system.chains.len()];
    }
    let key = |vm: usize, task: &str| key(&trace.header, vm, task);
    let jobs = timeline::jobs(trace);
    let clock = trace.clock();
    let ns = |ticks: u64| clock.length_ns(ticks.saturating_sub(trace.first()));
    let observed = |chain: &Chain| {
        let mut events = Vec::new();
        let mut end = u64::MAX;
        for (place, (vm, (_, task))) in
            chain.steps.iter().map(|it| it.vm).zip(chain.tasks(&system.vms)).enumerate()
        {
            let jobs = key(vm, &task.name.value).and_then(|key| jobs.get(&key));
            let jobs = jobs.map_or(&[][..], Vec::as_slice);
            // The data of a task that releases no more grows old, and no bound is about that.
            end = end.min(jobs.iter().filter_map(|job| job.release).max().unwrap_or(0));
            for job in jobs {
                // A job that does not complete writes nothing.
                if let (Some(release), Some(finish)) = (job.release, job.finish) {
                    // A ring comes when the step before has written.
                    let reads = if place > 0 && task.triggered_by.is_some() { 2 } else { 0 };
                    events.extend([(release, reads, place), (finish, 1, place)]);
                }
            }
        }
        // A reader at the time of a writing may get either.
        events.sort_by_key(|(at, order, _)| (*at, *order));
        let mut flow = Flow::new(system, chain);
        for (at, order, place) in events.into_iter().filter(|(at, ..)| *at <= end) {
            match order {
                1 => flow.complete(ns(at), place),
                _ => flow.release(ns(at), place),
            }
        }
        flow.observed
    };
    system.chains.iter().map(observed).collect()
}

/// Returns the task of this name in this VM.
fn key(header: &Header, vm: usize, name: &str) -> Option<responses::Key> {
    let tasks = header.vcpus().filter(|(id, _)| usize::from(id.vm) == vm).flat_map(|(id, vcpu)| {
        let tasks = vcpu.tasks.iter().zip(0u8..);
        tasks.map(move |(task, number)| ((id, number), task))
    });
    let found: Option<((VcpuId, u8), _)> = tasks.into_iter().find(|(_, task)| task.name == name);
    found.map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::load;
    use crate::simulate::simulate;

    /// Three tasks, and a chain of the first ones.
    fn system(steps: &str, sporadic: bool) -> System {
        let task = |name: &str, more: &str| {
            format!("[[vm.task]]\nname = \"{name}\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n{more}")
        };
        let text = format!(
            "platform = \"zcu102\"\n[[chain]]\nname = \"c\"\nsteps = {steps}\n[[vm]]\nname = \"v\"\n\
             boot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"k\"\n{}{}",
            task("a", if sporadic { "sporadic = true\n" } else { "" }),
            task("b", "")
        );
        System::from_toml("s.toml", &text, Path::new("")).unwrap_or_else(|it| panic!("{it}"))
    }

    /// Plays releases (`+`) and completions (`-`) of tasks at times.
    fn played(system: &System, events: &[(u64, &str)]) -> Observed {
        let mut watch = Watch::new(system, |_, task| Some(task.to_owned()));
        for (at, event) in events {
            match event.split_at(1) {
                ("+", task) => watch.release(*at, &task.to_owned()),
                (_, task) => watch.complete(*at, &task.to_owned()),
            }
        }
        watch.observed()[0]
    }

    #[test]
    fn a_reader_that_just_misses_a_value_takes_the_next_one() {
        let system = system("[\"v.a\", \"v.b\"]", false);
        let events = [
            (0, "+a"),
            (3, "-a"),
            (4, "+b"),
            (5, "-b"), // from 0
            (10, "+a"),
            (14, "+b"), // still from 0
            (15, "-a"),
            (16, "-b"), // from 0 again: replaced one from 0
            (20, "+a"),
            (23, "-a"),
            (24, "+b"),
            (27, "-b"), // from 20
        ];
        let found = played(&system, &events);
        assert_eq!(found.outputs, 3);
        assert_eq!((found.reaction_max_ns, found.age_max_ns), (Some(27), Some(27)));
        let found = played(&system, &events[..8]);
        assert_eq!((found.reaction_max_ns, found.age_max_ns), (None, Some(16)));
    }

    #[test]
    fn events_count_from_their_releases() {
        let system = system("[\"v.a\", \"v.b\"]", true);
        let events = [
            (0, "+a"),
            (1, "-a"),
            (2, "+b"),
            (3, "-b"),
            (10, "+a"), // the first event that counts
            (11, "+b"),
            (12, "-b"), // from 0
            (13, "-a"),
            (20, "+a"),
            (21, "-a"),
            (22, "+b"),
            (26, "-b"), // answers both
        ];
        let found = played(&system, &events);
        assert_eq!((found.reaction_max_ns, found.age_max_ns), (Some(16), None));
    }

    /// From the marks in a trace comes what happened: `b` reads at 0 what `a` writes at 1 ms, and gets
    /// it 10 ms later.
    #[test]
    fn traces_tell_the_same() {
        let described = system("[\"v.a\", \"v.b\"]", false);
        let plan = system::plan::make(&described).unwrap_or_else(|it| panic!("{it}"));
        let platform = Some(described.platform.value.clone());
        let description = Some(Box::new(described.clone()));
        let (file, folder) = ("s.toml".into(), "".into());
        let system = load::System { file, folder, plan, platform, description, open: None };
        let simulated = |change: fn(&mut sim::System)| {
            let until = Some(units::Duration(1_000_000_000));
            let trace = simulate(&system, None, until, change).expect("a trace");
            of_trace(&described, &trace)[0]
        };
        // `a` runs first, until 1 ms, and `b` until 2 ms.
        let found = simulated(|_| ());
        // From 12 ms on, up to the last release at 990 ms.
        assert_eq!(found.outputs, 98);
        assert_eq!(found.reaction_max_ns, Some(22_000_000));
        assert_eq!(found.age_max_ns, found.reaction_max_ns);
        // What is behind the end of a task does not count.
        let found = simulated(|system| {
            let task = &mut system.pcpus[0].vcpus[0].tasks[0];
            task.release = sim::Release::Trace((1..10).map(|at| at * 10_000_000).collect());
        });
        assert!(found.outputs < 12, "{found:?}");
        assert_eq!(found.age_max_ns, Some(22_000_000));
    }

    #[test]
    fn one_task_is_a_chain() {
        let system = system("\"v.b\"", false);
        let found = played(&system, &[(0, "+b"), (4, "-b"), (10, "+b"), (13, "-b")]);
        assert_eq!((found.outputs, found.reaction_max_ns), (2, Some(13)));
    }
}
