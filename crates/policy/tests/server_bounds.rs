//! What servers promise, over windows of any length: never more than their bound
//! for others, never less than their supply for their own VCPU.

use policy::cpu::{Cpu, Slot};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

const END: u64 = 600;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Periodic,
    Deferrable,
    Sporadic,
}

fn policy(kind: Kind, budget: u64, period: u64) -> Policy {
    let parameters =
        Parameters { budget: Duration(budget), period: Duration(period), start: Instant(0) };
    match kind {
        Kind::Periodic => Policy::Periodic(parameters),
        Kind::Deferrable => Policy::Deferrable(parameters),
        Kind::Sporadic => Policy::Sporadic(parameters),
    }
}

/// Kind, budget and period of servers, the highest priority first.
fn servers() -> impl Strategy<Value = Vec<(Kind, u64, u64)>> {
    let kind = prop_oneof![Just(Kind::Periodic), Just(Kind::Deferrable), Just(Kind::Sporadic)];
    prop::collection::vec(
        (kind, 1u64..9, 0u64..30).prop_map(|(kind, budget, rest)| (kind, budget, budget + rest)),
        1..4,
    )
}

/// Ticks in which each VCPU ran, as sums from 0 on, and those in which it had something to do.
struct Run {
    ran: Vec<Vec<u64>>,
    ready: Vec<Vec<bool>>,
}

/// Runs a CPU. `late` gives by how many ticks each timer fires too late; a change
/// of a VCPU is an event of its own and comes in time.
fn run(servers: &[(Kind, u64, u64)], changes: &[(u64, usize)], late: &[u64], end: u64) -> Run {
    let slots: Vec<_> = servers
        .iter()
        .map(|&(kind, budget, period)| Slot::new(policy(kind, budget, period)).unwrap())
        .collect();
    let mut cpu = Cpu::new(slots);
    let mut decision = cpu.tick(Instant(0));
    let mut late = late.iter().copied().cycle();
    let mut due = decision.timer.map(|timer| timer.0);
    let mut run = Run { ran: vec![vec![0]; servers.len()], ready: vec![Vec::new(); servers.len()] };
    let mut changes = changes.iter().peekable();
    for now in 0..end {
        let mut new = None;
        while let Some(&(_, vcpu)) = changes.next_if(|&&(at, _)| at == now) {
            let vcpu = vcpu % servers.len();
            let ready = cpu.slots()[vcpu].is_ready();
            new = Some(match ready {
                true => cpu.block(vcpu, Instant(now)),
                false => cpu.wake(vcpu, Instant(now)),
            });
        }
        if new.is_none() && due.is_some_and(|due| due <= now) {
            new = Some(cpu.tick(Instant(now)));
        }
        if let Some(new) = new {
            decision = new;
            due = decision.timer.map(|timer| timer.0 + late.next().unwrap_or(0));
        }
        for vcpu in 0..servers.len() {
            let before = run.ran[vcpu][now as usize];
            run.ran[vcpu].push(before + u64::from(decision.run == Some(vcpu)));
            run.ready[vcpu].push(cpu.slots()[vcpu].is_ready());
        }
    }
    run
}

fn changes() -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec((0u64..25, 0usize..3), 1..60).prop_map(|changes| {
        let mut now = 0;
        changes.into_iter().map(|(gap, vcpu)| ((now += gap, now).1, vcpu)).collect()
    })
}

/// Most ticks in a window of this length if each period's budget comes as soon as it can.
fn in_step(budget: u64, period: u64, window: u64) -> u64 {
    window / period * budget + budget.min(window % period)
}

/// The same if the first budget comes as late as it can: the budgets of two periods
/// back to back.
fn back_to_back(budget: u64, period: u64, window: u64) -> u64 {
    match window.checked_sub(budget) {
        None => window,
        Some(rest) => budget + in_step(budget, period, rest),
    }
}

