//! The verdict on chains: how long data takes through tasks, from the bounds of their response
//! times.
//!
//! Each task is a sampling step ([`analysis::chain::Sampling`]): it reads at any time from the
//! release of a job to its completion, and writes when the job completes. A sporadic first task
//! begins the chain with its releases as events. A task that the rings of the task before release
//! ([`Task::triggered_by`]) is a triggered step: its response time counts from the ring, and holds
//! however often others ring within the limit. The step before may ring at any time from its release to
//! its completion. The chain has a bound only if the limit never refuses such a ring
//! ([`ChainVerdict::refused_step`]). The hypervisor may join rings that come before the reader takes
//! the interrupt: the one job then reads what the last of them announces. No task counts as one that
//! [starts after its writer](analysis::chain::Sampling::starts_after_writer), even if both are on
//! one VCPU: a guest whose timers are served late can start the reader while the release of the
//! writer is pending, or serve simultaneous releases in any order.

use std::collections::HashMap;

use analysis::Duration;
use analysis::chain::{self as model, ChainError, Delay, EventStream, Sampling, Source};
use serde::Serialize;
use system::description::{self, System, Task};
use units::Frequency;

use crate::verdict::PcpuVerdict;

/// A chain. Field names contain their units.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ChainVerdict {
    /// Its name.
    pub chain: String,
    /// Its tasks, in the order of the data.
    pub steps: Vec<StepVerdict>,
    /// Bound for the reaction time, if there is one: from a change of what the first task reads, or
    /// from the arrival of a sporadic first task, to the first output of the last task that is made
    /// from it or from something later.
    pub reaction_ns: Option<u64>,
    /// The longest that is allowed, if that is given.
    pub max_reaction_ns: Option<u64>,
    /// Bound for the data age, if there is one: from the time at which the first task reads to the
    /// time at which the output that was made from it is replaced.
    pub age_ns: Option<u64>,
    /// The longest that is allowed, if that is given.
    pub max_age_ns: Option<u64>,
    /// True if it is guaranteed to be within all that is allowed.
    pub ok: bool,
    /// Index of the first step that has no bound for its response time, if there is one: then the
    /// chain has none.
    pub unbounded_step: Option<usize>,
    /// Index of the first step whose rings the limit of the channel may refuse, if there is one: then
    /// the chain has no bound.
    pub refused_step: Option<usize>,
}

/// A task of a chain.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct StepVerdict {
    /// Name of its VM.
    pub vm: String,
    /// Its name.
    pub task: String,
    /// The longest time for which data waits for a job that reads it; 0 if its jobs are the events
    /// that begin the chain, or rings release them.
    pub wait_ns: u64,
    /// Bound for its response time, if there is one.
    pub wcrt_ns: Option<u64>,
}

impl StepVerdict {
    /// Returns its name as in descriptions: `vm.task`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.vm, self.task)
    }
}

impl ChainVerdict {
    /// Returns the verdicts on all chains of a description, whose tasks have these bounds.
    pub fn all<'a>(system: &System, pcpus: impl Iterator<Item = &'a PcpuVerdict>) -> Vec<Self> {
        if system.chains.is_empty() {
            return Vec::new();
        }
        let mut bounds = HashMap::new();
        for vcpu in pcpus.flat_map(|pcpu| &pcpu.vcpus) {
            let bounded = vcpu.tasks.iter().filter_map(|task| {
                Some(((vcpu.vm.as_str(), task.task.as_str()), task.bound_ns()?))
            });
            bounds.extend(bounded);
        }
        let bound = |vm: &str, task: &str| bounds.get(&(vm, task)).copied();
        system.chains.iter().map(|chain| Self::new(system, chain, bound)).collect()
    }

    fn new(
        system: &System,
        chain: &description::Chain,
        bound: impl Fn(&str, &str) -> Option<u64>,
    ) -> Self {
        let step = |(vm, task): (&description::Vm, &Task)| StepVerdict {
            vm: vm.name.value.clone(),
            task: task.name.value.clone(),
            wait_ns: if task.sporadic { 0 } else { task.period.0 },
            wcrt_ns: bound(&vm.name.value, &task.name.value),
        };
        let steps: Vec<_> = chain.tasks(&system.vms).map(step).collect();
        let unbounded_step = steps.iter().position(|step| step.wcrt_ns.is_none());
        let tasks: Vec<&Task> = chain.tasks(&system.vms).map(|(_, task)| task).collect();
        let bounds = steps.iter().map(|step| step.wcrt_ns);
        let bounds: Option<Vec<u64>> = bounds.collect();
        let refused_step = bounds.as_ref().and_then(|bounds| refused(system, &tasks, bounds));
        let bounds = bounds.filter(|_| refused_step.is_none());
        let made = bounds.and_then(|bounds| made(tasks.iter().copied().zip(bounds)));
        let of = |time: fn(&model::Chain) -> Result<Duration, ChainError>| {
            made.as_ref().and_then(|chain| Some(time(chain).ok()?.0))
        };
        let limit = |limit: &Option<description::Located<Duration>>| Some(limit.as_ref()?.value.0);
        let from_ring = tasks.first().is_some_and(|task| task.triggered_by.is_some());
        let reaction_ns = match from_ring {
            true => of(model::Chain::reaction_time_from_event),
            false => of(model::Chain::reaction_time),
        };
        let age_ns = of(model::Chain::data_age);
        let (max_reaction_ns, max_age_ns) = (limit(&chain.max_reaction), limit(&chain.max_age));
        let within = |time: Option<u64>, limit: Option<u64>| {
            limit.is_none_or(|limit| time.is_some_and(|time| time <= limit))
        };
        Self {
            chain: chain.name.value.clone(),
            steps,
            reaction_ns,
            max_reaction_ns,
            age_ns,
            max_age_ns,
            ok: within(reaction_ns, max_reaction_ns) && within(age_ns, max_age_ns),
            unbounded_step,
            refused_step,
        }
    }

    /// Returns why it can exceed a limit, in a sentence; `None` if it cannot.
    pub fn why(&self) -> Option<String> {
        let name = &self.chain;
        if self.ok {
            return None;
        }
        if let Some(step) = self.unbounded_step.and_then(|step| self.steps.get(step)) {
            let step = step.name();
            return Some(format!(
                "chain `{name}` has no bound, because its step `{step}` has none"
            ));
        }
        if let Some(step) = self.refused_step.and_then(|step| self.steps.get(step)) {
            let step = step.name();
            return Some(format!(
                "chain `{name}` has no bound, because rings of its step `{step}` can be refused: let \
                 `ring_every` of the channel be no longer than its period, and `ring_burst` larger"
            ));
        }
        let over = |bound: Option<u64>, limit: Option<u64>| {
            let over = bound?.checked_sub(limit?).filter(|over| *over > 0)?;
            Some([bound?, over].map(|time| Duration(time).short()))
        };
        let reaction = over(self.reaction_ns, self.max_reaction_ns).map(|[bound, over]| {
            format!(
                "the reaction of chain `{name}` can take {bound}: {over} longer than `max_reaction`"
            )
        });
        let age = over(self.age_ns, self.max_age_ns).map(|[bound, over]| {
            format!("the data of chain `{name}` can be {bound} old: {over} older than `max_age`")
        });
        let why = reaction.into_iter().chain(age).collect::<Vec<_>>().join("; ");
        Some(match why.is_empty() {
            true => format!("chain `{name}` has no bound: it is longer than can be counted"),
            false => why,
        })
    }

    /// Returns the largest ratio of a bound to its limit, in millionths, rounded up; `None` without
    /// limits, and `u64::MAX` without bound.
    pub fn used_ppm(&self) -> Option<u64> {
        let both = [(self.reaction_ns, self.max_reaction_ns), (self.age_ns, self.max_age_ns)];
        let ratio = |bound: Option<u64>, limit: u64| {
            let Some(bound) = bound else { return u64::MAX };
            let ratio = (u128::from(bound) * 1_000_000).div_ceil(u128::from(limit.max(1)));
            u64::try_from(ratio).unwrap_or(u64::MAX)
        };
        both.into_iter().filter_map(|(bound, limit)| Some(ratio(bound, limit?))).max()
    }
}

