//! Jobs in traces of executions.

use crate::support::{ALL_KINDS, header, id};
use trace::timeline::jobs;
use trace::{Entry, Event, JobMark, Step, Trace};

/// A trace of releases of the first task: times and numbers of the jobs.
fn released(releases: &[(u64, u32)], period_ns: Option<u64>) -> Vec<Option<u64>> {
    let mut header = header(ALL_KINDS);
    header.frequency_hz = 62_500_000;
    header.vms[0].vcpus[0].tasks[0].period_ns = period_ns;
    let entries = |&(ticks, job): &(u64, u32)| {
        [(ticks, Step::Release), (ticks + 100, Step::Finish)].map(|(ticks, step)| {
            let mark = JobMark { step, task: 0, job };
            Entry { ticks, event: Event::Mark { vcpu: id(0), value: mark.value() } }
        })
    };
    let tracks = vec![releases.iter().flat_map(entries).collect()];
    let trace = Trace { header, tracks, is_cut_off: false };
    jobs(&trace)[&(id(0), 0)].iter().map(|job| job.release).collect()
}

#[test]
fn a_release_that_is_noted_late_was_a_whole_number_of_periods_after_the_first() {
    // 1 ms are 62,500 ticks; the VCPU did not run when the second job was released, and was
    // started again later.
    let noted = [(1_010, 0), (90_000, 1), (126_000, 2), (700_000, 0), (762_503, 1)];
    let settled = [1_000, 63_500, 126_000, 700_000, 762_500].map(Some);
    assert_eq!(released(&noted, Some(1_000_000)), settled);
    assert_eq!(released(&noted, None), noted.map(|(ticks, _)| Some(ticks)));
}
