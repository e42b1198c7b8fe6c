//! What servers promise, over windows of any length: never more than their bound
//! for others, never less than their supply for their own VCPU; also where VCPUs wait for
//! accesses that their memory budgets have not.

use crate::events::Events;
use policy::bandwidth::{self, Account};
use policy::cpu::{Cpu, Event, Slot};
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

/// A server: budget `C`, period `T`, overrun `O`. Memory: accesses, of which it makes one in each
/// tick, and their period.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    kind: Kind,
    budget: u64,
    period: u64,
    overrun: u64,
    memory: Option<(u64, u64)>,
}

impl Numbers {
    fn new(kind: Kind, budget: u64, period: u64) -> Self {
        Self { kind, budget, period, overrun: 0, memory: None }
    }

    fn slot(self) -> Slot {
        let parameters = Parameters {
            budget: Duration(self.budget),
            period: Duration(self.period),
            start: Instant(0),
            overrun: Duration(self.overrun),
        };
        let policy = match self.kind {
            Kind::Periodic => Policy::Periodic(parameters),
            Kind::Deferrable => Policy::Deferrable(parameters),
            Kind::Sporadic => Policy::Sporadic(parameters),
        };
        let slot = Slot::new(policy).unwrap();
        let Some((budget, period)) = self.memory else { return slot };
        let (period, start) = (Duration(period), Instant(0));
        slot.with_account(Account::own(bandwidth::Parameters { budget, period, start }).unwrap())
    }

    /// Most that it takes in a period.
    fn most(self) -> u64 {
        self.budget + self.overrun
    }
}

/// Servers, half of them with overrun if they can have it.
fn server() -> impl Strategy<Value = Numbers> {
    let kind = prop_oneof![Just(Kind::Periodic), Just(Kind::Deferrable), Just(Kind::Sporadic)];
    (kind, 1u64..9, 0u64..30, 0u64..12).prop_map(|(kind, budget, rest, overrun)| {
        let overrun = if kind == Kind::Sporadic { 0 } else { overrun.saturating_sub(6).min(rest) };
        Numbers { overrun, ..Numbers::new(kind, budget, budget + rest) }
    })
}

/// Servers, the highest priority first.
fn servers() -> impl Strategy<Value = Vec<Numbers>> {
    prop::collection::vec(server(), 1..4)
}

/// The same, half of them with memory budgets.
fn with_memory() -> impl Strategy<Value = Vec<Numbers>> {
    prop::collection::vec((server(), prop::option::of((1u64..9, 1u64..30))), 1..4)
        .prop_map(|all| all.into_iter().map(|(it, memory)| Numbers { memory, ..it }).collect())
}

/// At which tick which VCPU changes: whether it has something to do, or whether it is in a
/// global critical section.
type Changes = Vec<(u64, usize, bool)>;

/// Ticks in which each VCPU ran, as sums from 0 on, those in which it had something to do, and
/// those in which it was in a global critical section.
struct Run {
    ran: Vec<Vec<u64>>,
    ready: Vec<Vec<bool>>,
    in_gcs: Vec<Vec<bool>>,
}

impl Run {
    /// Returns true if the VCPU ran in a tick.
    fn ran(&self, vcpu: usize, tick: u64) -> bool {
        self.ran[vcpu][tick as usize + 1] > self.ran[vcpu][tick as usize]
    }

    fn got(&self, vcpu: usize, from: u64, to: u64) -> u64 {
        self.ran[vcpu][to as usize] - self.ran[vcpu][from as usize]
    }

    /// The windows up to a length in which the VCPU could get most: they begin when it runs.
    fn windows(&self, vcpu: usize, longest: u64) -> impl Iterator<Item = (u64, u64)> {
        (0..END).filter(move |&start| self.ran(vcpu, start)).flat_map(move |start| {
            (start + 1..=END.min(start + longest)).map(move |end| (start, end))
        })
    }
}

