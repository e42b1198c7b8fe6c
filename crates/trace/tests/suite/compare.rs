//! Two traces beside each other.

use crate::support::{ALL_KINDS, read, simulate};
use trace::compare::{CompareError, Difference, Options, compare};
use trace::timeline::State;
use trace::{Entry, Event, Step, Trace};

const UNTIL: u64 = 1_000_000;

fn sample() -> Trace {
    read(&simulate(ALL_KINDS, UNTIL))
}

fn first(left: &Trace, right: &Trace, tolerance_ns: u64) -> Option<Difference> {
    let options = Options { tolerance_ns, ..Options::default() };
    compare([left, right], options).expect("traces of one system").first
}

#[test]
fn a_trace_agrees_with_itself_whatever_its_clock() {
    let trace = sample();
    let mut slower = trace.clone();
    slower.header.frequency_hz /= 4;
    for entry in &mut slower.tracks[0] {
        entry.ticks = (entry.ticks + 4_000) / 4;
    }
    assert_eq!(first(&trace, &trace, 0), None);
    assert_eq!(first(&trace, &slower, 4), None);
    let comparison = compare([&trace, &trace], Options::default()).expect("one system");
    assert!(comparison.vcpus.iter().all(|vcpu| vcpu.supply_ns[0] > 0));
    let supply: u64 = comparison.vcpus.iter().map(|vcpu| vcpu.supply_ns[1]).sum();
    let window = comparison.window_ns;
    assert!(supply <= window.end.abs_diff(window.start));
    assert_eq!(comparison.tasks.len(), 5);
    assert!(comparison.tasks.iter().all(|task| task.jobs[0].response_max_ns > 0));
}

#[test]
fn budgets_are_used_in_whole_periods_and_deadlines_counted() {
    let trace = sample();
    let mut strict = trace.clone();
    let tasks = strict.header.vms.iter_mut().flat_map(|vm| &mut vm.vcpus[0].tasks);
    tasks.for_each(|task| task.deadline_ns = Some(0));
    let options = Options { from_ns: Some(5_000), ..Options::default() };
    let comparison = compare([&strict, &trace], options).expect("one system");
    let [deferrable, sporadic, periodic, background] = &comparison.vcpus[..] else { panic!() };
    for (vcpu, budget, period) in
        [(deferrable, 2_000, 10_000), (sporadic, 3_000, 15_000), (periodic, 4_000, 20_000)]
    {
        let [usage, other] = vcpu.usage.expect("it has a budget");
        assert_eq!(usage, other);
        assert_eq!(usage.periods, comparison.window_ns.end as u64 / period - 1, "{usage:?}");
        assert!(0 < usage.max_ns && usage.max_ns <= budget, "{usage:?}");
        assert!(0 < usage.mean_ns() && usage.sum_ns <= vcpu.supply_ns[0], "{usage:?}");
    }
    assert_eq!(deferrable.usage.expect("it has a budget")[0].max_ns, 2_000);
    assert_eq!(background.usage, None);
    assert!(comparison.tasks.iter().all(|task| task.jobs.iter().all(|it| it.misses == it.jobs)));
}

#[test]
fn the_first_long_difference_is_named_and_short_ones_are_not() {
    let trace = sample();
    let at = 300
        + trace.tracks[0][300..]
            .windows(2)
            .position(|pair| {
                matches!(pair[0].event, Event::Idle) && pair[1].ticks >= pair[0].ticks + 40
            })
            .expect("the PCPU idles");
    let ticks = trace.tracks[0][at].ticks;
    let mut other = trace.clone();
    other.tracks[0][at].ticks += 30;
    assert_eq!(first(&trace, &other, 30), None);
    let difference = first(&trace, &other, 29);
    let Some(Difference::Pcpu { pcpu: 0, from_ns, until_ns, states }) = difference else {
        panic!("{difference:?}");
    };
    assert_eq!((from_ns, until_ns), (ticks as i64, ticks as i64 + 30));
    assert!(matches!(states, [State::Idle, State::Runs(_)]));
}

#[test]
fn jobs_are_compared_by_number() {
    let trace = sample();
    let at = trace.tracks[0]
        .iter()
        .rposition(|entry| {
            let job = entry.event.job();
            job.is_some_and(|(_, mark)| mark.step == Step::Finish) && entry.ticks < UNTIL / 2
        })
        .expect("jobs complete");
    let (vcpu, mark) = trace.tracks[0][at].event.job().expect("it was chosen so");
    let time = trace.tracks[0][at].ticks as i64;
    let job = |at_ns| {
        let (task, job, step) = (mark.task, mark.job, Step::Finish);
        Some(Difference::Job { vcpu, task, job, step, at_ns })
    };
    let mut other = trace.clone();
    other.tracks[0][at].ticks += 3;
    assert_eq!(first(&trace, &other, 2), job([Some(time), Some(time + 3)]));
    other.tracks[0].remove(at);
    assert_eq!(first(&trace, &other, 2), job([Some(time), None]));
}

#[test]
fn nothing_is_said_about_what_was_lost() {
    let trace = sample();
    let mut other = trace.clone();
    let lost: Vec<_> = other.tracks[0].drain(300..400).collect();
    let next = other.tracks[0][300].ticks;
    let event = Event::Lost { records: 100 };
    other.tracks[0].insert(300, Entry { ticks: next, event });
    let comparison = compare([&trace, &other], Options::default()).expect("one system");
    let length = lost[99].ticks - lost[0].ticks;
    assert!(comparison.pcpus[0].unknown_ns >= length, "{comparison:?}");
    assert_eq!(comparison.first, None);
}

#[test]
fn windows_and_shifts_move_what_is_compared() {
    let trace = sample();
    let mut other = trace.clone();
    other.tracks[0].retain(|entry| !matches!(entry.event, Event::Epoch { .. }));
    for entry in &mut other.tracks[0] {
        entry.ticks += 1_000;
    }
    // Without an epoch the times count from the first entry.
    let options = Options { shift_ns: 100, ..Options::default() };
    assert!(compare([&trace, &other], options).expect("one system").first.is_some());
    assert_eq!(first(&trace, &other, 0), None);
    let options = Options { from_ns: Some(UNTIL as i64 * 2), ..Options::default() };
    assert!(matches!(compare([&trace, &other], options), Err(CompareError::Times { .. })));
    other.header.vms.pop();
    let error = compare([&trace, &other], Options::default()).expect_err("another system");
    assert!(error.to_string().contains("vm-3 (1 VCPUs)"), "{error}");
}
