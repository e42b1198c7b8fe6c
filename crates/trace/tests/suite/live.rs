//! What is counted while events come says the same as the whole trace.

use std::collections::BTreeMap;

use trace::live::{Live, View};
use trace::timeline::{self, State};
use trace::{Entry, Event, JobMark, Step};

use crate::support::{ALL_KINDS, header, id, read, reserved, simulate};

#[test]
fn shares_and_jobs_are_those_of_the_whole_trace() {
    let trace = read(&simulate(ALL_KINDS, 1_000_000));
    let mut live = Live::new(&trace.header);
    let mut used: BTreeMap<String, u64> = BTreeMap::new();
    let (mut time, mut used_up, mut last) = (0, 0, None);
    let mut add = |view: View| {
        time += view.interval_ns;
        for vcpu in &view.vcpus {
            *used.entry(vcpu.name.clone()).or_default() += vcpu.used_ns;
            used_up += vcpu.used_up;
            assert!(vcpu.used_ns <= view.interval_ns, "{vcpu:?}");
        }
        last = Some(view);
    };
    for (index, (pcpu, entry)) in trace.merged().enumerate() {
        live.tell(pcpu, entry);
        if index % 7 == 6 {
            add(live.view());
        }
    }
    add(live.view());
    // Nothing twice.
    add(live.view());
    let last = last.expect("there are views");
    let whole = trace.last() - trace.first();
    assert_eq!((time, last.time_ns, last.lost), (whole, whole, 0));

    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    let mut all_used = 0;
    for span in timeline::spans(&trace, 0) {
        if let State::Runs(vcpu) = span.state {
            *expected.entry(trace.header.vcpu_name(vcpu)).or_default() += span.end - span.start;
            all_used += u64::from(span.budget.is_some_and(|it| span.end - span.start >= it));
        }
    }
    assert_eq!(used, expected);
    assert!(all_used > 10 && used_up == all_used, "{used_up} of {all_used}");

    for (((vcpu, task), jobs), view) in timeline::jobs(&trace).into_iter().zip(&last.tasks) {
        let complete: Vec<u64> = jobs.iter().filter_map(|job| job.response()).collect();
        let deadline = trace.header.task(vcpu, task).and_then(|it| it.deadline_ns).expect("one");
        assert_eq!(
            (view.vcpu.as_str(), view.name.as_str()),
            (trace.header.vcpu_name(vcpu).as_str(), trace.header.task_name(vcpu, task).as_str())
        );
        assert_eq!(view.jobs, complete.len() as u64);
        assert_eq!(view.misses, complete.iter().filter(|it| **it > deadline).count() as u64);
        assert_eq!(view.longest_ns, complete.iter().copied().max());
    }
    assert_eq!(last.tasks.len(), 5);
}

#[test]
fn accesses_waits_and_losses_are_counted() {
    let vcpu = id(0);
    let mut live =
        Live::new(&header(&[(reserved(policy::server::kind::Kind::Deferrable, 400, 1_000), &[])]));
    let events = [
        (1_000, Event::Run { vcpu, budget: Some(400) }),
        (1_100, Event::Account { vcpu, accesses: 30 }),
        (1_200, Event::Overflow { vcpu, accesses: 20 }),
        (1_200, Event::Idle),
        (1_500, Event::Recharge { vcpu, accesses: 50 }),
        (1_500, Event::Run { vcpu, budget: Some(200) }),
        (1_800, Event::Overflow { vcpu, accesses: 50 }),
        (1_800, Event::Idle),
        (2_000, Event::Tick),
    ];
    events.into_iter().for_each(|(ticks, event)| live.tell(0, Entry { ticks, event }));
    let view = live.view();
    let it = &view.vcpus[0];
    assert_eq!((view.interval_ns, it.used_ns, it.budget_ns), (1_000, 500, Some(400)));
    assert_eq!((it.accesses, it.throttled, it.waited_ns, it.used_up), (100, 2, 500, 1));
    // It still waits in the next interval.
    live.tell(0, Entry { ticks: 2_300, event: Event::Recharge { vcpu, accesses: 50 } });
    live.tell(0, Entry { ticks: 2_300, event: Event::Run { vcpu, budget: None } });
    live.tell(0, Entry { ticks: 2_400, event: Event::Tick });
    live.lose(0, 3);
    live.tell(0, Entry { ticks: 3_000, event: Event::Idle });
    let view = live.view();
    let it = &view.vcpus[0];
    // What the PCPU did while events were lost is unknown.
    assert_eq!((it.waited_ns, it.used_ns, it.throttled, view.lost), (300, 100, 0, 3));
}

#[test]
fn a_guest_that_starts_again_counts_its_jobs_anew() {
    let vcpu = id(0);
    let mut described =
        header(&[(reserved(policy::server::kind::Kind::Deferrable, 400, 1_000), &[(100, 10)])]);
    described.vms[0].vcpus[0].tasks[0].period_ns = Some(100);
    let mut live = Live::new(&described);
    let mut mark = |ticks, job, step| {
        let value = JobMark { task: 0, job, step }.value();
        live.tell(0, Entry { ticks, event: Event::Mark { vcpu, value } });
    };
    mark(1_000, 0, Step::Release);
    mark(1_050, 0, Step::Finish);
    // Noted late: it was released at 1100, and is late by 20.
    mark(1_150, 1, Step::Release);
    mark(1_220, 1, Step::Finish);
    mark(5_000, 0, Step::Release);
    mark(5_030, 0, Step::Finish);
    let view = live.view();
    let task = &view.tasks[0];
    assert_eq!(
        (task.jobs, task.misses, task.longest_ns, task.deadline_ns),
        (3, 1, Some(120), Some(100))
    );
}
