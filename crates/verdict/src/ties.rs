//! Tasks of one VCPU with the same priority: guests may run them in any order, or in turns.
//!
//! Each counts as below all others with its priority: until its job is done only these and the
//! tasks above execute. A task among them that suspends itself counts as if it executed meanwhile,
//! because its jitter would follow from the bound of its response time, which depends on that of
//! the others. What holds off one of them from below has their priority meanwhile, and so holds off
//! all: the longest `blocking` among them counts for each.

use std::ops::Range;

use analysis::{Duration, Task};

use crate::member::Member;
use crate::verdict::TaskVerdict;

/// Returns the tasks that have the same priority as others.
pub fn of(member: &Member<'_>) -> Vec<Range<usize>> {
    let mut ties = Vec::new();
    let mut start = 0;
    for equals in member.priorities.chunk_by(|one, next| one.is_some() && one == next) {
        let tie = start..start + equals.len();
        start = tie.end;
        if tie.len() > 1 {
            ties.push(tie);
        }
    }
    ties
}

/// Returns the verdicts on the tasks. `judged` takes the tasks in their order, and whether their
/// VCPU can wait while jobs are pending that count as if they executed.
pub fn judge(
    member: &Member<'_>,
    judged: impl Fn(&Member<'_>, bool) -> Vec<TaskVerdict>,
) -> Vec<TaskVerdict> {
    let ties = of(member);
    if ties.is_empty() {
        return judged(member, false);
    }
    let sleeps =
        ties.iter().cloned().flatten().any(|task| member.tasks[task].suspension() > Duration(0));
    let mut all = member.clone();
    for task in ties.iter().cloned().flatten() {
        all.tasks[task] = all.tasks[task].without_suspension();
    }
    // Tasks in no tie: all tasks of a tie are above them, or all below.
    let mut tasks = judged(&all, sleeps);
    for tie in ties {
        let blocking = member.tasks[tie.clone()].iter().map(Task::blocking).max();
        for task in tie.clone() {
            let mut last = all.clone();
            let own = member.tasks[task];
            // A task has been checked with each of these.
            last.tasks[task] = own.with_blocking(blocking.unwrap_or_default()).unwrap_or(own);
            to_the_end(&mut last, task..tie.end);
            tasks[task] = judged(&last, sleeps).swap_remove(tie.end - 1);
        }
    }
    tasks
}

/// Moves the first of these tasks behind the others.
fn to_the_end(member: &mut Member<'_>, tasks: Range<usize>) {
    fn rotate<T>(all: &mut [T], tasks: &Range<usize>) {
        if let Some(part) = all.get_mut(tasks.clone()) {
            part.rotate_left(1);
        }
    }
    let Member { names, tasks: own, known, priorities, sections, delays, colors, memory, .. } =
        member;
    rotate(names, &tasks);
    rotate(own, &tasks);
    rotate(known, &tasks);
    rotate(priorities, &tasks);
    rotate(sections, &tasks);
    rotate(delays, &tasks);
    rotate(colors, &tasks);
    rotate(&mut memory.accesses, &tasks);
}