/// Supply of a periodic resource at least (Shin and Lee, RTSS 2003).
fn supply(budget: u64, period: u64, window: u64) -> u64 {
    let Some(rest) = window.checked_sub(period - budget) else { return 0 };
    let (whole, part) = (rest / period, rest % period);
    whole * budget + part.saturating_sub(period - budget)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn nobody_gets_more_than_the_bound(servers in servers(), changes in changes()) {
        let run = run(&servers, &changes, &[0], END);
        for (vcpu, &(kind, budget, period)) in servers.iter().enumerate() {
            // The highest priority is not delayed: its budget comes in step, unless it
            // is kept until the end of a period.
            let first = vcpu == 0 && kind != Kind::Deferrable;
            let bound = if first { in_step } else { back_to_back };
            for start in 0..END {
                for window in (1..=4 * period).take_while(|window| start + window <= END) {
                    let (from, to) = (start as usize, (start + window) as usize);
                    let got = run.ran[vcpu][to] - run.ran[vcpu][from];
                    prop_assert!(
                        got <= bound(budget, period, window),
                        "VCPU {vcpu}: {got} in {window} from {start}"
                    );
                }
            }
        }
    }

    #[test]
    fn who_asks_gets_the_supply(servers in servers(), changes in changes()) {
        let run = run(&servers, &changes, &[0], END);
        let (_, budget, period) = servers[0];
        for start in 0..END {
            let asks = run.ready[0][start as usize..].iter().take_while(|&&ready| ready).count() as u64;
            for window in 1..=asks.min(4 * period) {
                let (from, to) = (start as usize, (start + window) as usize);
                let got = run.ran[0][to] - run.ran[0][from];
                prop_assert!(got >= supply(budget, period, window), "{got} in {window} from {start}");
            }
        }
    }

    #[test]
    fn what_is_taken_late_is_paid_back(
        servers in servers(),
        changes in changes(),
        late in prop::collection::vec(0u64..6, 1..9),
    ) {
        let run = run(&servers, &changes, &late, END);
        for (vcpu, &(_, budget, period)) in servers.iter().enumerate() {
            for start in 0..END {
                for window in (1..=8 * period).take_while(|window| start + window <= END) {
                    let (from, to) = (start as usize, (start + window) as usize);
                    let got = run.ran[vcpu][to] - run.ran[vcpu][from];
                    // One latency at most, however long the window is.
                    prop_assert!(
                        got <= back_to_back(budget, period, window) + 5,
                        "VCPU {vcpu}: {got} in {window} from {start}"
                    );
                }
            }
        }
    }
}

/// Always ready, alone, for many periods: exactly the budget in each, at the same
/// place, whatever the latency of timers: nothing drifts.
#[test]
fn a_million_periods_do_not_drift() {
    for kind in [Kind::Periodic, Kind::Deferrable, Kind::Sporadic] {
        let slots = [Slot::new(policy(kind, 7, 31)).unwrap()];
        let mut cpu = Cpu::new(slots);
        let mut decision = cpu.wake(0, Instant(0));
        for number in 0..1_000_000u64 {
            assert_eq!(decision.run, Some(0));
            assert_eq!(decision.timer, Some(Instant(number * 31 + 7)), "{kind:?}");
            decision = cpu.tick(Instant(number * 31 + 7));
            assert_eq!(decision.run, None);
            assert_eq!(decision.timer, Some(Instant((number + 1) * 31)), "{kind:?}");
            decision = cpu.tick(Instant((number + 1) * 31));
        }
    }
}

/// The worst cases that analyses assume do occur.
#[test]
fn worst_cases_are_reached() {
    // Deferrable: the end of one period and the start of the next.
    let got = run(&[(Kind::Deferrable, 4, 10)], &[(6, 0)], &[0], 40);
    assert_eq!(got.ran[0][14] - got.ran[0][6], 8);
    // Sporadic: never, when nothing delays it ...
    let got = run(&[(Kind::Sporadic, 4, 10)], &[(6, 0)], &[0], 40);
    assert_eq!(got.ran[0][14] - got.ran[0][6], 4);
    assert_eq!(got.ran[0][20] - got.ran[0][6], 8);
    // ... but as a periodic task does, when its first budget is delayed.
    let servers = [(Kind::Deferrable, 6, 40), (Kind::Sporadic, 4, 10)];
    let got = run(&servers, &[(0, 0), (0, 1)], &[0], 40);
    assert_eq!(got.ran[1][14] - got.ran[1][6], 8);
    // Periodic: budget goes by unused.
    let got = run(&[(Kind::Periodic, 4, 10)], &[(6, 0)], &[0], 40);
    assert_eq!((got.ran[0][10], got.ran[0][14]), (0, 4));
}
