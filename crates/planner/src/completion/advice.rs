//! The smallest changes that help.
//!
//! Each is enough by itself, and was tried: with it there is a plan in which all deadlines are
//! met, with one step less there is none. Where several things are in the way, each change is
//! for one of them. Where only shorter execution times of all tasks help, sets of two or three
//! changes are tried, too. Large systems get only advice that takes few trials.

mod chain;
pub(super) mod trials;

use std::fmt;

use analysis::Duration;
use analysis::utilization::Share;
use system::description::System;
use verdict::{VcpuVerdict, Verdict};

pub use super::change::Change;
use super::change::{self, more_colors};
use super::least::least;
use super::part::{self, Part};
use super::pcpus::Crowd;
use super::section;
use super::together::{self, Found};
use super::verdict;
use super::whole::certificate::certificate;
pub use chain::of_chain;
pub use trials::End;
use trials::{Help, Trials};

/// Most tasks of a system for which changes are tried.
const TASKS_MAX: usize = 100;
/// Budgets and execution times change in steps of this.
const STEP: u64 = 1_000;
/// Percentages by which execution times of large systems are shorter.
const PERCENT: [u64; 7] = [5, 10, 15, 20, 30, 50, 75];
/// Shorter periods that are tried are halves, thirds, ... of the given one.
const PARTS: std::ops::RangeInclusive<u64> = 2..=10;

/// The end of advice if somebody ended the search for it.
pub const INTERRUPTED: &str = "the search for help was ended before all changes were tried";

/// Changes that would help.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Advice {
    /// Each of these changes by itself; nothing that was tried helps if there is none.
    Changes(Vec<Change>),
    /// The same, and changes that are enough together, if some were found before the work was
    /// spent.
    Sets {
        /// Each of these is enough by itself.
        alone: Vec<Change>,
        /// These are enough together.
        together: Option<Vec<Change>>,
    },
    /// These changes; the search for help ended before everything was tried.
    Ended {
        /// Each of these is enough by itself.
        alone: Vec<Change>,
        /// The end of the search.
        end: End,
    },
    /// The system has too many tasks to try changes.
    TooLarge,
}

/// `it fits with 6 colours, or with a budget of 3.4 ms`.
impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changes(changes) if changes.is_empty() => {
                write!(f, "no single change was found that helps")
            }
            Self::Changes(changes) => {
                let all: Vec<String> = changes.iter().map(Change::to_string).collect();
                write!(f, "it fits {}", all.join(", or "))
            }
            Self::Sets { alone, together } => {
                let mut all: Vec<String> = alone.iter().map(Change::to_string).collect();
                all.extend(together.iter().map(|set| {
                    let set: Vec<String> = set.iter().map(Change::to_string).collect();
                    set.join(" and ")
                }));
                let is_known = together.is_some();
                match (all.is_empty(), is_known) {
                    (true, _) => {
                        write!(
                            f,
                            "no change was found that helps; not all sets of changes were tried"
                        )
                    }
                    (false, true) => write!(f, "it fits {}", all.join(", or ")),
                    (false, false) => write!(
                        f,
                        "it fits {}; not all sets of other changes were tried",
                        all.join(", or ")
                    ),
                }
            }
            Self::Ended { alone, end } => {
                let all: Vec<String> = alone.iter().map(Change::to_string).collect();
                let end = match end {
                    End::Work => "not all changes were tried".into(),
                    End::Time => format!(
                        "the search for help ended after {} s, before all changes were tried",
                        trials::TIME.as_secs()
                    ),
                    End::Interrupted => INTERRUPTED.into(),
                };
                match all.is_empty() {
                    true => write!(f, "no change was found that helps; {end}"),
                    false => write!(f, "it fits {}; {end}", all.join(", or ")),
                }
            }
            Self::TooLarge => {
                write!(f, "single changes are only tried for systems of at most {TASKS_MAX} tasks")
            }
        }
    }
}

/// The test of a changed system.
type Test<'a> = &'a dyn Fn(&System) -> bool;

/// Tests of a change: a quick one that can show that it does not help, and one that shows that it
/// helps.
#[derive(Clone, Copy)]
struct Tests<'a> {
    near: Test<'a>,
    far: Test<'a>,
    trials: &'a Trials<'a>,
}

impl<'a> Tests<'a> {
    /// Returns tests without a quick one.
    fn slow(far: Test<'a>, trials: &'a Trials<'a>) -> Self {
        Self { near: &|_| true, far, trials }
    }

