//! XvIso, Fig. 4: the transitions of a VCPU with a memory budget, each by hand. (The text of the
//! paper does not describe transition 4; a VCPU of its hypervisor becomes ready again in it.)

use crate::events::Events;
use policy::bandwidth::{Account, Parameters, ParametersError};
use policy::cpu::{Cpu, Decision, Event, Slot, WHOLE_CPU};
use policy::server::{self, Policy};
use policy::time::{Duration, Instant};

const HIGH: usize = 0;
const REGULATED: usize = 1;
const LOW: usize = 2;

/// 100 accesses in each period of 50, from `start` on.
fn account(start: u64) -> Account {
    let (period, start) = (Duration(50), Instant(start));
    Account::own(Parameters { budget: 100, period, start }).unwrap()
}

/// A VCPU with a memory budget between two without.
fn cpu(start: u64) -> Cpu<[Slot; 3]> {
    let slot = |policy| Slot::new(policy).unwrap();
    let regulated = slot(WHOLE_CPU).with_account(account(start));
    Cpu::new([slot(WHOLE_CPU), regulated, slot(Policy::Background)])
}

fn run(decision: Decision) -> (Option<usize>, Option<u64>) {
    (decision.run, decision.timer.map(|timer| timer.0))
}

/// What it runs, when it wants to be told that time has passed, and how many accesses there
/// may be until then.
fn state(decision: Decision, cpu: &Cpu<[Slot; 3]>) -> (Option<usize>, Option<u64>, Option<u64>) {
    (decision.run, decision.timer.map(|timer| timer.0), cpu.accesses())
}

#[test]
fn transition_1_created_with_its_parameters() {
    let cpu = cpu(7);
    let slot = &cpu.slots()[REGULATED];
    assert!(!slot.is_ready() && !slot.recharges());
    assert_eq!(slot.account().map(Account::accesses), Some(0), "the first period has not begun");
    let error = |budget, period| {
        let period = Duration(period);
        Account::own(Parameters { budget, period, start: Instant(0) }).unwrap_err()
    };
    assert_eq!(error(0, 50), ParametersError::NoBudget);
    assert_eq!(error(100, 0), ParametersError::NoPeriod);
    assert_eq!(error(0, 0).to_string(), "a budget of 0 memory accesses lets nothing run");
}

#[test]
fn transition_2_deactivated_needs_no_timer() {
    let mut cpu = cpu(0);
    cpu.wake(REGULATED, Instant(3));
    cpu.account(REGULATED, 40);
    assert_eq!(state(cpu.block(REGULATED, Instant(10)), &cpu), (None, None, None));
    // Also while it waits for accesses.
    cpu.wake(REGULATED, Instant(20));
    cpu.account(REGULATED, 60);
    assert_eq!(run(cpu.tell(Event::Overflow(REGULATED), Instant(30))), (None, Some(50)));
    assert_eq!(run(cpu.block(REGULATED, Instant(40))), (None, None));
    assert!(!cpu.slots()[REGULATED].recharges());
    assert_eq!(run(cpu.tick(Instant(50))), (None, None), "nobody asks");
}

#[test]
fn transition_3_eligible_starts_the_timer_of_absolute_periods() {
    let mut cpu = cpu(7);
    let started = cpu.wake(REGULATED, Instant(0));
    assert_eq!(state(started, &cpu), (None, Some(7), None), "before the first period");
    assert_eq!(state(cpu.tick(Instant(7)), &cpu), (Some(REGULATED), Some(57), Some(100)));
    cpu.block(REGULATED, Instant(8));
    // Not from when it is eligible on.
    let started = cpu.wake(REGULATED, Instant(130));
    assert_eq!(state(started, &cpu), (Some(REGULATED), Some(157), Some(100)));
}

#[test]
fn transition_4_ready_again_with_what_was_left() {
    let mut cpu = cpu(0);
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 30);
    cpu.block(REGULATED, Instant(10));
    assert_eq!(
        state(cpu.wake(REGULATED, Instant(49)), &cpu),
        (Some(REGULATED), Some(50), Some(70))
    );
    cpu.account(REGULATED, 0);
    cpu.block(REGULATED, Instant(49));
    let next_period = cpu.wake(REGULATED, Instant(50));
    assert_eq!(
        state(next_period, &cpu),
        (Some(REGULATED), Some(100), Some(100)),
        "no more than that"
    );
}

