//! Compares what a PCPU does.

use std::ops::Range;

use super::{Difference, PcpuComparison, Usage, VcpuComparison};
use crate::Clock;
use crate::timeline::{Span, State};

/// The state of a PCPU for a time, in nanoseconds.
#[derive(Clone, Debug)]
pub struct SpanNs {
    pub time: Range<i64>,
    pub state: State,
}

/// Returns the spans within a window; neighbours with the same state are joined.
pub fn within(
    mut spans: impl Iterator<Item = Span>,
    clock: Clock,
    shift: i64,
    window: Range<i64>,
) -> impl Iterator<Item = SpanNs> {
    let mut open: Option<SpanNs> = None;
    std::iter::from_fn(move || {
        for span in spans.by_ref() {
            let time =
                |ticks| clock.ns(ticks).saturating_add(shift).clamp(window.start, window.end);
            let time = time(span.start)..time(span.end);
            if time.is_empty() {
                continue;
            }
            match &mut open {
                Some(last) if last.state == span.state => last.time.end = time.end,
                _ => {
                    let before = open.replace(SpanNs { time, state: span.state });
                    if before.is_some() {
                        return before;
                    }
                }
            }
        }
        open.take()
    })
}

/// The time that the VCPUs of a PCPU get and use in both traces.
pub struct Uses<'a> {
    vcpus: &'a mut [VcpuComparison],
    /// The use of the budget of each VCPU, in both traces, if it has a budget on this PCPU.
    budgets: Vec<Option<[BudgetUse; 2]>>,
}

impl<'a> Uses<'a> {
    /// `periods`: those of the servers of the VCPUs on the PCPU.
    pub fn new(
        vcpus: &'a mut [VcpuComparison],
        periods: impl Iterator<Item = Option<u64>>,
        window: &Range<i64>,
    ) -> Self {
        let uses = |period: u64| [BudgetUse::new(period, window), BudgetUse::new(period, window)];
        Self { vcpus, budgets: periods.map(|period| period.map(uses)).collect() }
    }

    fn add(&mut self, side: usize, span: &SpanNs) {
        let State::Runs(id) = span.state else { return };
        let Some(index) = self.vcpus.iter().position(|vcpu| vcpu.vcpu == id) else { return };
        let vcpu = &mut self.vcpus[index];
        vcpu.supply_ns[side] += span.time.end.abs_diff(span.time.start);
        vcpu.runs[side] += 1;
        if let Some(Some(uses)) = self.budgets.get_mut(index) {
            uses[side].add(span);
        }
    }

    /// All spans were added.
    pub fn finish(self) {
        for (vcpu, uses) in self.vcpus.iter_mut().zip(self.budgets) {
            if let Some(uses) = uses {
                vcpu.usage = Some(uses.map(|it| it.usage));
            }
        }
    }
}

/// The use of a VCPU's budget in the periods of its server that lie in the window.
struct BudgetUse {
    period: i64,
    /// From the first to the last whole period.
    whole: Range<i64>,
    /// The period of the last span, and the time that the VCPU ran in it.
    current: i64,
    used: u64,
    usage: Usage,
}

impl BudgetUse {
    fn new(period_ns: u64, window: &Range<i64>) -> Self {
        let period = i64::try_from(period_ns).unwrap_or(i64::MAX);
        let start = window.start;
        let first = start.div_euclid(period) + i64::from(start.rem_euclid(period) > 0);
        let whole = first..window.end.div_euclid(period);
        let periods = u64::try_from(whole.end - whole.start).unwrap_or(0);
        let usage = Usage { periods, ..Usage::default() };
        Self { period, current: whole.start, whole, used: 0, usage }
    }

    fn add(&mut self, span: &SpanNs) {
        let Self { period, ref whole, ref mut usage, .. } = *self;
        if usage.periods == 0 {
            return;
        }
        let (from, until) = (whole.start * period, whole.end * period);
        let (start, end) = (span.time.start.max(from), span.time.end.min(until));
        if start >= end {
            return;
        }
        usage.sum_ns += end.abs_diff(start);
        let (first, last) = (start.div_euclid(period), (end - 1).div_euclid(period));
        let used = if first == self.current { self.used } else { 0 };
        if first < last {
            // The rest of one period, perhaps all of others, and the start of the last one.
            usage.max_ns = usage.max_ns.max(used + ((first + 1) * period).abs_diff(start));
            let between = if last - first > 1 { period.unsigned_abs() } else { 0 };
            usage.max_ns = usage.max_ns.max(between);
            self.used = end.abs_diff(last * period);
        } else {
            self.used = used + end.abs_diff(start);
        }
        (self.current, usage.max_ns) = (last, usage.max_ns.max(self.used));
    }
}

/// Compares a PCPU, and finds its first difference; adds all spans to `uses`.
pub fn compare(
    pcpu: usize,
    spans: [impl Iterator<Item = SpanNs>; 2],
    tolerance: u64,
    uses: &mut Uses<'_>,
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
    let (mut left, mut right) = (left.fuse(), right.fuse());
    let (mut one, mut two) = (left.next(), right.next());
    [&one, &two].into_iter().enumerate().for_each(|(side, span)| {
        span.iter().for_each(|span| uses.add(side, span));
    });
    while let (Some(a), Some(b)) = (&one, &two) {
        let (start, end) = (a.time.start.max(b.time.start), a.time.end.min(b.time.end));
        let states = [a.state, b.state];
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
        let ends = [a.time.end, b.time.end];
        if ends[0] <= ends[1] {
            one = left.next();
            one.iter().for_each(|span| uses.add(0, span));
        }
        if ends[1] <= ends[0] {
            two = right.next();
            two.iter().for_each(|span| uses.add(1, span));
        }
    }
    left.for_each(|span| uses.add(0, &span));
    right.for_each(|span| uses.add(1, &span));
    close(&mut comparison, open);
    (comparison, first)
}
