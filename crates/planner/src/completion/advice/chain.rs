//! Changes that help a chain whose tasks are all in time.

use analysis::Duration;
use system::description::System;
use verdict::Verdict;

use super::super::change::{self, Change};
use super::super::verdict;
use super::trials::{Help, Trials};
use super::{Advice, PARTS, STEP, Tests, budget, is_small, named};

/// Returns advice for a chain of a description in which nothing is open, if it is late and all tasks are in time. A
/// change helps if this chain is in time then, and no task and no other chain becomes late.
pub fn of_chain(system: &System, judged: &Verdict, chain: usize) -> Option<Advice> {
    let found = judged.chains.get(chain)?;
    if !is_small(system) || found.ok || late_tasks(judged) > 0 {
        return None;
    }
    let far = |changed: &System| {
        verdict(changed).is_some_and(|after| {
            let mut both = judged.chains.iter().zip(&after.chains);
            let holds = after.chains.get(chain).is_some_and(|it| it.ok);
            holds && late_tasks(&after) == 0 && both.all(|(before, after)| after.ok || !before.ok)
        })
    };
    // One judgement takes much less than a trial.
    let trials = Trials::new(Help::new(&|| false));
    let tests = Tests::slow(&far, &trials);
    let steps = &system.chains.get(chain)?.steps;
    let mut changes: Vec<_> =
        steps.iter().filter_map(|step| period(system, (step.vm, step.task), tests)).collect();
    let mut vcpus: Vec<_> =
        steps.iter().map(|step| (step.vm, system.vms[step.vm].tasks[step.task].vcpu)).collect();
    vcpus.sort_unstable();
    vcpus.dedup();
    changes.extend(vcpus.into_iter().filter_map(|(vm, vcpu)| {
        let (_, budget) = budget(system, vm, &[vcpu], tests)?;
        Some(Change::Budget { of: Some(named(system, vm, vcpu)), budget })
    }));
    Some(Advice::Changes(changes))
}

fn late_tasks(verdict: &Verdict) -> usize {
    let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
    vcpus.flat_map(|vcpu| &vcpu.tasks).filter(|task| !task.ok).count()
}

/// A shorter period for a task, and a deadline that is not later.
fn period(system: &System, (vm, task): (usize, usize), tests: Tests<'_>) -> Option<Change> {
    let given = &system.vms[vm].tasks[task];
    let shorter = PARTS.map(|part| Duration(given.period.0 / part / STEP * STEP));
    let least = given.wcet.longest().max(Duration(STEP));
    let shorter = shorter.filter(|period| *period >= least);
    let period = tests
        .first(shorter.map(|period| (change::task_period(system, vm, task, period), period)))?;
    let task = format!("task `{}` of `{}`", given.name.value, system.vms[vm].name.value);
    Some(Change::PeriodOf { task, period })
}