#[test]
fn transitions_5_and_6_preempted_it_keeps_its_budget() {
    let mut cpu = cpu(0);
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 30);
    assert_eq!(state(cpu.wake(HIGH, Instant(10)), &cpu), (Some(HIGH), None, None), "saved");
    let again = cpu.block(HIGH, Instant(20));
    assert_eq!(state(again, &cpu), (Some(REGULATED), Some(50), Some(70)), "restored");
    cpu.account(REGULATED, 30);
    cpu.wake(HIGH, Instant(30));
    let later = cpu.block(HIGH, Instant(60));
    assert_eq!(state(later, &cpu), (Some(REGULATED), Some(100), Some(100)), "renewed meanwhile");
}

#[test]
fn transition_7_overflow_lets_others_run() {
    let mut cpu = cpu(0);
    cpu.wake(LOW, Instant(0));
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 100);
    let overflow = cpu.tell(Event::Overflow(REGULATED), Instant(20));
    assert_eq!(state(overflow, &cpu), (Some(LOW), Some(50), None), "no limit for others");
    let slot = &cpu.slots()[REGULATED];
    assert!(slot.is_ready() && slot.recharges());
    assert_eq!(run(cpu.tick(Instant(49))), (Some(LOW), Some(50)), "not before");
}

#[test]
fn transition_8_recharged_it_is_ready() {
    let mut cpu = cpu(0);
    cpu.wake(LOW, Instant(0));
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 100);
    cpu.tell(Event::Overflow(REGULATED), Instant(20));
    assert_eq!(state(cpu.tick(Instant(50)), &cpu), (Some(REGULATED), Some(100), Some(100)));
    assert!(!cpu.slots()[REGULATED].recharges());
    // Ready, not running, if something else has a higher priority.
    cpu.account(REGULATED, 100);
    cpu.tell(Event::Overflow(REGULATED), Instant(60));
    assert_eq!(run(cpu.wake(HIGH, Instant(70))), (Some(HIGH), None), "no interrupt for nothing");
    assert_eq!(state(cpu.block(HIGH, Instant(110)), &cpu), (Some(REGULATED), Some(150), Some(100)));
}

/// Accesses are counted by hardware: nothing has to be told but the end of a period.
#[test]
fn transition_9_running_is_renewed_in_each_period() {
    let mut cpu = cpu(0);
    cpu.wake(REGULATED, Instant(0));
    for period in 1..10 {
        cpu.account(REGULATED, 99);
        let next = cpu.tick(Instant(50 * period));
        assert_eq!(state(next, &cpu), (Some(REGULATED), Some(50 * period + 50), Some(100)));
    }
}

#[test]
fn a_vcpu_that_was_preempted_with_nothing_left_waits_when_it_would_run() {
    let mut cpu = cpu(0);
    cpu.wake(LOW, Instant(0));
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 100);
    cpu.wake(HIGH, Instant(20));
    assert!(!cpu.slots()[REGULATED].recharges(), "it is ready");
    assert_eq!(run(cpu.block(HIGH, Instant(30))), (Some(LOW), Some(50)));
    assert!(cpu.slots()[REGULATED].recharges());
}

#[test]
fn overflow_when_the_period_ends_costs_nothing_of_the_next() {
    let mut cpu = cpu(0);
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 100);
    let both = cpu.tell(Event::Overflow(REGULATED), Instant(50));
    assert_eq!(state(both, &cpu), (Some(REGULATED), Some(100), Some(100)));
}