/// Runs a CPU. `late` gives by how many ticks each timer fires too late; a change
/// of a VCPU is an event of its own and comes in time.
fn run(servers: &[Numbers], changes: &[(u64, usize, bool)], late: &[u64], end: u64) -> Run {
    let mut cpu = Cpu::new(servers.iter().map(|server| server.slot()).collect::<Vec<_>>());
    let mut decision = cpu.tick(Instant(0));
    let mut late = late.iter().copied().cycle();
    let mut due = decision.timer.map(|timer| timer.0);
    let none = vec![Vec::new(); servers.len()];
    let mut run = Run { ran: vec![vec![0]; servers.len()], ready: none.clone(), in_gcs: none };
    let mut changes = changes.iter().peekable();
    let mut made = 0;
    for now in 0..end {
        let mut new = None;
        let overflow = cpu.accesses().is_some_and(|most| made >= most);
        if let Some(ran) = decision.run {
            cpu.account(ran, std::mem::take(&mut made));
            new = overflow.then(|| cpu.tell(Event::Overflow(ran), Instant(now)));
        }
        while let Some(&(_, vcpu, gcs)) = changes.next_if(|&&(at, ..)| at == now) {
            let vcpu = vcpu % servers.len();
            let slot = &cpu.slots()[vcpu];
            new = Some(match (gcs, slot.is_ready(), slot.is_in_gcs()) {
                (false, true, _) => cpu.block(vcpu, Instant(now)),
                (false, false, _) => cpu.wake(vcpu, Instant(now)),
                (true, _, true) => cpu.leave_gcs(vcpu, Instant(now)),
                (true, _, false) => cpu.enter_gcs(vcpu, Instant(now)),
            });
        }
        if new.is_none() && due.is_some_and(|due| due <= now) {
            new = Some(cpu.tick(Instant(now)));
        }
        if let Some(new) = new {
            decision = new;
            due = decision.timer.map(|timer| timer.0 + late.next().unwrap_or(0));
        }
        made += u64::from(decision.run.is_some());
        for vcpu in 0..servers.len() {
            let before = run.ran[vcpu][now as usize];
            run.ran[vcpu].push(before + u64::from(decision.run == Some(vcpu)));
            run.ready[vcpu].push(cpu.slots()[vcpu].is_ready());
            run.in_gcs[vcpu].push(cpu.slots()[vcpu].is_in_gcs());
        }
    }
    run
}