    /// Returns the least number of steps that helps; `None` if the work was spent before.
    fn least(&self, most: u64, change: impl Fn(u64) -> Option<System>) -> Option<u64> {
        let ok = |test: Test<'_>, steps: u64| change(steps).is_some_and(|changed| test(&changed));
        least(most, |steps| ok(self.near, steps), |steps| ok(self.far, steps))
            .filter(|_| !self.trials.is_over())
    }

    /// Returns the first of some changed systems that helps.
    fn first<T>(&self, mut all: impl Iterator<Item = (System, T)>) -> Option<T> {
        all.find(|(changed, _)| (self.near)(changed) && (self.far)(changed)).map(|(_, it)| it)
    }
}

/// Returns advice for a part of a VM that does not fit by itself; `task` is late then. If it is not
/// the `only` such part, the advice ignores the others.
pub(super) fn of_part(
    system: &System,
    vm: usize,
    part: Part,
    (task, only): (usize, bool),
    help: &Help<'_>,
) -> Advice {
    if !is_small(system) {
        return Advice::TooLarge;
    }
    let trials = Trials::new(*help);
    let near = |changed: &System| part::fits(changed, vm, part);
    let far = |changed: &System| !only || trials.holds(changed);
    let tests = Tests { near: &near, far: &far, trials: &trials };
    let vcpus: Vec<usize> = match part {
        Part::Vcpu(vcpu) => vec![vcpu],
        Part::Task(_) => (0..system.vms[vm].vcpus.len()).collect(),
    };
    let mut changes = vec![colors(system, vm, tests)];
    let of = |vcpu: usize| (system.vms[vm].vcpus.len() > 1).then(|| format!("VCPU {vcpu}"));
    changes.extend(
        budget(system, vm, &vcpus, tests)
            .map(|(vcpu, budget)| Some(Change::Budget { of: of(vcpu), budget })),
    );
    changes.push(vcpus.iter().find_map(|&vcpu| {
        Some(Change::Period { of: of(vcpu), period: period(system, vm, vcpu, tests)? })
    }));
    changes.extend([deadline(system, vm, task, tests), less(system, vm, task, tests)]);
    alone(changes.into_iter().flatten().collect(), &trials)
}

/// Returns these changes as advice, and says if not all were tried.
fn alone(alone: Vec<Change>, trials: &Trials<'_>) -> Advice {
    match trials.end() {
        Some(end) => Advice::Ended { alone, end },
        None => Advice::Changes(alone),
    }
}

/// Returns advice for a VM whose memory needs more colours than are free.
pub(super) fn of_memory(system: &System, vm: usize, help: &Help<'_>) -> Advice {
    if !is_small(system) {
        return Advice::TooLarge;
    }
    let trials = Trials::new(*help);
    let holds = |changed: &System| trials.holds(changed);
    let change = colors(system, vm, Tests::slow(&holds, &trials));
    alone(change.into_iter().collect(), &trials)
}

/// Returns advice for tasks that fit one by one, but not all together.
pub(super) fn of_all(system: &System, vms: &[usize], help: &Help<'_>) -> Advice {
    if !is_small(system) {
        return of_large(system, help);
    }
    let trials = Trials::new(*help);
    let holds = |changed: &System| trials.holds(changed);
    let tests = Tests::slow(&holds, &trials);
    let mut changes = Vec::new();
    let colored = vms.iter().find(|&&vm| system.vms[vm].colors_open.is_some());
    changes.extend(colored.and_then(|&vm| colors(system, vm, tests)));
    for &vm in vms {
        let count = system.vms[vm].vcpus.len();
        let more =
            (count + 1..).map_while(|count| Some((change::vcpus(system, vm, count)?, count)));
        let name = || system.vms[vm].name.value.clone();
        changes.extend(tests.first(more).map(|count| Change::Vcpus { vm: name(), count }));
    }
    changes.extend(percent(system, vms, tests));
    with_sets(system, changes, &trials)
}

/// Adds a set of changes, where no single one helps but shorter execution times of all tasks.
fn with_sets(system: &System, alone: Vec<Change>, trials: &Trials<'_>) -> Advice {
    if alone.iter().any(|change| !matches!(change, Change::PercentLess(_))) {
        return self::alone(alone, trials);
    }
    match together::smallest(system, trials) {
        Found::Alone(more) => Advice::Changes(alone.into_iter().chain(more).collect()),
        Found::Set(set) => Advice::Sets { alone, together: Some(set) },
        Found::Nothing => Advice::Changes(alone),
        Found::NotAllTried if trials.end() == Some(End::Work) => {
            Advice::Sets { alone, together: None }
        }
        Found::NotAllTried => self::alone(alone, trials),
    }
}

