//! The work of a VCPU besides its tasks: starting, printing, serving interrupts, or all work of
//! Linux.

use std::ops::Range;

use trace::timeline::{self, Piece, State};
use trace::{Event, Trace, VcpuId};

/// Returns this work as a task of the lowest priority. Each time that the VCPU had work is a job:
/// released when the VCPU woke, and as long as the VCPU ran until it waited again, without the
/// pieces of its tasks with these numbers. `None` if there was no such work.
pub fn task(
    trace: &Trace,
    pcpu: usize,
    vcpu: VcpuId,
    tasks: Vec<u8>,
    pieces: &[Piece],
) -> Option<sim::Task> {
    let times = busy(trace, pcpu, vcpu);
    let mut ticks = vec![0_u64; times.len()];
    let at = |tick: u64| times.partition_point(|time| time.start <= tick).checked_sub(1);
    for span in timeline::spans(trace, pcpu) {
        if span.state == State::Runs(vcpu)
            && let Some(at) = at(span.start)
        {
            ticks[at] += span.end - span.start;
        }
    }
    for piece in pieces.iter().filter(|it| it.vcpu == vcpu && tasks.contains(&it.task)) {
        if let Some(at) = at(piece.start) {
            ticks[at] = ticks[at].saturating_sub(piece.end - piece.start);
        }
    }
    let clock = trace.clock();
    let jobs = times.iter().zip(ticks).map(|(time, ticks)| {
        (u64::try_from(clock.ns(time.start)).unwrap_or(0), clock.length_ns(ticks))
    });
    let (mut releases, execution): (Vec<u64>, Vec<u64>) =
        jobs.filter(|&(_, length)| length > 0).unzip();
    if releases.is_empty() {
        return None;
    }
    let offset = releases.remove(0);
    Some(sim::Task {
        name: "all else".into(),
        offset,
        period: u64::MAX,
        deadline: u64::MAX,
        release: sim::Release::Trace(releases),
        execution: sim::Execution::Trace(execution),
        accesses: sim::Accesses::None,
    })
}

/// Returns the times at which the VCPU had work, by the inputs of its scheduler.
fn busy(trace: &Trace, pcpu: usize, vcpu: VcpuId) -> Vec<Range<u64>> {
    let mut times: Vec<Range<u64>> = Vec::new();
    let mut since = None;
    for entry in trace.tracks.get(pcpu).into_iter().flatten() {
        match entry.event {
            Event::Wake(woken) if woken == vcpu => since = since.or(Some(entry.ticks)),
            Event::Block(ended) | Event::Stop(ended) if ended == vcpu => {
                times.extend(since.take().map(|since| since..entry.ticks));
            }
            _ => {}
        }
    }
    times.extend(since.map(|since| since..trace.last()));
    times
}