#[test]
fn accesses_beyond_the_budget_are_paid_back() {
    let mut cpu = cpu(0);
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 103);
    cpu.tell(Event::Overflow(REGULATED), Instant(20));
    assert_eq!(state(cpu.tick(Instant(50)), &cpu), (Some(REGULATED), Some(100), Some(97)));
    // More than a period can pay: it waits for as many periods as that takes.
    cpu.account(REGULATED, 97 + 250);
    assert_eq!(run(cpu.tell(Event::Overflow(REGULATED), Instant(60))), (None, Some(200)));
    assert_eq!(state(cpu.tick(Instant(200)), &cpu), (Some(REGULATED), Some(250), Some(50)));
    // Just what two periods pay.
    cpu.account(REGULATED, 50 + 200);
    assert_eq!(run(cpu.tell(Event::Overflow(REGULATED), Instant(210))), (None, Some(350)));
    assert_eq!(state(cpu.tick(Instant(350)), &cpu), (Some(REGULATED), Some(400), Some(100)));
}

#[test]
fn a_late_timer_moves_no_period() {
    let mut cpu = cpu(0);
    cpu.wake(REGULATED, Instant(0));
    cpu.account(REGULATED, 100);
    cpu.tell(Event::Overflow(REGULATED), Instant(20));
    assert_eq!(state(cpu.tick(Instant(64)), &cpu), (Some(REGULATED), Some(100), Some(100)));
    // Late by more than a period: what was not granted is not made up for.
    cpu.account(REGULATED, 100);
    cpu.tell(Event::Overflow(REGULATED), Instant(70));
    assert_eq!(state(cpu.tick(Instant(430)), &cpu), (Some(REGULATED), Some(450), Some(100)));
}

/// Always busy, for many periods, stopped and started again more or less late: the budget in each,
/// at the same place.
#[test]
fn a_million_periods_do_not_drift() {
    let mut cpu = cpu(7);
    let mut decision = cpu.wake(REGULATED, Instant(0));
    let mut made = 0;
    for period in 0..1_000_000u64 {
        let start = 7 + 50 * period;
        assert_eq!(run(decision).1, Some(start));
        decision = cpu.tick(Instant(start + period % 5));
        let overshoot = period % 3;
        let accesses = cpu.accesses().unwrap() + overshoot;
        assert_eq!(decision.run, Some(REGULATED));
        made += accesses;
        cpu.account(REGULATED, accesses);
        decision = cpu.tell(Event::Overflow(REGULATED), Instant(start + 10 + period % 7));
    }
    assert_eq!(made, 100 * 1_000_000, "nothing was owed in the end");
}

fn parameters(budget: u64, period: u64) -> server::Parameters {
    let (budget, period) = (Duration(budget), Duration(period));
    server::Parameters { budget, period, start: Instant(0), overrun: Duration::ZERO }
}

/// The VCPU with both budgets above one with processor time and one of the background.
fn with_server(policy: Policy) -> Cpu<[Slot; 3]> {
    let slot = |policy| Slot::new(policy).unwrap();
    let below = slot(Policy::Deferrable(parameters(30, 100)));
    let mut cpu =
        Cpu::new([slot(policy).with_account(account(0)), below, slot(Policy::Background)]);
    for vcpu in 0..3 {
        cpu.wake(vcpu, Instant(0));
    }
    cpu
}

/// A periodic server has no jitter for those below it, also when its VCPU waits for accesses:
/// only the background goes on.
#[test]
fn the_budget_of_a_periodic_server_goes_by_in_recharge() {
    let mut cpu = with_server(Policy::Periodic(parameters(40, 100)));
    assert_eq!(state(cpu.tick(Instant(0)), &cpu), (Some(0), Some(40), Some(100)));
    cpu.account(0, 100);
    assert_eq!(run(cpu.tell(Event::Overflow(0), Instant(10))), (Some(2), Some(40)));
    assert_eq!(run(cpu.tick(Instant(40))), (Some(1), Some(70)), "it is used up");
    assert_eq!(run(cpu.tick(Instant(70))), (Some(2), Some(100)));
    // Processor time is left when the accesses come.
    assert_eq!(state(cpu.tick(Instant(100)), &cpu), (Some(0), Some(140), Some(100)));
    cpu.account(0, 100);
    assert_eq!(run(cpu.tell(Event::Overflow(0), Instant(110))), (Some(2), Some(140)));
}

