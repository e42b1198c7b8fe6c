//! The VCPUs that PCPUs run over time, and the jobs of tasks: combined from single events.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Entry, Event, LockStep, Step, Trace, VcpuId};

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
pub fn spans(trace: &Trace, pcpu: usize) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut open =
        Span { start: trace.first(), end: trace.first(), state: State::Idle, budget: None };
    let entries = trace.tracks.get(pcpu).map_or(&[][..], Vec::as_slice);
    let mut before = open.start;
    for entry in entries {
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
        open.end = start;
        if open.end > open.start {
            spans.push(open);
        }
        open = Span { start, end: start, state, budget };
    }
    open.end = trace.last();
    if open.end > open.start {
        spans.push(open);
    }
    spans
}

/// Returns the times from which records of a PCPU were lost: from the last entry before to the
/// first one behind, in ticks.
pub fn gaps(trace: &Trace, pcpu: usize) -> Vec<Range<u64>> {
    let entries = trace.tracks.get(pcpu).map_or(&[][..], Vec::as_slice);
    let mut before = trace.first();
    let gap = |entry: &Entry| {
        let start = std::mem::replace(&mut before, entry.ticks);
        matches!(entry.event, Event::Lost { .. }).then_some(start..entry.ticks)
    };
    entries.iter().filter_map(gap).collect()
}

/// A job of a task: when it was released, first executed, and complete, as far as the trace says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Job {
    /// Number of the job.
    pub job: u32,
    /// Release in ticks.
    pub release: Option<u64>,
    /// Start in ticks.
    pub start: Option<u64>,
    /// Completion in ticks.
    pub finish: Option<u64>,
}

impl Job {
    /// Returns the time from release to completion in ticks.
    pub fn response(&self) -> Option<u64> {
        self.finish?.checked_sub(self.release?)
    }
}

/// Returns the jobs of all tasks, in the order in which they appear: by VCPU and number of the
/// task.
///
/// A guest notes a release when it has the processor, but at the time of the release its VCPU may
/// not run. If the header has the period, releases are whole periods apart, as early as the
/// earliest of all notes shows.
pub fn jobs(trace: &Trace) -> BTreeMap<(VcpuId, u8), Vec<Job>> {
    let mut tasks: BTreeMap<(VcpuId, u8), Vec<Job>> = BTreeMap::new();
    for (_, entry) in trace.merged() {
        let Some((vcpu, mark)) = entry.event.job() else { continue };
        let jobs = tasks.entry((vcpu, mark.task)).or_default();
        // Jobs complete in the order of their release: those that have not are the last.
        let open = jobs.iter().rev().take_while(|job| job.finish.is_none()).count();
        let first = jobs.len() - open;
        let known = jobs[first..].iter().position(|job| job.job == mark.job);
        let index = known.map_or_else(
            || {
                jobs.push(Job { job: mark.job, ..Job::default() });
                jobs.len() - 1
            },
            |known| first + known,
        );
        let time = Some(entry.ticks);
        match mark.step {
            Step::Release => jobs[index].release = time,
            Step::Start => jobs[index].start = time,
            Step::Finish => jobs[index].finish = time,
        }
    }
    for (&(vcpu, task), jobs) in &mut tasks {
        if let Some(period) = trace.header.task(vcpu, task).and_then(|task| task.period_ns) {
            settle_releases(jobs, period, trace.header.frequency_hz);
        }
    }
    tasks
}

/// Sets releases to times that are whole periods apart.
fn settle_releases(jobs: &mut [Job], period_ns: u64, frequency_hz: u64) {
    let since_first = |job: u32| {
        let ns = u128::from(job) * u128::from(period_ns);
        u64::try_from(ns * u128::from(frequency_hz) / 1_000_000_000).unwrap_or(u64::MAX)
    };
    // A guest that was started again counts from 0.
    for jobs in jobs.chunk_by_mut(|one, next| one.job < next.job) {
        let noted = jobs.iter().filter_map(|job| job.release?.checked_sub(since_first(job.job)));
        let Some(first) = noted.min() else { continue };
        for job in jobs {
            job.release = job.release.map(|_| first.saturating_add(since_first(job.job)));
        }
    }
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
pub fn pieces(trace: &Trace, pcpu: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut started: BTreeMap<VcpuId, Vec<(u8, u32)>> = BTreeMap::new();
    let mut waiting: BTreeMap<VcpuId, Vec<(u8, u32)>> = BTreeMap::new();
    let mut running: Option<VcpuId> = None;
    let mut since = trace.first();
    for entry in trace.tracks.get(pcpu).into_iter().flatten() {
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
