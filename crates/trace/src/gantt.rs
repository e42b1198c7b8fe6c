//! Traces as charts for papers and pages.
//!
//! A lane for each PCPU shows the VCPUs that it runs, each in its colour. Below are lanes of
//! these VCPUs, with a line for what is left of the budget while they run, and of their tasks
//! while they execute, with arrows where jobs are released, and a level line while they have a resource.

mod page;

use std::ops::Range;

use report::{Error, Gantt, Lane, Span};

use crate::timeline::{self, Piece, State};
use crate::{Clock, Event, LockStep, Trace, VcpuId};

pub use page::html;

/// Position in a task's lane of the line that shows that the task holds a resource.
const HOLDS: f64 = 0.8;

/// Returns the chart from a time to another in nanoseconds from the start of the servers, or of
/// everything.
pub fn svg(trace: &Trace, from_ns: Option<u64>, until_ns: Option<u64>) -> Result<String, Error> {
    chart(trace, &window(trace, from_ns, until_ns)).svg()
}

/// Returns the time that is shown.
fn window(trace: &Trace, from_ns: Option<u64>, until_ns: Option<u64>) -> Range<i64> {
    let clock = trace.clock();
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let (first, last) = (clock.ns(trace.first()), clock.ns(trace.last()));
    from_ns.map_or(first, signed)..until_ns.map_or(last, signed).min(last)
}

fn chart(trace: &Trace, window: &Range<i64>) -> Gantt {
    let header = &trace.header;
    let view = View { clock: trace.clock(), window: window.clone() };
    let jobs = timeline::jobs(trace);
    let mut lanes = Vec::new();
    for pcpu in 0..trace.tracks.len() {
        let mut vcpus: Vec<(VcpuId, Lane)> = Vec::new();
        for (id, _) in header.vcpus().filter(|(_, vcpu)| vcpu.pcpu == pcpu) {
            vcpus.push((id, Lane { name: header.vcpu_name(id), ..Lane::default() }));
        }
        let mut own = Lane { name: format!("PCPU {pcpu}"), ..Lane::default() };
        for span in timeline::spans(trace, pcpu) {
            let State::Runs(vcpu) = span.state else { continue };
            let Some(time) = view.time(span.start..span.end) else { continue };
            let Some(series) = vcpus.iter().position(|&(id, _)| id == vcpu) else { continue };
            let bar = Span { time: millis(time.start)..millis(time.end), series };
            let lane = &mut vcpus[series].1;
            if let Some((budget, full)) = span.budget.zip(full_budget(trace, vcpu)) {
                let left = |at: i64| {
                    let used = at.abs_diff(view.clock.ns(span.start)) as f64;
                    (millis(at), (view.clock.length_ns(budget) as f64 - used) / full)
                };
                lane.lines.push([left(time.start), left(time.end)]);
            }
            lane.bars.push(bar.clone());
            own.bars.push(bar);
        }
        lanes.push(own);
        let pieces = timeline::pieces(trace, pcpu);
        for (series, (id, lane)) in vcpus.into_iter().enumerate() {
            lanes.push(lane);
            for (&(_, task), jobs) in jobs.iter().filter(|((vcpu, _), _)| *vcpu == id) {
                let pieces = pieces.iter().filter(|piece| (piece.vcpu, piece.task) == (id, task));
                let bars = pieces.filter_map(|&Piece { start, end, .. }| {
                    let time = view.time(start..end)?;
                    Some(Span { time: millis(time.start)..millis(time.end), series })
                });
                let arrows = jobs.iter().filter_map(|job| view.point(job.release?));
                lanes.push(Lane {
                    name: header.task_name(id, task),
                    bars: bars.collect(),
                    arrows: arrows.collect(),
                    lines: sections(trace, &view, id, task),
                });
            }
        }
    }
    Gantt {
        title: format!("{} ({})", header.name, header.origin),
        x: "time in ms".into(),
        range: millis(window.start)..millis(window.end),
        lanes,
    }
}

/// Lines in a task's lane while it has a resource.
fn sections(trace: &Trace, view: &View, id: VcpuId, of: u8) -> Vec<[(f64, f64); 2]> {
    let (mut lines, mut since) = (Vec::new(), None);
    for entry in trace.tracks.iter().flatten() {
        match entry.event {
            Event::Lock { vcpu, step, task, .. } if (vcpu, task) == (id, of) => match step {
                LockStep::Lock => since = Some(entry.ticks),
                LockStep::Unlock => {
                    let time = since.take().and_then(|start| view.time(start..entry.ticks));
                    lines.extend(
                        time.map(|it| [(millis(it.start), HOLDS), (millis(it.end), HOLDS)]),
                    );
                }
                LockStep::Wait => {}
            },
            _ => {}
        }
    }
    lines
}

/// Returns the budget of a VCPU in nanoseconds, if it has one.
fn full_budget(trace: &Trace, vcpu: VcpuId) -> Option<f64> {
    Some(trace.header.vcpu(vcpu)?.server.as_ref()?.budget_ns? as f64)
}

fn millis(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// Converts ticks to the shown time.
struct View {
    clock: Clock,
    window: Range<i64>,
}

impl View {
    /// Returns the part of a time that is shown, in nanoseconds.
    fn time(&self, ticks: Range<u64>) -> Option<Range<i64>> {
        let start = self.clock.ns(ticks.start).max(self.window.start);
        let end = self.clock.ns(ticks.end).min(self.window.end);
        (start < end).then_some(start..end)
    }

    /// Returns a time that is shown, in milliseconds.
    fn point(&self, ticks: u64) -> Option<f64> {
        let ns = self.clock.ns(ticks);
        self.window.contains(&ns).then(|| millis(ns))
    }
}
