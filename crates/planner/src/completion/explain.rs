//! Explanations why there is no plan, and help.

use std::cmp::Reverse;

use analysis::response::{Workload, response_times};
use analysis::supply::{ServerSupply, Supply};
use analysis::utilization::Share;
use analysis::{Caches, Duration, Failure, Server};
use policy::color::{COLORS_MAX, ColorSet};
use system::description::System;
use system::diagnostic::{Diagnostic, Errors, Place};
use system::plan::Budget;
use verdict::{TaskVerdict, VcpuVerdict};

use super::advice::trials::Help;
use super::advice::{self, Advice};
use super::part::{Part, alone, is_late, misfits, slots};
use super::pcpus::Crowd;
use super::problem::{Problem, Subject};
use super::whole::Missed;
use super::whole::certificate::{Certificate, certificate};
use super::{Obstacle, cannot_plan, periods, section, setting, verdict};
use crate::least_utilization::allocate;
use crate::{Coloring, Slot, Task, Vm, indices};

/// VCPUs that are named where there are too many of them.
const NEEDS_SHOWN: usize = 8;

/// There are no budgets, VCPUs of tasks and colours with which all tasks are in time: all that
/// does not even fit by itself, or that it does not fit together.
pub(super) fn tasks(system: &System, help: &Help<'_>) -> Errors {
    let chosen = match periods::choose(system) {
        Ok(chosen) => chosen,
        Err(errors) => return errors,
    };
    let problem = match Problem::new(&chosen) {
        Ok(problem) => problem,
        Err(errors) => return errors,
    };
    let memory =
        problem.subjects.iter().filter_map(|subject| memory(system, &problem, subject, help));
    let memory: Vec<Diagnostic> = memory.collect();
    if let Err(errors) = Errors::unless_none(memory, ()) {
        return errors;
    }
    let parts: Vec<(&Subject, Part)> = problem
        .subjects
        .iter()
        .flat_map(|subject| misfits(&problem, subject).into_iter().map(move |part| (subject, part)))
        .filter(|(subject, part)| is_late(system, subject.index, *part))
        .collect();
    let only = parts.len() == 1;
    let mistakes = parts.iter().map(|(subject, part)| {
        let (task, mistake) = of_part(system, &problem, subject, *part);
        let advice = advice::of_part(system, subject.index, *part, (task, only), help);
        mistake.help(advice.to_string())
    });
    match Errors::unless_none(mistakes.collect(), ()) {
        Err(errors) => errors,
        Ok(()) => together(system, &problem, help).into(),
    }
}

/// Returns the message if not even the memory of a VM has room in the colours that are free.
fn memory(
    system: &System,
    problem: &Problem,
    subject: &Subject,
    help: &Help<'_>,
) -> Option<Diagnostic> {
    let free = problem.free.len() as usize;
    let needed = (1..=2 * COLORS_MAX).find(|&colors| subject.vm.allows(colors));
    let needed = needed.unwrap_or(subject.vm.least_colors);
    if !subject.vm.needs_colors() || needed <= free {
        return None;
    }
    let described = &system.vms[subject.index];
    let message = format!(
        "the memory of VM `{}` needs {needed} {}, but {free} are free",
        described.name.value,
        if needed == 1 { "colour" } else { "colours" }
    );
    let advice = advice::of_memory(system, subject.index, help);
    Some(cannot_plan(message).at(&described.memory.place, "this memory").help(advice.to_string()))
}

