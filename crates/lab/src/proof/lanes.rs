//! The time line of a window: PCPUs, their VCPUs and tasks.

use std::collections::BTreeMap;
use std::ops::Range;

use report::proof::{Lane, LaneKind, Mark, MarkKind, Span, SpanKind, Timeline};
use trace::timeline::{self, Job, State};
use trace::{Clock, Event, LockStep, Trace, VcpuId};

use crate::amount::time as shown;
use crate::responses::Key;

/// Longest window, and the number of periods of the slowest task that it has otherwise.
const WINDOW_MAX_NS: u64 = 200_000_000;
const PERIODS: u64 = 2;

/// Start and end in ns, and the reason for the choice.
#[derive(Clone, Debug)]
pub struct Window {
    /// Times from the start of the servers.
    pub ns: Range<i64>,
    /// The reason why this window was chosen.
    pub reason: String,
}

impl Window {
    /// Returns the window around the first missed deadline of a run, after all tasks have released
    /// jobs if possible; without a missed deadline, the window where all tasks have released jobs.
    pub fn of(trace: &Trace) -> Self {
        let clock = trace.clock();
        let jobs = timeline::jobs(trace);
        let task = |(id, number): Key| trace.header.task(id, number);
        let periods = jobs.keys().filter_map(|key| task(*key)?.period_ns);
        let length = periods.max().unwrap_or(WINDOW_MAX_NS).saturating_mul(PERIODS);
        let length = length.min(WINDOW_MAX_NS);
        let firsts = jobs.values().filter_map(|jobs| jobs.first()?.release);
        let all = firsts.max().unwrap_or(trace.zero());
        let missed = |from: u64| {
            let first = jobs.iter().filter_map(|(key, jobs)| {
                let deadline = task(*key)?.deadline_ns?;
                let is_late =
                    |job: &Job| job.response().is_some_and(|it| clock.length_ns(it) > deadline);
                let mut late = jobs.iter().filter(|job| is_late(job)).filter_map(|job| job.release);
                Some((late.find(|release| *release >= from)?, *key))
            });
            first.min()
        };
        let (start, reason) = match missed(all).or_else(|| missed(0)) {
            Some((release, (id, number))) => {
                let (vcpu, task) = (trace.header.vcpu_name(id), trace.header.task_name(id, number));
                (release, format!("a missed deadline of `{task}` on {vcpu}"))
            }
            None => (all, "all tasks have released jobs".into()),
        };
        let from = clock.ns(start) - (length / 20) as i64;
        Self { ns: from..from + length as i64, reason }
    }

    /// Returns the part of a time that is in the window.
    fn clip(&self, time: Range<i64>) -> Option<Range<i64>> {
        let time = time.start.max(self.ns.start)..time.end.min(self.ns.end);
        (time.start < time.end).then_some(time)
    }
}

/// Returns the events in a window; `resources` has the names of the shared resources.
pub fn timeline(trace: &Trace, resources: &[&str], window: &Window) -> Timeline {
    let clock = trace.clock();
    let jobs = timeline::jobs(trace);
    let mut lanes = Vec::new();
    for pcpu in 0..trace.tracks.len() {
        lanes.push(pcpu_lane(trace, pcpu, window));
        let pieces = timeline::pieces(trace, pcpu);
        for (id, vcpu) in trace.header.vcpus().filter(|(_, vcpu)| vcpu.pcpu == pcpu) {
            lanes.push(vcpu_lane(trace, pcpu, id, window));
            for number in 0..vcpu.tasks.len() as u8 {
                let own = pieces.iter().filter(|it| (it.vcpu, it.task) == (id, number));
                let runs = own.filter_map(|it| {
                    let time = window.clip(clock.ns(it.start)..clock.ns(it.end))?;
                    Some(span(time, SpanKind::Runs, Some(id), String::new()))
                });
                let mut spans: Vec<Span> = runs.collect();
                spans.extend(section_spans(trace, (id, number), resources, window));
                spans.sort_by_key(|span| span.time_ns.start);
                lanes.push(Lane {
                    kind: LaneKind::Task,
                    name: trace.header.task_name(id, number),
                    spans,
                    marks: jobs
                        .get(&(id, number))
                        .map(|jobs| marks(trace, (id, number), jobs, window))
                        .unwrap_or_default(),
                });
            }
        }
    }
    Timeline { window_ns: window.ns.clone(), reason: window.reason.clone(), lanes }
}

fn span(time_ns: Range<i64>, kind: SpanKind, id: Option<VcpuId>, label: String) -> Span {
    Span { time_ns, kind, vm: id.map(|id| usize::from(id.vm)), label }
}