/// Returns the chain of these tasks, each with the bound of its response time; `None` if times are
/// longer than the analysis can count.
fn made<'a>(tasks: impl Iterator<Item = (&'a Task, u64)>) -> Option<model::Chain> {
    let mut source = Source::State;
    let mut steps = Vec::new();
    for (task, bound) in tasks {
        if task.triggered_by.is_some() {
            if steps.is_empty() {
                let events = EventStream::sporadic(task.period).ok()?;
                source = Source::Events(events.with_jitter(task.jitter).ok()?);
            }
            steps.push(model::Step::Triggered(Delay::new(Duration(0), Duration(bound))?));
            continue;
        }
        // The bound counts from the arrival; delays count from the latest release.
        let worst = Duration(bound.saturating_sub(task.jitter.0));
        let delay = Delay::from_nominal(Duration(0), worst)?;
        steps.push(if task.sporadic {
            let events = EventStream::sporadic(task.period).ok()?;
            source = Source::Events(events.with_jitter(task.jitter).ok()?);
            model::Step::Triggered(delay)
        } else {
            let releases = EventStream::periodic(task.period).ok()?;
            let releases = releases.with_jitter(task.jitter).ok()?;
            model::Step::Sampling(Sampling { releases, delay, starts_after_writer: false })
        });
    }
    model::Chain::new(source, steps).ok()
}

/// Returns the first step that can ring when the limit of the channel refuses, where the next step
/// counts on its rings.
fn refused(system: &System, tasks: &[&Task], bounds: &[u64]) -> Option<usize> {
    let counter = system.platform.value.counter;
    // Times from the nominal release of the last step that no ring releases, to those of the rings.
    let mut spread = 0u64;
    let mut period = Duration(0);
    let mut before: Option<&Task> = None;
    for (index, (task, bound)) in tasks.iter().copied().zip(bounds).enumerate() {
        let limit = task.triggered_by.as_ref().and(before);
        let limit = limit.and_then(|it| system.channels.get(it.rings.as_ref()?.value)?.rings);
        if let Some(limit) = limit {
            // The hypervisor counts whole ticks.
            let tick = counter.map_or(1, |counter| 1_000_000_000u64.div_ceil(counter.0.max(1)));
            let interval = counter.map_or(limit.interval, |it| ticks_up(limit.interval, it));
            if interval > period || limit.early.0 < spread.saturating_add(2 * tick) {
                return Some(index - 1);
            }
        }
        match task.triggered_by.is_some() && index > 0 {
            true => spread = spread.saturating_add(*bound),
            false => {
                // A first task that rings release has the limit on these as its stream.
                let early = if task.triggered_by.is_some() { task.jitter.0 } else { 0 };
                (period, spread) = (task.period, early.saturating_add(*bound));
            }
        }
        before = Some(task);
    }
    None
}

/// Returns the shortest time of whole ticks that is not shorter, in nanoseconds rounded up.
fn ticks_up(time: Duration, Frequency(counter): Frequency) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    let ticks = (u128::from(time.0) * u128::from(counter)).div_ceil(SECOND);
    let whole = (ticks * SECOND).checked_div(counter.into());
    whole.map_or(time, |whole| Duration(whole.min(u64::MAX.into()) as u64))
}