fn changes() -> impl Strategy<Value = Changes> {
    prop::collection::vec((0u64..25, 0usize..3, prop::bool::weighted(0.4)), 1..80).prop_map(
        |changes| {
            let mut now = 0;
            let change = |(gap, vcpu, gcs)| ((now += gap, now).1, vcpu, gcs);
            changes.into_iter().map(change).collect()
        },
    )
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
    #![proptest_config(ProptestConfig::with_cases(testing::cases(3_000)))]

    #[test]
    fn nobody_gets_more_than_the_bound(servers in with_memory(), changes in changes()) {
        let run = run(&servers, &changes, &[0], END);
        for (vcpu, server) in servers.iter().enumerate() {
            // The highest priority is not delayed: its budget comes in step, unless it
            // is kept until the end of a period.
            let first = vcpu == 0 && server.kind != Kind::Deferrable;
            let bound = if first { in_step } else { back_to_back };
            for (start, end) in run.windows(vcpu, 4 * server.period) {
                let (got, window) = (run.got(vcpu, start, end), end - start);
                if got > bound(server.most(), server.period, window) {
                    prop_assert!(false, "VCPU {vcpu}: {got} in {window} from {start}");
                }
            }
        }
    }

    #[test]
    fn only_sections_take_more_than_the_budget(servers in with_memory(), changes in changes()) {
        let run = run(&servers, &changes, &[0], END);
        for (vcpu, server) in servers.iter().enumerate() {
            if server.kind == Kind::Sporadic {
                continue; // Its periods are not those of the clock.
            }
            for tick in (0..END).filter(|&tick| run.ran(vcpu, tick)) {
                let before = run.got(vcpu, tick - tick % server.period, tick);
                prop_assert!(before < server.most(), "VCPU {vcpu} at {tick}");
                let in_gcs = run.in_gcs[vcpu][tick as usize];
                prop_assert!(before < server.budget || in_gcs, "VCPU {vcpu} at {tick}");
            }
        }
    }

    #[test]
    fn who_asks_gets_the_supply(servers in servers(), changes in changes()) {
        let run = run(&servers, &changes, &[0], END);
        let Numbers { budget, period, .. } = servers[0];
        for start in 0..END {
            let asks = run.ready[0][start as usize..].iter().take_while(|&&ready| ready).count() as u64;
            for window in 1..=asks.min(4 * period) {
                let got = run.got(0, start, start + window);
                prop_assert!(got >= supply(budget, period, window), "{got} in {window} from {start}");
            }
        }
    }

    /// A section that keeps to the overrun waits for nothing but higher priorities
    /// (vMPCP, Eq. 15): at any time in a deferrable server.
    #[test]
    fn sections_within_the_overrun_do_not_wait(
        mut servers in servers(),
        (budget, rest, overrun) in (1u64..9, 1u64..9, 1u64..9),
        changes in changes(),
    ) {
        let (overrun, period) = (overrun.min(rest), budget + rest);
        servers[0] = Numbers { overrun, ..Numbers::new(Kind::Deferrable, budget, period) };
        let run = run(&servers, &changes, &[0], END);
        for tick in 0..END {
            let inside = |tick: u64| run.ready[0][tick as usize] && run.in_gcs[0][tick as usize];
            let sections = (tick - tick % period..=tick).filter(|&tick| inside(tick)).count() as u64;
            if inside(tick) && sections <= overrun {
                prop_assert!(run.ran(0, tick), "at {tick}");
            }
        }
    }

    #[test]
    fn what_is_taken_late_is_paid_back(
        servers in with_memory(),
        changes in changes(),
        late in prop::collection::vec(0u64..6, 1..9),
    ) {
        let run = run(&servers, &changes, &late, END);
        for (vcpu, server) in servers.iter().enumerate() {
            for (start, end) in run.windows(vcpu, 8 * server.period) {
                let (got, window) = (run.got(vcpu, start, end), end - start);
                // One latency at most, however long the window is.
                if got > back_to_back(server.most(), server.period, window) + 5 {
                    prop_assert!(false, "VCPU {vcpu}: {got} in {window} from {start}");
                }
            }
        }
    }

    /// In no window more accesses than its periods have, and one latency (`policy::bandwidth`).
    #[test]
    fn nobody_makes_more_accesses_than_the_bound(
        servers in with_memory(),
        changes in changes(),
        late in prop_oneof![Just(vec![0]), prop::collection::vec(0u64..6, 1..9)],
    ) {
        let run = run(&servers, &changes, &late, END);
        let latency = late.iter().copied().max().unwrap_or(0);
        for (vcpu, server) in servers.iter().enumerate() {
            let Some((budget, period)) = server.memory else { continue };
            for (start, end) in run.windows(vcpu, 8 * period) {
                // What begins with the first tick and ends with the last one.
                let bound = ((end - start - 1 + latency) / period + 2) * budget;
                let got = run.got(vcpu, start, end);
                prop_assert!(got <= bound, "VCPU {}: {} from {} to {}", vcpu, got, start, end);
                // XenThrottle, Eq. 3.5, with a tick for each access.
                let curve = back_to_back(budget.min(period), period, end - start);
                prop_assert!(got <= curve || latency > 0, "{} from {} to {}", got, start, end);
            }
            if latency == 0 {
                for start in (0..END - period).step_by(period as usize) {
                    prop_assert!(run.got(vcpu, start, start + period) <= budget);
                }
            }
        }
    }

    /// The bound that the servers' documentation gives is what `back_to_back` computes, and
    /// vMPCP's Eq. 5 is no less.
    #[test]
    fn the_bound_is_no_more_than_that_of_the_analysis(server in server(), window in 1u64..200) {
        let Numbers { budget, period, .. } = server;
        let bound = back_to_back(server.most(), period, window);
        let with_jitter = |jitter: u64| (window + jitter).div_ceil(period) * server.most();
        prop_assert!(bound <= with_jitter(period - server.most()));
        prop_assert!(bound <= with_jitter(period - budget));
    }

    /// Every server fits into its period by vMPCP's Eq. 5, without blocking: so the lowest one,
    /// which always asks for all it can have, gets it within its response time, in each period:
    /// whatever the others wait for.
    #[test]
    fn the_lowest_gets_all_within_its_response_time(
        mut servers in with_memory(),
        mut changes in changes(),
    ) {
        let lowest = servers.len() - 1;
        if servers[lowest].kind == Kind::Sporadic {
            servers[lowest].kind = Kind::Periodic; // Its periods are those of the clock.
        }
        servers[lowest].memory = None;
        let low = servers[lowest];
        let responses: Option<Vec<_>> = (0..servers.len()).map(|it| response(&servers[..=it])).collect();
        let Some(responses) = responses else { return Ok(()) };
        changes.iter_mut().for_each(|(_, vcpu, _)| *vcpu %= servers.len());
        changes.retain(|&(_, vcpu, _)| vcpu != lowest);
        changes.splice(0..0, [(0, lowest, false), (0, lowest, true)]);
        let run = run(&servers, &changes, &[0], END);
        let within = responses[lowest];
        for start in (0..=END - low.period).step_by(low.period as usize) {
            let got = run.got(lowest, start, start + within);
            prop_assert!(got >= low.most(), "{got} within {within} from {start}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(400)))]

    /// Many short uses, so that a sporadic server has to join replenishments: nobody gets
    /// more for it, and who asks again gets the supply.
    #[test]
    fn joined_replenishments_keep_the_bounds(
        (budget, rest) in (10u64..40, 0u64..60),
        above in server(),
        is_highest in any::<bool>(),
        changes in prop::collection::vec((1u64..5, 0usize..2), 20..120),
    ) {
        let sporadic = Numbers::new(Kind::Sporadic, budget, budget + rest);
        let servers = if is_highest { vec![sporadic, above] } else { vec![above, sporadic] };
        let vcpu = servers.len() - 1 - usize::from(is_highest);
        let mut now = 0;
        let changes = changes.into_iter().map(|(gap, vcpu)| ((now += gap, now).1, vcpu, false));
        let run = run(&servers, &changes.collect::<Vec<_>>(), &[0], END);
        let bound = if is_highest { in_step } else { back_to_back };
        for (start, end) in run.windows(vcpu, 4 * sporadic.period) {
            let (got, window) = (run.got(vcpu, start, end), end - start);
            if got > bound(budget, sporadic.period, window) {
                prop_assert!(false, "{got} in {window} from {start}");
            }
        }
        if is_highest {
            for start in 0..END {
                let asks = run.ready[vcpu][start as usize..].iter().take_while(|&&ready| ready).count() as u64;
                for window in 1..=asks.min(4 * sporadic.period) {
                    let got = run.got(vcpu, start, start + window);
                    prop_assert!(got >= supply(budget, sporadic.period, window), "{got} in {window} from {start}");
                }
            }
        }
    }
}

/// Why joins count for the supply of a VCPU that sleeps (`crates/analysis/src/supply.rs`, `with_sleep`): parts of a
/// budget stay apart from one period to the next, so that replenishments are joined also if the VCPU sleeps at most three
/// times in a period, and then it executes and sleeps for less than its budget in a window of `(T - C) + C`.
#[test]
fn a_vcpu_that_sleeps_seldom_gets_less_where_replenishments_are_joined() {
    let (budget, period) = (33, 88);
    let sleeps = [(1, 14), (104, 2), (295, 15), (316, 4), (491, 3), (586, 3), (639, 6), (822, 2)];
    for (at, _) in sleeps {
        let in_period = sleeps.iter().filter(|it| (at..at + period).contains(&it.0));
        assert!(in_period.count() <= 3);
    }
    let ends = sleeps.into_iter().flat_map(|(at, ticks)| [at, at + ticks]);
    let changes: Vec<_> = [0].into_iter().chain(ends).map(|at| (at, 0, false)).collect();
    let run = run(&[Numbers::new(Kind::Sporadic, budget, period)], &changes, &[0], 1000);
    let (start, end) = (815, 815 + period);
    let asleep = (start..end).filter(|&tick| !run.ready[0][tick as usize]).count() as u64;
    assert_eq!((run.got(0, start, end), asleep), (28, 2));
    assert!(28 + 2 < budget);
}

/// The response time of the last of these servers, if it is not more than its period
/// (vMPCP, Eq. 5).
fn response(servers: &[Numbers]) -> Option<u64> {
    let (last, above) = servers.split_last()?;
    let demand = |window: u64| {
        let preemption = |server: &Numbers| {
            let jitter = match server.kind {
                Kind::Deferrable => server.period - server.budget,
                Kind::Periodic | Kind::Sporadic => 0,
            };
            (window + jitter).div_ceil(server.period) * server.most()
        };
        last.most() + above.iter().map(preemption).sum::<u64>()
    };
    let mut response = last.most();
    while response <= last.period {
        let next = demand(response);
        if next == response {
            return Some(response);
        }
        response = next;
    }
    None
}

/// Always ready, alone, for many periods: exactly the budget in each, at the same
/// place, whatever the latency of timers: nothing drifts.
#[test]
fn a_million_periods_do_not_drift() {
    for kind in [Kind::Periodic, Kind::Deferrable, Kind::Sporadic] {
        let slots = [Numbers::new(kind, 7, 31).slot()];
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

/// A periodic server whose budget went by unused has no debt, however late that is noticed.
#[test]
fn who_did_not_run_owes_nothing() {
    for noticed in 4..30 {
        let mut cpu = Cpu::new([Numbers::new(Kind::Periodic, 4, 10).slot()]);
        assert_eq!(cpu.tick(Instant(0)).timer, Some(Instant(4)));
        cpu.tick(Instant(noticed));
        let decision = cpu.wake(0, Instant(30));
        assert_eq!(decision.timer, Some(Instant(34)), "noticed at {noticed}");
    }
}

/// The worst cases that analyses assume do occur.
#[test]
fn worst_cases_are_reached() {
    // Deferrable: the end of one period and the start of the next.
    let got = run(&[Numbers::new(Kind::Deferrable, 4, 10)], &[(6, 0, false)], &[0], 40);
    assert_eq!(got.ran[0][14] - got.ran[0][6], 8);
    // Sporadic: never, when nothing delays it ...
    let got = run(&[Numbers::new(Kind::Sporadic, 4, 10)], &[(6, 0, false)], &[0], 40);
    assert_eq!(got.ran[0][14] - got.ran[0][6], 4);
    assert_eq!(got.ran[0][20] - got.ran[0][6], 8);
    // ... but as a periodic task does, when its first budget is delayed.
    let servers = [(Kind::Deferrable, 6, 40), (Kind::Sporadic, 4, 10)];
    let servers = servers.map(|(kind, budget, period)| Numbers::new(kind, budget, period));
    let got = run(&servers, &[(0, 0, false), (0, 1, false)], &[0], 40);
    assert_eq!(got.ran[1][14] - got.ran[1][6], 8);
    // Overrun: the end of a period with all of it, and the start of the next.
    let server = Numbers { overrun: 2, ..Numbers::new(Kind::Deferrable, 4, 10) };
    let got = run(&[server], &[(4, 0, false), (4, 0, true)], &[0], 40);
    assert_eq!(got.got(0, 4, 16), 12);
    // Accesses: the end of a period and the start of the next.
    let server = Numbers { memory: Some((3, 10)), ..Numbers::new(Kind::Deferrable, 10, 10) };
    let got = run(&[server], &[(7, 0, false)], &[0], 40);
    assert_eq!(got.got(0, 7, 13), 6);
    // Periodic: budget goes by unused.
    let got = run(&[Numbers::new(Kind::Periodic, 4, 10)], &[(6, 0, false)], &[0], 40);
    assert_eq!((got.ran[0][10], got.ran[0][14]), (0, 4));
}