#[test]
fn the_budget_of_a_deferrable_server_is_kept_in_recharge() {
    let mut cpu = with_server(Policy::Deferrable(parameters(40, 100)));
    cpu.account(0, 100);
    assert_eq!(run(cpu.tell(Event::Overflow(0), Instant(10))), (Some(1), Some(40)));
    assert_eq!(run(cpu.tick(Instant(40))), (Some(2), Some(50)), "the other's is used up");
    assert_eq!(state(cpu.tick(Instant(50)), &cpu), (Some(0), Some(80), Some(100)), "30 are left");
}

#[test]
fn the_budget_of_a_sporadic_server_counts_from_the_replenishment_on() {
    let mut cpu = with_server(Policy::Sporadic(parameters(40, 100)));
    cpu.account(0, 100);
    assert_eq!(run(cpu.tell(Event::Overflow(0), Instant(10))), (Some(1), Some(40)));
    assert_eq!(run(cpu.tick(Instant(40))), (Some(2), Some(50)));
    assert_eq!(state(cpu.tick(Instant(50)), &cpu), (Some(0), Some(80), Some(100)));
    // 10 that were used at 0 come back at 100, 30 that could be used at 50 at 150.
    assert_eq!(run(cpu.tick(Instant(80))), (Some(2), Some(100)));
    assert_eq!(run(cpu.tick(Instant(100))), (Some(0), Some(110)));
    assert_eq!(run(cpu.tick(Instant(110))), (Some(1), Some(140)));
    assert_eq!(run(cpu.tick(Instant(150))), (Some(0), Some(180)));
}

/// Both are needed: whichever comes first, it waits for the other.
#[test]
fn both_budgets_end_at_once() {
    let mut cpu = with_server(Policy::Deferrable(parameters(40, 100)));
    cpu.account(0, 100);
    assert_eq!(run(cpu.tell(Event::Overflow(0), Instant(40))), (Some(1), Some(70)));
    assert_eq!(run(cpu.tick(Instant(50))), (Some(1), Some(70)), "accesses, but no time");
    assert_eq!(run(cpu.tick(Instant(70))), (Some(2), Some(100)));
    assert_eq!(state(cpu.tick(Instant(100)), &cpu), (Some(0), Some(140), Some(100)));
}

/// Stopped and started again, or just asleep: the period has had its accesses.
#[test]
fn who_sleeps_in_recharge_wakes_in_recharge() {
    let mut cpu = with_server(Policy::Deferrable(parameters(40, 100)));
    cpu.account(0, 100);
    cpu.tell(Event::Overflow(0), Instant(10));
    assert_eq!(run(cpu.block(0, Instant(15))), (Some(1), Some(40)));
    assert_eq!(run(cpu.wake(0, Instant(20))), (Some(1), Some(40)));
    assert!(cpu.slots()[0].recharges());
    cpu.block(0, Instant(25));
    assert_eq!(state(cpu.wake(0, Instant(50)), &cpu), (Some(0), Some(80), Some(100)));
}

/// What waits for accesses executes nothing, so it is in no section that could overrun.
#[test]
fn nobody_overruns_in_recharge() {
    let overrun = server::Parameters { overrun: Duration(5), ..parameters(40, 100) };
    let mut deferrable = with_server(Policy::Deferrable(overrun));
    assert_eq!(run(deferrable.enter_gcs(0, Instant(0))), (Some(0), Some(45)));
    deferrable.account(0, 100);
    deferrable.tell(Event::Overflow(0), Instant(10));
    assert_eq!(run(deferrable.tick(Instant(50))), (Some(0), Some(85)), "35 are left, as before");
    let mut periodic = with_server(Policy::Periodic(overrun));
    assert_eq!(run(periodic.enter_gcs(0, Instant(0))), (Some(0), Some(45)));
    periodic.account(0, 100);
    assert_eq!(run(periodic.tell(Event::Overflow(0), Instant(10))), (Some(2), Some(40)));
    assert_eq!(run(periodic.tick(Instant(50))), (Some(1), Some(80)), "its budget went by");
}

#[test]
fn accesses_of_others_are_not_counted() {
    let mut cpu = cpu(0);
    cpu.wake(HIGH, Instant(0));
    cpu.account(HIGH, u64::MAX);
    cpu.account(9, u64::MAX);
    assert_eq!(state(cpu.tick(Instant(1)), &cpu), (Some(HIGH), None, None));
}
