//! Traces as charts for papers and pages.
//!
//! A lane for each PCPU shows the VCPUs that it runs. A lane for each VCPU that shares its
//! PCPU or has tasks shows its tasks while they execute (grey: it runs, and no task has said
//! so), arrows where jobs are released, and as a line what is left of its budget.

mod page;

use std::collections::BTreeMap;
use std::ops::Range;

use bulkhead_report::{Error, Gantt, Lane, Span};

use crate::timeline::{self, Job, Piece, State};
use crate::{Clock, Trace, VcpuId};

pub use page::html;

/// The chart from a time to another in nanoseconds from the start of the servers, or of
/// everything.
pub fn svg(trace: &Trace, from_ns: Option<u64>, until_ns: Option<u64>) -> Result<String, Error> {
    chart(trace, &window(trace, from_ns, until_ns)).svg()
}

/// The time that is shown.
fn window(trace: &Trace, from_ns: Option<u64>, until_ns: Option<u64>) -> Range<i64> {
    let clock = trace.clock();
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let (first, last) = (clock.ns(trace.first()), clock.ns(trace.last()));
    from_ns.map_or(first, signed)..until_ns.map_or(last, signed).min(last)
}

fn chart(trace: &Trace, window: &Range<i64>) -> Gantt {
    let header = &trace.header;
    let view = View { clock: trace.clock(), window: window.clone() };
    let vcpus: Vec<VcpuId> = header.vcpus().map(|(id, _)| id).collect();
    let jobs = timeline::jobs(trace);
    let mut series: Vec<String> = vcpus.iter().map(|&id| header.vcpu_name(id)).collect();
    let tasks: BTreeMap<(VcpuId, u8), usize> =
        jobs.keys().enumerate().map(|(index, &task)| (task, vcpus.len() + index)).collect();
    series.extend(jobs.keys().map(|&(vcpu, task)| header.task_name(vcpu, task)));

    let mut lanes = Vec::new();
    let mut below: BTreeMap<VcpuId, Lane> = BTreeMap::new();
    for pcpu in 0..trace.tracks.len() {
        let mut lane = Lane { name: format!("PCPU {pcpu}"), ..Lane::default() };
        for span in timeline::spans(trace, pcpu) {
            let State::Runs(vcpu) = span.state else { continue };
            let Some(time) = view.time(span.start..span.end) else { continue };
            let number = vcpus.iter().position(|&id| id == vcpu);
            lane.bars.push(Span { time: time.clone(), series: number });
            let below = below.entry(vcpu).or_default();
            below.bars.push(Span { time: time.clone(), series: None });
            if let Some((budget, of)) = span.budget.zip(full_budget(trace, vcpu)) {
                let part = |ticks: u64| trace.clock().length_ns(ticks) as f64 / of;
                below.line.push((time.start, part(budget)));
                let left = budget.saturating_sub(span.end - span.start);
                below.line.push((time.end, part(left)));
            }
        }
        for piece in timeline::pieces(trace, pcpu) {
            let Piece { vcpu, task, start, end } = piece;
            if let Some(time) = view.time(start..end) {
                let series = tasks.get(&(vcpu, task)).copied();
                below.entry(vcpu).or_default().bars.push(Span { time, series });
            }
        }
        lanes.push(lane);
    }
    for (&(vcpu, _), jobs) in &jobs {
        let releases = jobs.iter().filter_map(|job: &Job| view.point(job.release?));
        below.entry(vcpu).or_default().arrows.extend(releases);
    }
    for (id, vcpu) in header.vcpus() {
        let has_tasks = tasks.keys().any(|&(of, _)| of == id);
        if (vcpu.server.is_some() || has_tasks)
            && let Some(lane) = below.remove(&id)
        {
            lanes.push(Lane { name: header.vcpu_name(id), ..lane });
        }
    }
    Gantt {
        title: format!("{} ({})", header.name, header.origin),
        x: "time in ms".into(),
        range: millis(window.start)..millis(window.end),
        series,
        lanes,
    }
}

/// The budget of a VCPU in nanoseconds, if it has one.
fn full_budget(trace: &Trace, vcpu: VcpuId) -> Option<f64> {
    Some(trace.header.vcpu(vcpu)?.server.as_ref()?.budget_ns? as f64)
}

fn millis(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// From ticks to what is shown.
struct View {
    clock: Clock,
    window: Range<i64>,
}

impl View {
    /// The part of a time that is shown, in milliseconds.
    fn time(&self, ticks: Range<u64>) -> Option<Range<f64>> {
        let start = self.clock.ns(ticks.start).max(self.window.start);
        let end = self.clock.ns(ticks.end).min(self.window.end);
        (start < end).then(|| millis(start)..millis(end))
    }

    fn point(&self, ticks: u64) -> Option<f64> {
        let ns = self.clock.ns(ticks);
        self.window.contains(&ns).then(|| millis(ns))
    }
}
