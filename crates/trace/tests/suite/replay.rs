//! Recorded inputs, decided again.

use crate::support::{ALL_KINDS, id, plan, read, simulate};
use trace::{Choice, Entry, Event, Planned, ReplayError, Server, Stopped, Trace, Why, replay};

fn run(trace: &Trace) -> trace::Replay {
    let mut replays = replay(trace, &plan(ALL_KINDS), true).expect("a trace of this plan");
    assert_eq!(replays.len(), 1);
    replays.remove(0)
}

fn place(trace: &Trace, from: usize, which: impl Fn(Event) -> bool) -> usize {
    let entries = trace.tracks[0].iter().skip(from);
    from + entries.enumerate().find(|(_, entry)| which(entry.event)).expect("there is one").0
}

#[test]
fn all_servers_decide_the_same_again() {
    let trace = read(&simulate(ALL_KINDS, 10_000_000));
    let replay = run(&trace);
    assert_eq!(replay.stopped, None);
    assert!(replay.inputs > 3_000 && replay.decisions > 2_000, "{replay:?}");
    assert_eq!(replay.late_max, 0);
}

#[test]
fn a_changed_decision_is_found() {
    let mut trace = read(&simulate(ALL_KINDS, 1_000_000));
    let at = place(&trace, 200, |event| matches!(event, Event::Idle));
    let ticks = trace.tracks[0][at].ticks;
    trace.tracks[0][at].event = Event::Run { vcpu: id(2), budget: None };
    let why = Why::Decision { expected: Choice::Idle, recorded: Choice::Run(id(2)) };
    assert_eq!(run(&trace).stopped, Some(Stopped { ticks, why }));
}

#[test]
fn a_changed_budget_is_found() {
    let mut trace = read(&simulate(ALL_KINDS, 1_000_000));
    let at = place(&trace, 200, |event| matches!(event, Event::Run { budget: Some(_), .. }));
    let Event::Run { vcpu, budget: Some(left) } = trace.tracks[0][at].event else {
        panic!("it was chosen so");
    };
    trace.tracks[0][at].event = Event::Run { vcpu, budget: Some(left + 1) };
    let why = Why::Budget { vcpu, expected: Some(left), recorded: Some(left + 1) };
    assert_eq!(run(&trace).stopped.map(|stopped| stopped.why), Some(why));
}

#[test]
fn a_missing_input_is_found() {
    let mut trace = read(&simulate(ALL_KINDS, 1_000_000));
    let at = place(&trace, 200, |event| matches!(event, Event::Wake(_)));
    trace.tracks[0].remove(at);
    assert!(matches!(run(&trace).stopped, Some(Stopped { why: Why::Decision { .. }, .. })));
}

#[test]
fn what_was_lost_ends_it() {
    let mut trace = read(&simulate(ALL_KINDS, 1_000_000));
    let ticks = trace.tracks[0][300].ticks;
    trace.tracks[0].insert(300, Entry { ticks, event: Event::Lost { records: 12 } });
    let stopped = Some(Stopped { ticks, why: Why::Lost { records: 12 } });
    assert_eq!(run(&trace).stopped, stopped);
    assert_eq!(trace.lost(), 12);
}

#[test]
fn late_ticks_are_measured() {
    let mut trace = read(&simulate(ALL_KINDS, 1_000_000));
    let at = place(&trace, 50, |event| matches!(event, Event::Tick));
    let tick = trace.tracks[0][at].ticks;
    trace.tracks[0].truncate(at);
    trace.tracks[0].push(Entry { ticks: tick + 17, event: Event::Tick });
    let replay = run(&trace);
    assert_eq!((replay.stopped, replay.late_max), (None, 17));
}

#[test]
fn another_plan_is_refused() {
    let trace = read(&simulate(ALL_KINDS, 1_000_000));
    let planned = Planned {
        vcpu: id(0),
        server: Server::Deferrable(2_000, 10_000),
        memory: None,
        overrun: 0,
        hold: None,
        may_hold: false,
    };
    let other = [(3, vec![planned])];
    assert_eq!(replay(&trace, &other, true), Err(ReplayError::Pcpus { pcpu: 3, pcpus: 1 }));
    let stopped = replay(&trace, &[(0, vec![planned])], true).expect("possible")[0].stopped;
    assert!(matches!(stopped, Some(Stopped { why: Why::Vcpu(_), .. })), "{stopped:?}");
    let mut without = trace;
    without.tracks[0].retain(|entry| !matches!(entry.event, Event::Epoch { .. }));
    assert_eq!(replay(&without, &plan(ALL_KINDS), true), Err(ReplayError::NoEpoch));
}