/// Returns the task that is late even if the system has only this part, with the message.
fn of_part(
    system: &System,
    problem: &Problem,
    subject: &Subject,
    part: Part,
) -> (usize, Diagnostic) {
    let described = &system.vms[subject.index];
    let free = problem.free.len() as usize;
    // Where it is closest to being in time.
    let share =
        |slot: &Slot| slot.budget.map_or(u64::MAX, |it| it.0 * 1_000 / slot.period.0.max(1));
    let slots = slots(subject, part);
    let slot = slots.iter().copied().max_by_key(share).unwrap_or(subject.vm.vcpus()[0]);
    let own = indices(slot.pinned);
    let late = alone(&subject.vm, slot).and_then(|vm| late(&vm, slot, problem, free));
    let (first, late) = late.unwrap_or((0, None));
    let first = own.get(first).map_or(0, |task| subject.tasks[*task][0]);
    let budget = match slot.budget {
        Some(budget) if budget < slot.period => format!("a budget of {budget}"),
        _ => "a whole PCPU".into(),
    };
    let colors = match subject.vm.coloring() {
        Coloring::Fixed(_) => String::new(),
        _ => format!(" and {}", all_free(free)),
    };
    let late =
        late.map_or("needs more time than there is".into(), |late| format!("is late by {late}"));
    let place = match part {
        Part::Vcpu(vcpu) => format!("on VCPU {vcpu}"),
        Part::Task(task) if task == first => "on any VCPU".into(),
        Part::Task(task) => format!("if `{}` is on its VCPU", described.tasks[task].name.value),
    };
    let message = format!(
        "task `{}` of VM `{}` {late} {place}, with {budget}{colors}",
        described.tasks[first].name.value, described.name.value
    );
    (first, cannot_plan(message).at(&described.tasks[first].name.place, "this task"))
}

/// Describes this number of free colours.
fn all_free(colors: usize) -> String {
    match colors {
        0 => "no colour, because none is free".into(),
        1 => "the only colour that is free".into(),
        _ => format!("all {colors} colours that are free"),
    }
}

/// Returns the first task of the only VCPU that misses its deadline, and the least time by which it does.
fn late(vm: &Vm, slot: Slot, problem: &Problem, free: usize) -> Option<(usize, Option<Duration>)> {
    let members: Vec<&Task> = vm.tasks().iter().collect();
    let sets = match vm.coloring() {
        Coloring::Fixed(sets) => sets.clone(),
        Coloring::Shared => vec![ColorSet::first(free.max(1) as u32); members.len()],
        Coloring::Own => allocate(&members, &setting(&problem.setting, free)),
    };
    let tasks = members.iter().zip(&sets);
    let tasks: Vec<analysis::Task> =
        tasks.map(|(task, set)| *task.with_colors(set.len() as usize)).collect();
    let budget = slot.budget.unwrap_or(slot.period);
    let server = Server::new(problem.setting.kind, budget, slot.period).ok()?;
    // Nobody is above it on its PCPU.
    let supply = Supply::Server(ServerSupply::with_response(server, server.budget())?);
    let workload = Workload::new(&tasks)
        .with_supply(supply)
        .with_caches(Caches::new(&sets, problem.setting.reload));
    let over = |time: Duration, task: usize| {
        let deadline = tasks[task].deadline();
        (time > deadline).then(|| Duration(time.0 - deadline.0))
    };
    response_times(&workload).into_iter().enumerate().find_map(|(task, response)| match response {
        Ok(response) => over(response.time, task).map(|late| (task, Some(late))),
        Err(Failure::Unschedulable { at_least, .. }) => Some((task, over(at_least, task))),
        Err(_) => Some((task, None)),
    })
}

/// All fit by themselves, but not all together.
fn together(system: &System, problem: &Problem, help: &Help<'_>) -> Diagnostic {
    let free = problem.free.len() as usize;
    let vms: Vec<usize> = problem.subjects.iter().map(|subject| subject.index).collect();
    let names: Vec<String> =
        vms.iter().map(|&vm| format!("`{}`", system.vms[vm].name.value)).collect();
    let names = names.join(", ");
    let colors = match problem.subjects.iter().any(|it| it.vm.needs_colors()) {
        true => format!(", with {}", all_free(free)),
        false => String::new(),
    };
    let message = format!("no plan was found for the tasks of {names}{colors}");
    let mistake = cannot_plan(and_is_certain(system, message));
    let mistake = match vms.first() {
        Some(&vm) => mistake.at(&system.vms[vm].name.place, "this VM among them"),
        None => mistake,
    };
    mistake.help(advice::of_all(system, &vms, help).to_string())
}

/// Returns a number of PCPUs with two decimals, rounded up.
fn in_hundredths(share: Share) -> String {
    hundredths(share.ppm().div_ceil(10_000))
}

