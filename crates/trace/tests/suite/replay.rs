//! Recorded inputs, decided again.

use crate::support::{ALL_KINDS, id, plan, read, reserved, simulate};
use policy::server::kind::Kind;
use trace::{
    Choice, Entry, Event, Memory, Planned, ReplayError, Rules, Stopped, Trace, VcpuId, Why, replay,
};

const RULES: Rules = Rules { ceilings: true, switch: 0, kick: 0 };

fn run(trace: &Trace) -> trace::Replay {
    let mut replays = replay(trace, &plan(ALL_KINDS), RULES).expect("a trace of this plan");
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
        server: Some(reserved(Kind::Deferrable, 2_000, 10_000)),
        memory: None,
        hold: None,
        may_hold: false,
    };
    let other = [(3, vec![planned])];
    assert_eq!(replay(&trace, &other, RULES), Err(ReplayError::Pcpus { pcpu: 3, pcpus: 1 }));
    let stopped = replay(&trace, &[(0, vec![planned])], RULES).expect("possible")[0].stopped;
    assert!(matches!(stopped, Some(Stopped { why: Why::Vcpu(_), .. })), "{stopped:?}");
    let mut without = trace;
    without.tracks[0].retain(|entry| !matches!(entry.event, Event::Epoch { .. }));
    assert_eq!(replay(&without, &plan(ALL_KINDS), RULES), Err(ReplayError::NoEpoch));
}

/// A VCPU with a part of its VM's memory budget, in periods of 1000, and a limit for its sections.
const SHARING: Planned = Planned {
    vcpu: VcpuId { vm: 0, vcpu: 0 },
    server: Some(reserved(Kind::Deferrable, 4_000, 10_000)),
    memory: Some(Memory::Shared(1_000)),
    hold: Some(300),
    may_hold: true,
};

/// What the hypervisor writes for such a VCPU: times after the start, and events.
fn replay_of(events: &[(u64, Event)]) -> Option<Why> {
    let mut trace = read(&simulate(ALL_KINDS, 1_000_000));
    let start = trace.epoch().expect("it has one");
    trace.tracks[0].retain(|entry| matches!(entry.event, Event::Epoch { .. }));
    let entries = events.iter().map(|&(after, event)| Entry { ticks: start + after, event });
    trace.tracks[0].extend(entries);
    let replays = replay(&trace, &[(0, vec![SHARING])], RULES).expect("possible");
    replays[0].stopped.map(|stopped| stopped.why)
}

#[test]
fn a_section_at_the_end_of_a_grant_asks_once_with_the_tick() {
    let vcpu = SHARING.vcpu;
    let mut events = vec![
        (0, Event::Wake(vcpu)),
        (0, Event::Grant { vcpu, accesses: 100, later: false }),
        (0, Event::Run { vcpu, budget: Some(4_000) }),
        (0, Event::Recharge { vcpu, accesses: 100 }),
        (1_000, Event::StartGcs(vcpu)),
        (1_000, Event::Account { vcpu, accesses: 40 }),
        (1_000, Event::Tick),
        (1_000, Event::Grant { vcpu, accesses: 70, later: false }),
        (1_000, Event::Recharge { vcpu, accesses: 70 }),
        (1_300, Event::Account { vcpu, accesses: 10 }),
        (1_300, Event::Tick),
        (1_300, Event::EndGcs(vcpu)),
        (1_400, Event::Tick),
    ];
    assert_eq!(replay_of(&events), None);
    // It was in the section for too long, or was not.
    let end = events.remove(11);
    assert_eq!(replay_of(&events), Some(Why::Section(vcpu)));
    events.insert(10, end);
    assert_eq!(replay_of(&events), Some(Why::Section(vcpu)));
}

/// It has blocked, and wakes again before the time is over that it pays for that.
#[test]
fn a_vcpu_that_wakes_at_once_has_the_budget_that_is_left_then() {
    let mut trace = read(&simulate(ALL_KINDS, 1_000_000));
    let start = trace.epoch().expect("it has one");
    let vcpu = SHARING.vcpu;
    let planned =
        Planned { server: Some(reserved(Kind::Sporadic, 4_000, 10_000)), memory: None, ..SHARING };
    let events = [
        (0, Event::Wake(vcpu)),
        (0, Event::Run { vcpu, budget: Some(4_000) }),
        (1_000, Event::Block(vcpu)),
        (1_000, Event::Idle),
        (1_050, Event::Wake(vcpu)),
        (1_050, Event::Run { vcpu, budget: Some(2_900) }),
    ];
    trace.tracks[0].retain(|entry| matches!(entry.event, Event::Epoch { .. }));
    let entries = events.into_iter().map(|(after, event)| Entry { ticks: start + after, event });
    trace.tracks[0].extend(entries);
    let rules = Rules { switch: 100, ..RULES };
    let replays = replay(&trace, &[(0, vec![planned])], rules).expect("possible");
    assert_eq!(replays[0].stopped.as_ref().map(|stopped| stopped.why), None);
}