/// Returns advice that takes few trials: execution times that are shorter by coarse steps.
fn of_large(system: &System, help: &Help<'_>) -> Advice {
    let vms: Vec<usize> = (0..system.vms.len()).collect();
    let trials = Trials::new(*help);
    let helps = |percent: &u64| {
        let changed = change::percent_less(system, &vms, *percent);
        certificate(&changed).is_none() && trials.holds(&changed)
    };
    match PERCENT.into_iter().find(helps) {
        Some(percent) => Advice::Changes(vec![Change::PercentLess(percent)]),
        None if trials.is_over() => alone(Vec::new(), &trials),
        None => Advice::TooLarge,
    }
}

/// Returns advice for VCPUs that need more PCPUs than there are.
pub(super) fn of_crowd(system: &System, crowd: &Crowd, help: &Help<'_>) -> Advice {
    if !is_small(system) {
        return of_large(system, help);
    }
    let trials = Trials::new(*help);
    let holds = |changed: &System| trials.holds(changed);
    let tests = Tests::slow(&holds, &trials);
    let given = crowd.needs.iter().filter(|(vm, vcpu, _)| {
        let server = system.vms[*vm].vcpus[*vcpu].server.as_ref();
        server.is_some_and(|server| !server.open) && system.vms[*vm].tasks.is_empty()
    });
    let smaller = given.filter_map(|&(vm, vcpu, _)| smaller_budget(system, vm, vcpu, tests));
    let mut changes: Vec<Change> = smaller.collect();
    // Of the VCPU that needs most: each trial takes time.
    let largest = crowd.needs.iter().max_by_key(|(_, _, it)| Share::up(it.budget, it.period));
    changes.extend(largest.and_then(|&(vm, vcpu, _)| {
        let period = period(system, vm, vcpu, tests)?;
        Some(Change::Period { of: Some(named(system, vm, vcpu)), period })
    }));
    let vms: Vec<usize> = (0..system.vms.len()).collect();
    changes.extend(percent(system, &vms, tests));
    with_sets(system, changes, &trials)
}

/// Returns advice for a VCPU of a description in which nothing is open, if one of its tasks is
/// late. A change helps if no task of the VCPU is late then, and no other task becomes late.
pub fn of_vcpu(system: &System, judged: &Verdict, vm: usize, vcpu: usize) -> Option<Advice> {
    let late = |verdict: &Verdict| -> Vec<(String, usize)> {
        let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
        let late = vcpus.filter(|it| it.tasks.iter().any(|task| !task.ok));
        late.map(|it| (it.vm.clone(), it.vcpu)).collect()
    };
    if !is_small(system) {
        return None;
    }
    let before = late(judged);
    let name = &system.vms[vm].name.value;
    let pcpu = judged.pcpus.iter().find(|pcpu| pcpu.vcpus.iter().any(|it| is(it, name, vcpu)))?;
    let place = pcpu.vcpus.iter().position(|it| is(it, name, vcpu))?;
    let first = pcpu.vcpus[place].tasks.iter().find(|task| !task.ok)?;
    let task = system.vms[vm].tasks.iter().position(|task| task.name.value == first.task)?;
    let far = |changed: &System| {
        verdict(changed).is_some_and(|after| {
            let after = late(&after);
            let new = |it: &(String, usize)| !before.contains(it) || it.1 == vcpu && it.0 == *name;
            !after.iter().any(new)
        })
    };
    // One judgement takes much less than a trial.
    let trials = Trials::new(Help::new(&|| false));
    let tests = Tests::slow(&far, &trials);
    let mut changes = vec![section_overhead(system, tests)];
    let more = budget(system, vm, &[vcpu], tests);
    let more = more.map(|(_, budget)| Change::Budget { of: None, budget });
    changes.extend([colors(system, vm, tests), more]);
    changes.extend([deadline(system, vm, task, tests), less(system, vm, task, tests)]);
    // Where it does not get its budget, those above it may take less.
    if !pcpu.vcpus[place].ok {
        for above in &pcpu.vcpus[..place] {
            let vm = system.vms.iter().position(|vm| vm.name.value == above.vm)?;
            changes.push(smaller_budget(system, vm, above.vcpu, tests));
        }
    }
    Some(Advice::Changes(changes.into_iter().flatten().collect()))
}

fn is(verdict: &VcpuVerdict, vm: &str, vcpu: usize) -> bool {
    verdict.vm == vm && verdict.vcpu == vcpu
}

fn is_small(system: &System) -> bool {
    system.vms.iter().map(|vm| vm.tasks.len()).sum::<usize>() <= TASKS_MAX
}