fn pcpu_lane(trace: &Trace, pcpu: usize, window: &Window) -> Lane {
    let clock = trace.clock();
    let spans = timeline::spans(trace, pcpu).into_iter().filter_map(|it| {
        let time = window.clip(clock.ns(it.start)..clock.ns(it.end))?;
        Some(match it.state {
            State::Runs(id) => span(time, SpanKind::Runs, Some(id), trace.header.vcpu_name(id)),
            State::Unknown => span(time, SpanKind::Unknown, None, "records are missing".into()),
            State::Idle => return None,
        })
    });
    let name = format!("PCPU {pcpu}");
    Lane { kind: LaneKind::Pcpu, name, spans: spans.collect(), marks: Vec::new() }
}

/// Returns the times at which a VCPU runs, and at which it waits for its memory budget.
fn vcpu_lane(trace: &Trace, pcpu: usize, id: VcpuId, window: &Window) -> Lane {
    let clock = trace.clock();
    let own = timeline::spans(trace, pcpu).into_iter().filter(|it| it.state == State::Runs(id));
    let runs = own.filter_map(|it| {
        let time = window.clip(clock.ns(it.start)..clock.ns(it.end))?;
        let left = it.budget.map(|ticks| shown(clock.length_ns(ticks)));
        let label = left.map_or(String::new(), |left| format!("budget left {left}"));
        Some(span(time, SpanKind::Runs, Some(id), label))
    });
    let mut spans: Vec<Span> = runs.collect();
    spans.extend(throttled(trace, pcpu, id).into_iter().filter_map(|(from, to)| {
        let time = window.clip(clock.ns(from)..clock.ns(to))?;
        let label = "waits: its memory budget is used up".into();
        Some(span(time, SpanKind::Throttled, Some(id), label))
    }));
    spans.sort_by_key(|span| span.time_ns.start);
    let name = trace.header.vcpu_name(id);
    Lane { kind: LaneKind::Vcpu, name, spans, marks: Vec::new() }
}

/// Returns the times for which a VCPU waited for accesses: start and end of each, in ticks.
fn throttled(trace: &Trace, pcpu: usize, id: VcpuId) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let (mut over, mut since) = (false, None);
    for entry in trace.tracks.get(pcpu).into_iter().flatten() {
        match entry.event {
            Event::Overflow { vcpu, .. } if vcpu == id => over = true,
            Event::Run { vcpu, .. } | Event::Recharge { vcpu, .. } if vcpu == id => {
                found.extend(since.take().map(|since| (since, entry.ticks)));
                over = false;
            }
            Event::Run { .. } | Event::Idle if over => {
                (over, since) = (false, Some(entry.ticks));
            }
            _ => {}
        }
    }
    found
}

/// Returns the times at which a task waits for resources and holds them.
fn section_spans(trace: &Trace, key: Key, resources: &[&str], window: &Window) -> Vec<Span> {
    let clock = trace.clock();
    let mut open: BTreeMap<u8, (SpanKind, i64)> = BTreeMap::new();
    let mut spans = Vec::new();
    for (_, entry) in trace.merged() {
        let Event::Lock { vcpu, step, task, resource, .. } = entry.event else { continue };
        if (vcpu, task) != key {
            continue;
        }
        let now = clock.ns(entry.ticks);
        if let Some((kind, since)) = open.remove(&resource)
            && let Some(time) = window.clip(since..now)
        {
            let name = resources.get(usize::from(resource)).copied().unwrap_or("resource");
            spans.push(span(time, kind, Some(vcpu), name.into()));
        }
        match step {
            LockStep::Wait => drop(open.insert(resource, (SpanKind::Waits, now))),
            LockStep::Lock => drop(open.insert(resource, (SpanKind::Holds, now))),
            LockStep::Unlock => {}
        }
    }
    spans
}

fn marks(trace: &Trace, key: Key, jobs: &[Job], window: &Window) -> Vec<Mark> {
    let clock: Clock = trace.clock();
    let deadline = trace.header.task(key.0, key.1).and_then(|task| task.deadline_ns);
    let mut marks = Vec::new();
    for job in jobs {
        let label = format!("job {}", job.job);
        let mut mark = |at_ns: i64, kind| {
            if window.ns.contains(&at_ns) {
                marks.push(Mark { at_ns, kind, label: label.clone() });
            }
        };
        let finish = job.finish.map(|ticks| clock.ns(ticks));
        if let Some(release) = job.release.map(|ticks| clock.ns(ticks)) {
            mark(release, MarkKind::Release);
            if let Some(deadline) = deadline.and_then(|ns| i64::try_from(ns).ok()) {
                let at = release.saturating_add(deadline);
                let met = finish.is_some_and(|finish| finish <= at);
                mark(at, if met { MarkKind::Deadline } else { MarkKind::Miss });
            }
        }
        if let Some(finish) = finish {
            mark(finish, MarkKind::Finish);
        }
    }
    marks.sort_by_key(|mark| mark.at_ns);
    marks
}
