//! The VCPUs that PCPUs run over time, and the jobs of tasks: combined from single events.

mod jobs;
mod store;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Entry, Event, LockStep, Source, Step, VcpuId};

pub use jobs::{Job, Jobs, TaskJobs, jobs};

/// The state of a PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// The PCPU runs this VCPU.
    Runs(VcpuId),
    /// The PCPU runs no VCPU.
    Idle,
    /// Records were lost, and no later record shows the state.
    Unknown,
}

/// A PCPU does one thing for a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// First tick.
    pub start: u64,
    /// First tick after it; later than the first.
    pub end: u64,
    /// The state.
    pub state: State,
    /// Budget of the VCPU that was left at the start, if the PCPU runs one that has a budget.
    pub budget: Option<u64>,
}

/// Returns the states of a PCPU from the first entry of the trace to the last, without gaps. Before
/// the first decision the PCPU is idle.
pub fn spans<S: Source>(trace: &S, pcpu: usize) -> Vec<Span> {
    spans_of(trace, pcpu).collect()
}

/// Returns the same one by one.
pub fn spans_of<S: Source>(trace: &S, pcpu: usize) -> impl Iterator<Item = Span> + '_ {
    let (first, last) = (trace.first(), trace.last());
    let mut open = Span { start: first, end: first, state: State::Idle, budget: None };
    let mut before = first;
    let mut entries = trace.entries(pcpu);
    let mut ended = false;
    std::iter::from_fn(move || {
        for entry in entries.by_ref() {
            let previous = std::mem::replace(&mut before, entry.ticks);
            let (state, budget) = match entry.event {
                Event::Run { vcpu, budget } => (State::Runs(vcpu), budget),
                Event::Idle => (State::Idle, None),
                Event::Stop(vcpu) if open.state == State::Runs(vcpu) => (State::Idle, None),
                Event::Lost { .. } => (State::Unknown, None),
                _ => continue,
            };
            // The last record that is left says nothing about the time in which others were lost.
            let start = match entry.event {
                Event::Lost { .. } => previous,
                _ => entry.ticks,
            };
            let next = Span { start, end: start, state, budget };
            let span = Span { end: start, ..std::mem::replace(&mut open, next) };
            if span.end > span.start {
                return Some(span);
            }
        }
        if std::mem::replace(&mut ended, true) {
            return None;
        }
        open.end = last;
        (open.end > open.start).then_some(open)
    })
}

/// Returns the times from which records of a PCPU were lost: from the last entry before to the
/// first one behind, in ticks.
pub fn gaps<S: Source>(trace: &S, pcpu: usize) -> Vec<Range<u64>> {
    let mut before = trace.first();
    let gap = |entry: Entry| {
        let start = std::mem::replace(&mut before, entry.ticks);
        matches!(entry.event, Event::Lost { .. }).then_some(start..entry.ticks)
    };
    trace.entries(pcpu).filter_map(gap).collect()
}

/// A task executes for a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Piece {
    /// The VCPU.
    pub vcpu: VcpuId,
    /// The task.
    pub task: u8,
    /// First tick.
    pub start: u64,
    /// First tick after it; later than the first.
    pub end: u64,
}

/// Returns the times at which tasks execute on a PCPU. While a VCPU runs, it executes the job that
/// started last, is not complete and waits for no resource, as with fixed priorities. A job that is
/// granted a resource continues before all others until it releases the resource; after that, jobs
/// of lower numbers do.
pub fn pieces<S: Source>(trace: &S, pcpu: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut started: BTreeMap<VcpuId, Vec<(u8, u32)>> = BTreeMap::new();
    let mut waiting: BTreeMap<VcpuId, Vec<(u8, u32)>> = BTreeMap::new();
    let mut running: Option<VcpuId> = None;
    let mut since = trace.first();
    for entry in trace.entries(pcpu) {
        let next = match entry.event {
            Event::Run { vcpu, .. } => Some(vcpu),
            Event::Idle | Event::Lost { .. } => None,
            Event::Stop(vcpu) if running == Some(vcpu) => None,
            Event::Mark { .. } | Event::Lock { .. } => running,
            _ => continue,
        };
        if let Some(vcpu) = running
            && let Some(&(task, _)) = started.get(&vcpu).and_then(|stack| stack.last())
            && entry.ticks > since
        {
            extend(&mut pieces, Piece { vcpu, task, start: since, end: entry.ticks });
        }
        (since, running) = (entry.ticks, next);
        if let Event::Lost { .. } = entry.event {
            started.clear();
            waiting.clear();
        }
        if let Event::Lock { vcpu, step, task, .. } = entry.event {
            let waits = waiting.entry(vcpu).or_default();
            lock(started.entry(vcpu).or_default(), waits, step, task);
        }
        if let Some((vcpu, mark)) = entry.event.job() {
            let stack = started.entry(vcpu).or_default();
            match mark.step {
                Step::Release => {}
                Step::Start => stack.push((mark.task, mark.job)),
                Step::Finish => stack.retain(|&job| job != (mark.task, mark.job)),
            }
        }
    }
    pieces
}

/// The jobs of a VCPU after a step of one with a resource: those that go on, the one that executes
/// last, and those that wait.
fn lock(stack: &mut Vec<(u8, u32)>, waiting: &mut Vec<(u8, u32)>, step: LockStep, task: u8) {
    let of_task = |jobs: &mut Vec<(u8, u32)>| {
        let at = jobs.iter().position(|&(other, _)| other == task)?;
        Some(jobs.remove(at))
    };
    match step {
        LockStep::Wait => waiting.extend(of_task(stack)),
        LockStep::Lock => stack.extend(of_task(waiting)),
        LockStep::Unlock => {
            let Some(job) = of_task(stack) else { return };
            let above = stack.iter().position(|&(other, _)| other < task);
            stack.insert(above.unwrap_or(stack.len()), job);
        }
    }
}

fn extend(pieces: &mut Vec<Piece>, piece: Piece) {
    match pieces.last_mut() {
        Some(last)
            if last.end == piece.start && (last.vcpu, last.task) == (piece.vcpu, piece.task) =>
        {
            last.end = piece.end;
        }
        _ => pieces.push(piece),
    }
}
