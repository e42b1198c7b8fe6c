//! Sensitivity: how far execution times can grow until some task is late.

use analysis::{Duration, LONGEST};
use serde::Serialize;
use system::description::{System, Wcet};
use system::plan::{self, Plan};

use crate::verdict::Verdict;

/// The whole, in millionths.
const WHOLE: u128 = 1_000_000;
/// The search ends at a factor of 1,000.
const MOST_PPM: u64 = 999_000_000;

/// The result. Field names contain their units; fields are `None` if some task or chain is
/// late already.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The fraction by which all execution times together can grow, in millionths, rounded down.
    pub all_ppm: Option<u64>,
    /// The tasks, in the order of the description.
    pub tasks: Vec<TaskSensitivity>,
}

/// A task.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct TaskSensitivity {
    /// Name of its VM.
    pub vm: String,
    /// Its VCPU.
    pub vcpu: usize,
    /// Its name.
    pub task: String,
    /// Its execution time in the analysis.
    pub wcet_ns: u64,
    /// The time by which it can grow if all others stay as they are.
    pub growth_ns: Option<u64>,
    /// The same as a fraction, in millionths, rounded down.
    pub growth_ppm: Option<u64>,
}

impl Sensitivity {
    /// Computes the sensitivity of a completed description; `plan`: `None` for machines that have
    /// none.
    pub fn new(system: &System, plan: Option<&Plan>) -> Self {
        let assigned = match plan {
            Some(_) => Vec::new(),
            None => plan::assign(system).unwrap_or_default(),
        };
        let verdict = |system: &System| match plan {
            Some(plan) => Verdict::of_plan(plan, Some(system)),
            None => Verdict::of_description(system, &assigned),
        };
        let now = verdict(system);
        let holds = |system: &System| verdict(system).schedulable;
        let all = |ppm: u64| {
            let mut changed = system.clone();
            let tasks = changed.vms.iter_mut().flat_map(|vm| &mut vm.tasks);
            tasks.for_each(|task| scale(&mut task.wcet, ppm));
            holds(&changed)
        };
        let mut tasks = Vec::new();
        for (vm, described) in system.vms.iter().enumerate() {
            for (index, task) in described.tasks.iter().enumerate() {
                let counted = now.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
                let counted = counted.filter(|it| it.vm == described.name.value);
                let mut counted = counted.flat_map(|vcpu| &vcpu.tasks);
                let counted = counted.find(|it| it.task == task.name.value);
                let wcet_ns = counted.map_or(task.wcet.longest().0, |it| it.wcet_ns);
                let grown = |more: u64| {
                    let mut changed = system.clone();
                    add(&mut changed.vms[vm].tasks[index].wcet, more);
                    holds(&changed)
                };
                let most = task.deadline.0.max(task.period.0).min(LONGEST.0);
                let growth_ns = now.schedulable.then(|| largest(most, grown));
                let part = |growth: u64| {
                    let part = u128::from(growth) * WHOLE / u128::from(wcet_ns.max(1));
                    u64::try_from(part).unwrap_or(u64::MAX)
                };
                tasks.push(TaskSensitivity {
                    vm: described.name.value.clone(),
                    vcpu: task.vcpu,
                    task: task.name.value.clone(),
                    wcet_ns,
                    growth_ns,
                    growth_ppm: growth_ns.map(part),
                });
            }
        }
        let has_tasks = !tasks.is_empty();
        let all_ppm = (now.schedulable && has_tasks).then(|| largest(MOST_PPM, all));
        Self { all_ppm, tasks }
    }
}

/// Returns the largest number up to `most` that fits. 0 must fit, and no number above one that does
/// not fit may fit.
fn largest(most: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut yes, mut no) = (0, most + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if fits(middle) { yes = middle } else { no = middle }
    }
    yes
}

/// Increases an execution time by a fraction in millionths, rounded up.
pub fn scale(wcet: &mut Wcet, ppm: u64) {
    let longer = |time: Duration| {
        let scaled = (u128::from(time.0) * (WHOLE + u128::from(ppm))).div_ceil(WHOLE);
        Duration(u64::try_from(scaled).unwrap_or(u64::MAX))
    };
    change(wcet, longer);
}

fn add(wcet: &mut Wcet, more: u64) {
    change(wcet, |time| Duration(time.0.saturating_add(more)));
}

fn change(wcet: &mut Wcet, longer: impl Fn(Duration) -> Duration) {
    match wcet {
        Wcet::Fixed(time) => *time = longer(*time),
        Wcet::ByColors(times) => times.values_mut().for_each(|time| *time = longer(*time)),
    }
}
