//! Compares what a PCPU does.

use std::ops::Range;

use super::{Difference, PcpuComparison, Usage, VcpuComparison};
use crate::timeline::{Span, State};
use crate::{Clock, VcpuId};

/// The state of a PCPU for a time, in nanoseconds.
#[derive(Clone, Debug)]
pub struct SpanNs {
    pub time: Range<i64>,
    pub state: State,
}

/// Returns the spans within a window; neighbours with the same state are joined.
pub fn spans_within(spans: &[Span], clock: Clock, shift: i64, window: &Range<i64>) -> Vec<SpanNs> {
    let mut within: Vec<SpanNs> = Vec::new();
    for span in spans {
        let time = |ticks| clock.ns(ticks).saturating_add(shift).clamp(window.start, window.end);
        let time = time(span.start)..time(span.end);
        if time.is_empty() {
            continue;
        }
        match within.last_mut() {
            Some(last) if last.state == span.state => last.time.end = time.end,
            _ => within.push(SpanNs { time, state: span.state }),
        }
    }
    within
}

/// Adds what VCPUs got on a PCPU in one of the traces.
pub fn add_supply(spans: &[SpanNs], side: usize, vcpus: &mut [VcpuComparison]) {
    for span in spans {
        let State::Runs(id) = span.state else { continue };
        if let Some(vcpu) = vcpus.iter_mut().find(|vcpu| vcpu.vcpu == id) {
            vcpu.supply_ns[side] += span.time.end.abs_diff(span.time.start);
            vcpu.runs[side] += 1;
        }
    }
}

/// Returns the use of a VCPU's budget in the periods of its server that lie in the window.
pub fn usage(spans: &[SpanNs], vcpu: VcpuId, period_ns: u64, window: &Range<i64>) -> Usage {
    let period = i64::try_from(period_ns).unwrap_or(i64::MAX);
    let whole = window.start.div_euclid(period) + i64::from(window.start.rem_euclid(period) > 0)
        ..window.end.div_euclid(period);
    let mut usage =
        Usage { periods: u64::try_from(whole.end - whole.start).unwrap_or(0), ..Usage::default() };
    if usage.periods == 0 {
        return usage;
    }
    let (from, until) = (whole.start * period, whole.end * period);
    let (mut current, mut used) = (whole.start, 0);
    for span in spans.iter().filter(|span| span.state == State::Runs(vcpu)) {
        let (start, end) = (span.time.start.max(from), span.time.end.min(until));
        if start >= end {
            continue;
        }
        usage.sum_ns += end.abs_diff(start);
        let (first, last) = (start.div_euclid(period), (end - 1).div_euclid(period));
        used = if first == current { used } else { 0 };
        if first < last {
            // The rest of one period, perhaps all of others, and the start of the last one.
            usage.max_ns = usage.max_ns.max(used + ((first + 1) * period).abs_diff(start));
            usage.max_ns = usage.max_ns.max(if last - first > 1 { period_ns } else { 0 });
            used = end.abs_diff(last * period);
        } else {
            used += end.abs_diff(start);
        }
        (current, usage.max_ns) = (last, usage.max_ns.max(used));
    }
    usage
}

/// Compares a PCPU, and finds its first difference.
pub fn compare(
    pcpu: usize,
    spans: &[Vec<SpanNs>; 2],
    tolerance: u64,
) -> (PcpuComparison, Option<Difference>) {
    let mut comparison = PcpuComparison { pcpu, differs_ns: 0, longest_ns: 0, unknown_ns: 0 };
    let mut first = None;
    let mut open: Option<(Range<i64>, [State; 2])> = None;
    let mut close = |comparison: &mut PcpuComparison, open: Option<(Range<i64>, [State; 2])>| {
        let Some((time, states)) = open else { return };
        let length = time.end.abs_diff(time.start);
        comparison.differs_ns += length;
        comparison.longest_ns = comparison.longest_ns.max(length);
        if length > tolerance && first.is_none() {
            first =
                Some(Difference::Pcpu { pcpu, from_ns: time.start, until_ns: time.end, states });
        }
    };
    let [left, right] = spans;
    let (mut at, mut other) = (0, 0);
    while let (Some(one), Some(two)) = (left.get(at), right.get(other)) {
        let (start, end) = (one.time.start.max(two.time.start), one.time.end.min(two.time.end));
        let states = [one.state, two.state];
        if start < end {
            if states.contains(&State::Unknown) {
                comparison.unknown_ns += end.abs_diff(start);
            }
            let differ = states[0] != states[1] && !states.contains(&State::Unknown);
            match &mut open {
                Some((time, _)) if differ && time.end == start => time.end = end,
                _ => {
                    close(&mut comparison, open.take());
                    open = differ.then_some((start..end, states));
                }
            }
        }
        let ends = [one.time.end, two.time.end];
        at += usize::from(ends[0] <= ends[1]);
        other += usize::from(ends[1] <= ends[0]);
    }
    close(&mut comparison, open);
    (comparison, first)
}