/// VCPUs need more PCPUs than there are.
pub(super) fn pcpus(system: &System, crowd: &Crowd, help: &Help<'_>) -> Diagnostic {
    let share = |(_, _, budget): &&(usize, usize, Budget)| Share::up(budget.budget, budget.period);
    let mut largest: Vec<_> = crowd.needs.iter().collect();
    largest.sort_by_key(|need| Reverse(share(need)));
    let sum: Share = crowd.needs.iter().map(|need| share(&need)).sum();
    let shown = largest.iter().take(NEEDS_SHOWN);
    let mut needs: Vec<String> = shown
        .map(|(vm, vcpu, budget)| {
            let name = &system.vms[*vm].name.value;
            format!("VCPU {vcpu} of `{name}` {} of {}", budget.budget, budget.period)
        })
        .collect();
    if largest.len() > NEEDS_SHOWN {
        needs.push(format!("and {} more", largest.len() - NEEDS_SHOWN));
    }
    let message = format!(
        "no way was found to share {} PCPUs such that all VCPUs get their budgets, which are {} \
         PCPUs in all: {}",
        crowd.pcpus,
        in_hundredths(sum),
        needs.join(", ")
    );
    let mistake = cannot_plan(and_is_certain(system, message));
    let mistake = match largest.first() {
        Some((vm, ..)) => mistake.at(&system.vms[*vm].name.place, "needs most"),
        None => mistake,
    };
    let advice: Advice = advice::of_crowd(system, crowd, help);
    mistake.help(advice.to_string())
}

/// The search was ended before it found a plan.
pub(super) fn ended(system: &System, obstacle: Obstacle, candidates: u64) -> Errors {
    match obstacle {
        Obstacle::Input(errors) => errors,
        Obstacle::Missed(missed) => miss(system, &missed).into(),
        _ => miss(system, &Missed { candidates, best: None }).into(),
    }
}

/// Returns the message where the search found no candidate that holds: it says what the best one misses.
pub(super) fn missed(system: &System, missed: &Missed, help: &Help<'_>) -> Errors {
    let vms: Vec<usize> =
        (0..system.vms.len()).filter(|&vm| system.vms[vm].processor_open()).collect();
    let mistake = miss(system, missed);
    match mistake.help {
        Some(_) => mistake.into(),
        None => mistake.help(advice::of_all(system, &vms, help).to_string()).into(),
    }
}

/// Returns the message about the deadline that the best candidate misses.
pub(super) fn miss(system: &System, missed: &Missed) -> Diagnostic {
    let searched = format!("no plan was found among {} candidates", missed.candidates);
    let Some(late) = missed.best.as_deref().and_then(|best| Latest::of(system, best)) else {
        return cannot_plan(searched);
    };
    let mut mistake = cannot_plan(format!("{searched}: in the best one {}", late.sentence));
    mistake.help = late.help;
    match late.place {
        Some(place) => mistake.at(&place, late.label),
        None => mistake,
    }
}

/// Returns the same where the search began with an old plan: the deadline that this misses comes first, because
/// changes of it can make others late.
pub(super) fn miss_from(system: &System, old: &System, missed: &Missed) -> Diagnostic {
    let best = missed.best.as_deref().and_then(|best| Latest::of(system, best));
    let (Some(first), Some(best)) = (Latest::of(system, old), best) else {
        return miss(system, missed);
    };
    if first.place == best.place {
        return miss(system, missed);
    }
    let message = format!(
        "no plan was found among {} candidates: with the old decisions {}, and in the best one {}",
        missed.candidates, first.sentence, best.sentence
    );
    let mistake = cannot_plan(message);
    let mistake = match first.place {
        Some(place) => mistake.at(&place, "late with the old decisions"),
        None => mistake,
    };
    match best.place {
        Some(place) => mistake.also(&place, "late in the best candidate"),
        None => mistake,
    }
}

/// The task of a complete description that is latest for its deadline, or the chain that is where
/// no task is late.
struct Latest {
    sentence: String,
    place: Option<Place>,
    label: &'static str,
    help: Option<String>,
}

