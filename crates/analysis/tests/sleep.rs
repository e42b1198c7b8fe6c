//! The supply of VCPUs that sleep, against the code of the hypervisor: sporadic servers, tick by
//! tick, with a server above that takes its budget as early as it can.

use analysis::memory::{Bus, Contention, Reservation, Throttle};
use analysis::response::{Analyzer, Workload};
use analysis::supply::{ServerSupply, Supply};
use analysis::{Duration, Kind, Limits, Server, Task, vcpu};
use policy::server::{self as policy_server, Parameters, Policy};
use policy::time::{self, Instant};
use testing::Random;

/// A sporadic server and the one above: budget and period in ticks.
#[derive(Clone, Copy, Debug)]
struct System {
    own: (u64, u64),
    above: Option<(u64, u64)>,
}

impl System {
    /// The supply that the analysis says, and the time without supply in each period if no parts of
    /// the budget are joined; `None` if the server does not get its budget in time.
    fn supply(self) -> Option<(ServerSupply, u64)> {
        let server = |kind, (budget, period)| {
            Server::new(kind, Duration(budget), Duration(period)).expect("a server")
        };
        let above = self.above.map(|it| server(Kind::Periodic, it));
        let own = server(Kind::Sporadic, self.own);
        let servers: Vec<_> = above.into_iter().chain([own]).collect();
        let response = vcpu::response_times(&servers).pop()?.ok()?;
        let supply = ServerSupply::with_response(own, response)?;
        Some((supply.with_sleep(), supply.blackout().0))
    }

    /// Returns in which ticks the VCPU executes or sleeps. `wants(tick, executed, had_budget)`
    /// decides whether it is ready in the next tick.
    fn run(self, ticks: u64, mut wants: impl FnMut(u64, bool, bool) -> bool) -> Vec<bool> {
        let parameters = Parameters {
            budget: time::Duration(self.own.0),
            period: time::Duration(self.own.1),
            start: Instant(0),
            overrun: time::Duration(0),
        };
        let mut server =
            policy_server::Server::new(Policy::Sporadic(parameters)).expect("a server");
        let (mut ready, mut supplied) = (false, Vec::new());
        let (mut executed, mut budget) = (false, false);
        for now in 0..ticks {
            let wanted = wants(now, executed, budget);
            if wanted && !ready {
                server.wake(Instant(now));
            }
            ready = wanted;
            budget = server.supply(Instant(now)).is_ok();
            let taken = self.above.is_some_and(|(taken, period)| now % period < taken);
            executed = ready && budget && !taken;
            if executed {
                server.charge(Instant(now + 1), Instant(now));
            }
            supplied.push(executed || !ready);
        }
        supplied
    }
}

/// Returns a window that has less supply than a bound: its start, length and supply.
fn short(bound: impl Fn(u64) -> u64, supplied: &[bool]) -> Option<(usize, usize, u64)> {
    for start in 0..supplied.len() {
        let mut got = 0;
        for (index, is) in supplied[start..].iter().enumerate() {
            got += u64::from(*is);
            if got < bound(index as u64 + 1) {
                return Some((start, index + 1, got));
            }
        }
    }
    None
}

/// The supply if no parts of the budget are joined: the budget after a `gap`, again and again.
fn not_joined(system: System, gap: u64, window: u64) -> u64 {
    let (budget, rest) = (system.own.0, window.saturating_sub(gap));
    rest / (budget + gap) * budget + budget.min(rest % (budget + gap))
}

/// Seven short parts of the budget come before the rest. The VCPU sleeps after half of the first:
/// then the rest is joined with that half, and comes nearly a period later.
#[test]
fn a_part_that_is_joined_with_a_later_one_comes_later() {
    let system = System { own: (30, 100), above: None };
    let (supply, gap) = system.supply().expect("a bound");
    let supplied = system.run(1_000, |tick, _, _| match tick {
        0..28 => tick % 4 < 2,
        101 => false,
        _ => true,
    });
    // From tick 44 on the VCPU has no budget until tick 100, and but for those parts none until 184.
    assert_eq!(supplied[44..184].iter().filter(|is| **is).count(), 15);
    assert_eq!(short(|window| supply.in_window(Duration(window)).0, &supplied), None);
    assert!(short(|window| not_joined(system, gap, window), &supplied).is_some());
}

/// VCPUs that sleep for a moment again and again, above all when they get budget.
#[test]
fn a_vcpu_that_sleeps_gets_what_the_analysis_says() {
    let mut random = Random::new(7);
    let (mut joined, mut systems) = (0, 0);
    while systems < 300 {
        let own = (8 + random.below(40), 60 + random.below(100));
        let above = random.one_in(2).then(|| {
            let period = 10 + random.below(90);
            (1 + random.below(period / 2), period)
        });
        let system = System { own, above };
        let Some((supply, gap)) = system.supply() else { continue };
        systems += 1;
        let (mut asleep, mut left, mut naps) = (0u64, 0u64, 1);
        let supplied = system.run(1_500, |_, executed, _| {
            if asleep > 0 {
                asleep -= 1;
                return false;
            }
            if executed {
                left = left.saturating_sub(1);
            }
            if left == 0 {
                // Mostly a short part and a short sleep, sometimes a long part.
                naps = if random.one_in(12) { 1 + random.below(30) } else { naps };
                left = if random.one_in(6) {
                    1 + random.below(2 * own.0)
                } else {
                    1 + random.below(2)
                };
                let longest = if random.one_in(8) { naps } else { 3 };
                asleep = random.below(longest);
            }
            true
        });
        joined += u64::from(short(|window| not_joined(system, gap, window), &supplied).is_some());
        let bound = |window| supply.in_window(Duration(window)).0;
        assert_eq!(short(bound, &supplied), None, "{system:?}");
    }
    assert!(joined > 0, "parts were joined in none of the systems");
}

/// A VCPU that waits for accesses wakes once for each wait.
#[test]
fn a_vcpu_that_waits_for_its_limit_of_accesses_sleeps() {
    let server = Server::new(Kind::Sporadic, Duration(30), Duration(100)).expect("a server");
    let supply = ServerSupply::new(server);
    let tasks = [Task::new(Duration(20), Duration(5_000)).expect("a task")];
    let contention = Contention {
        bus: Bus::ideal(Duration(1)),
        accesses: &[Some(1)],
        reload: 0,
        interferers: &[],
        throttle: Some(Throttle::Own(Reservation::new(100, Duration(7)).expect("a budget"))),
    };
    let bound = |supply, limited: bool| {
        let workload = Workload::new(&tasks).with_supply(Supply::Server(supply));
        let workload = if limited { workload.with_contention(contention) } else { workload };
        let mut responses = Vec::new();
        Analyzer::new(Limits::default()).response_times(&workload, &mut responses);
        responses[0].expect("a bound").time.0
    };
    assert_eq!(bound(supply, true), bound(supply.with_sleep(), true));
    assert_eq!(bound(supply.with_sleep(), true), bound(supply.with_sleep(), false) + 7);
    assert!(bound(supply, false) < bound(supply.with_sleep(), false));
}
