//! A system, planned by simple rules and by the planner.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as Time;

use planner::completion::{Objective, Options, complete_with};
use rustix::time::{ClockId, clock_gettime};
use system::description::System;

use crate::draft::{Draft, Limit};
use crate::simple::{Rule, rules};
use crate::{judge, read};

/// By this part of a PCPU, a plan is not worse because budgets are whole grains.
const GRAIN: f64 = 0.001;
/// Fewest rules that are tried on a system before its size counts.
const RULES_MIN: usize = 24;

/// A system, and what was found for it.
pub struct Outcome {
    pub number: u64,
    /// Utilisation of its tasks, as a part of all PCPUs.
    pub load: f64,
    pub draft: Draft,
    /// The first rule with a plan that the judge accepts.
    pub simple: Option<Rule>,
    /// What is wrong with that plan beside its deadlines: the tests would be wrong.
    pub simple_mistake: Option<String>,
    pub found: Found,
    /// How the simple plan is better by the objective than that of the planner, if it is.
    pub better: Option<String>,
    /// Processor time of the planner.
    pub time: Time,
    /// Processor time of the simple rules and the judge.
    pub simple_time: Time,
}

/// What is done for a system.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Simple rules, times the tasks that they are judged for.
    pub rules: usize,
    /// Of systems without a simple plan, the planner is asked for one in so many.
    pub asked: u64,
    /// Candidates after which a search ends with the best plan so far.
    pub candidates: u64,
}

/// What the planner found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Found {
    /// A plan that the judge accepts.
    Yes,
    /// None.
    No(String),
    /// A plan that is wrong.
    Wrong(String),
}

impl Outcome {
    /// Plans the system with this number, and the utilisation of its tasks.
    pub fn of(number: u64, (draft, load): (Draft, f64), effort: Effort) -> Self {
        let system = read(&draft);
        let most = (effort.rules / draft.tasks().max(1)).max(RULES_MIN);
        let start = processor_time();
        let completed = rules(&system).into_iter().take(most).find_map(|rule| {
            let completed = rule.complete(&system);
            judge::passes(&completed).then_some((rule, completed))
        });
        let (simple, completed) = completed.unzip();
        let simple_mistake =
            completed.as_ref().and_then(|completed| judge::mistake(&system, completed));
        let simple_time = processor_time().saturating_sub(start);
        let (found, time, planned) = match completed.is_some()
            || number.is_multiple_of(effort.asked)
        {
            true => complete_in_time(&system, effort.candidates),
            false => (Found::No("the planner was not asked".into()), Time::ZERO, system.clone()),
        };
        let better = completed.filter(|_| found == Found::Yes).and_then(|simple| {
            let [one, other] = [&simple, &planned].map(|it| judge::worth(&system, it));
            // Budgets are whole grains.
            let is_better =
                one.0 > other.0 || one.0 == other.0 && one.1 > 0.0 && one.1 + GRAIN < other.1;
            is_better.then(|| format!("accesses, share: {one:?}, of the planner {other:?}"))
        });
        Self { number, load, draft, simple, simple_mistake, found, better, time, simple_time }
    }

    /// Returns true if a simple rule has a plan, and the planner has none.
    pub fn is_short(&self) -> bool {
        self.simple.is_some() && self.found != Found::Yes
    }

    pub fn has_limits(&self) -> bool {
        let planned = |limit: Limit| matches!(limit, Limit::Planned(_));
        let vcpus = self.draft.vms.iter().flat_map(|vm| &vm.vcpus);
        self.draft.vms.iter().any(|vm| planned(vm.limit)) || { vcpus }.any(|it| planned(it.limit))
    }

    pub fn has_accesses(&self) -> bool {
        self.draft.vms.iter().flat_map(|vm| &vm.tasks).any(|task| task.accesses.is_some())
    }
}

/// Plans a system; and the processor time.
pub fn plan(system: &System) -> (Found, Time) {
    let (found, time, _) = complete_in_time(system, u64::MAX);
    (found, time)
}

/// Plans a system with at most so many candidates; and the processor time.
pub fn complete_in_time(system: &System, candidates: u64) -> (Found, Time, System) {
    let start = processor_time();
    let mut completed = system.clone();
    let enough = |tried| tried >= candidates;
    let options = Options { objective: Objective::LeastTime, stops: &enough, ..Options::default() };
    let result = complete_with(&mut completed, &options).map(drop);
    let time = processor_time().saturating_sub(start);
    let found = match result {
        Err(_) if completed != *system => Found::Wrong("changed, though there is no plan".into()),
        Err(refusal) => Found::No(format!("{refusal:?}")),
        Ok(()) => match (judge::mistake(system, &completed), judge::late(&completed)) {
            (Some(mistake), _) => Found::Wrong(mistake),
            // Such a plan is written, with status 1.
            (None, Some(late)) => Found::No(late),
            (None, None) => Found::Yes,
        },
    };
    (found, time, completed)
}

fn processor_time() -> Time {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Time::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Returns what `of` makes of each number, in the order of the numbers; on all CPUs.
pub fn all<T: Send>(numbers: std::ops::Range<u64>, of: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(numbers.start);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        break;
                    }
                    let result = of(number);
                    done.lock().expect("no thread panics here").push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics here");
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