/// More colours, where execution times depend on them.
fn colors(system: &System, vm: usize, tests: Tests<'_>) -> Option<Change> {
    let described = &system.vms[vm];
    let given = described.colors.is_some() && described.tasks.iter().all(|it| it.colors.is_none());
    if !given && described.colors_open.is_none() || described.share_colors {
        return None;
    }
    let more = (1..).map_while(|more| more_colors(system, vm, more));
    tests.first(more)
}

/// Returns a larger budget for one of these VCPUs: where it is given and need be raised least.
fn budget(
    system: &System,
    vm: usize,
    vcpus: &[usize],
    tests: Tests<'_>,
) -> Option<(usize, Duration)> {
    let raised = |&vcpu: &usize| {
        let server = system.vms[vm].vcpus[vcpu].server.as_ref().filter(|server| !server.open)?;
        let given = server.class.value.budget()?;
        let from = given.budget.0 / STEP;
        let most = (given.period.0 / STEP).saturating_sub(from);
        let at = |steps: u64| Duration((from + steps) * STEP);
        let steps = tests.least(most, |steps| change::budget(system, vm, vcpu, at(steps)))?;
        Some((steps, vcpu, at(steps)))
    };
    let (_, vcpu, budget) = vcpus.iter().filter_map(raised).min()?;
    Some((vcpu, budget))
}

/// Returns a smaller budget of a VCPU that is in the way.
fn smaller_budget(system: &System, vm: usize, vcpu: usize, tests: Tests<'_>) -> Option<Change> {
    let given = system.vms[vm].vcpus[vcpu].server.as_ref()?.class.value.budget()?;
    let from = given.budget.0.div_ceil(STEP);
    let at = |steps: u64| Duration(from.saturating_sub(steps).max(1) * STEP);
    let change = |steps: u64| change::budget(system, vm, vcpu, at(steps));
    let steps = tests.least(from.saturating_sub(1), change)?;
    Some(Change::Budget { of: Some(named(system, vm, vcpu)), budget: at(steps) })
}

/// More time for the hypervisor in global critical sections of a complete description.
fn section_overhead(system: &System, tests: Tests<'_>) -> Option<Change> {
    let needed = section::needed(system)?;
    let changed = System { section_overhead: needed, ..system.clone() };
    tests.first([(changed, Change::SectionOverhead(needed))].into_iter())
}

fn named(system: &System, vm: usize, vcpu: usize) -> String {
    format!("VCPU {vcpu} of `{}`", system.vms[vm].name.value)
}

/// Returns a shorter period, where it is given and the budget is not.
fn period(system: &System, vm: usize, vcpu: usize, tests: Tests<'_>) -> Option<Duration> {
    let server = system.vms[vm].vcpus[vcpu].server.as_ref();
    let server = server.filter(|server| server.open && !server.period_open)?;
    let given = server.class.value.budget()?.period;
    let tick = system.platform.value.counter.map_or(1, |counter| counter.common_period().0);
    let shorter = PARTS.map(|part| given.0 / part / tick * tick).filter(|period| *period >= STEP);
    let shorter = shorter.filter_map(|period| {
        let period = Duration(period);
        Some((change::period(system, vm, vcpu, period)?, period))
    });
    tests.first(shorter)
}

/// Returns a later deadline, if it is before the next release.
fn deadline(system: &System, vm: usize, task: usize, tests: Tests<'_>) -> Option<Change> {
    let task_now = &system.vms[vm].tasks[task];
    let from = task_now.deadline.0 / STEP;
    let most = (task_now.period.0 / STEP).saturating_sub(from);
    let at = |steps: u64| Duration((from + steps) * STEP);
    let steps = tests.least(most, |steps| Some(change::deadline(system, vm, task, at(steps))))?;
    Some(Change::Deadline(at(steps)))
}

/// Shorter execution times of a task.
fn less(system: &System, vm: usize, task: usize, tests: Tests<'_>) -> Option<Change> {
    let most = (system.vms[vm].tasks[task].wcet.shortest().0.saturating_sub(1)) / STEP;
    let at = |steps: u64| Duration(steps * STEP);
    let steps = tests.least(most, |steps| Some(change::less(system, vm, task, at(steps))))?;
    Some(Change::Less(at(steps)))
}

/// Shorter execution times of all tasks of some VMs.
fn percent(system: &System, vms: &[usize], tests: Tests<'_>) -> Option<Change> {
    let percent = tests.least(99, |percent| Some(change::percent_less(system, vms, percent)))?;
    Some(Change::PercentLess(percent))
}