impl Latest {
    /// Finds it in the completed description; `None` if none is late.
    fn of(system: &System, complete: &System) -> Option<Self> {
        let Some((vcpu, task)) = latest(complete) else { return Self::chain(system, complete) };
        let by = match task.wcrt_ns {
            Some(wcrt) => {
                let over = u128::from(wcrt.saturating_sub(task.deadline_ns));
                let tenths = (over * 1_000).div_ceil(u128::from(task.deadline_ns.max(1)));
                format!("misses its deadline by {}.{} %", tenths / 10, tenths % 10)
            }
            None => format!("has no bound: {}", vcpu.why_no_bound(&task)),
        };
        let vms = system.vms.iter().filter(|it| it.name.value == vcpu.vm);
        let mut tasks = vms.flat_map(|vm| &vm.tasks).filter(|it| it.name.value == task.task);
        Some(Self {
            sentence: format!("task `{}` of VM `{}` {by}", task.task, vcpu.vm),
            place: tasks.next().map(|task| task.name.place.clone()),
            label: "this task",
            help: section::advice(complete, &task),
        })
    }

    /// Finds the chain that is latest for its limits.
    fn chain(system: &System, complete: &System) -> Option<Self> {
        let verdict = verdict(complete)?;
        let late = verdict.latest_chain()?;
        let named = system.chains.iter().find(|it| it.name.value == late.chain);
        let place = named.map(|chain| chain.name.place.clone());
        Some(Self { sentence: late.why()?, place, label: "this chain", help: None })
    }
}

/// Returns the task of a complete description that is latest for its deadline, with its VCPU. One
/// without bound is later than any other.
fn latest(system: &System) -> Option<(VcpuVerdict, TaskVerdict)> {
    let vcpus = verdict(system)?.pcpus.into_iter().flat_map(|pcpu| pcpu.vcpus);
    let tasks = vcpus.flat_map(|vcpu| {
        let tasks = vcpu.tasks.clone();
        tasks.into_iter().map(move |task| (vcpu.clone(), task))
    });
    let over = |task: &TaskVerdict| match task.wcrt_ns {
        Some(wcrt) => u128::from(wcrt) * 100_000 / u128::from(task.deadline_ns.max(1)),
        None => u128::MAX,
    };
    tasks.filter(|(_, task)| !task.ok).max_by_key(|(_, task)| over(task))
}

/// Returns the message for a system for which no plan can hold.
pub(super) fn certain(system: &System, certificate: &Certificate, help: &Help<'_>) -> Diagnostic {
    let mistake = cannot_plan(format!("no plan can hold: {}", sentence(system, certificate)));
    let mistake = match *certificate {
        Certificate::Vcpus { vm, .. } | Certificate::Tasks { vm, .. } => {
            mistake.at(&system.vms[vm].name.place, "this VM")
        }
        Certificate::Pcpus { .. } | Certificate::Packing { .. } => mistake,
    };
    let vms: Vec<usize> = (0..system.vms.len()).collect();
    mistake.help(advice::of_all(system, &vms, help).to_string())
}

/// Adds that no plan can hold, if that is certain.
fn and_is_certain(system: &System, message: String) -> String {
    match certificate(system) {
        Some(certificate) => {
            format!("{message}; no plan can hold: {}", sentence(system, &certificate))
        }
        None => message,
    }
}

fn sentence(system: &System, certificate: &Certificate) -> String {
    let name = |vm: usize| &system.vms[vm].name.value;
    match *certificate {
        Certificate::Pcpus { needed, pcpus } => {
            format!("tasks and given budgets need {} of {pcpus} PCPUs", hundredths(needed))
        }
        Certificate::Vcpus { vm, needed, vcpus } => {
            let (name, needed) = (name(vm), hundredths(needed));
            format!("the tasks of VM `{name}` need {needed} of {vcpus} VCPUs")
        }
        Certificate::Packing { vcpus, pcpus } => format!(
            "no assignment of {vcpus} VCPUs to {pcpus} PCPUs gives each the time that its tasks \
             execute, or its given budget"
        ),
        Certificate::Tasks { vm, tasks, vcpus } => format!(
            "no assignment of the {tasks} tasks of VM `{}` to {vcpus} VCPUs gives each the time \
             that it executes",
            name(vm)
        ),
    }
}

fn hundredths(number: u64) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}
