//! Lengths and points in time at the ends of their range: nothing fails, nothing stops.

use crate::events::Events;
use policy::bandwidth::{self, Account, Compensation, Grants, Pool};
use policy::cpu::{Cpu, Event, Slot, fast};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

const HALF: u64 = u64::MAX / 2;

fn extreme() -> impl Strategy<Value = u64> {
    let ends = prop_oneof![Just(0), Just(HALF), Just(u64::MAX - 40), Just(u64::MAX), any::<u64>()];
    (ends, 0u64..20).prop_map(|(end, offset)| end.saturating_add(offset))
}

fn memory() -> impl Strategy<Value = bandwidth::Parameters> {
    (extreme(), extreme(), extreme()).prop_map(|(budget, period, start)| bandwidth::Parameters {
        budget: budget.max(1),
        period: Duration(period.max(1)),
        start: Instant(start),
    })
}

/// None, an own budget, or a part of one.
fn account() -> impl Strategy<Value = Option<Account>> {
    prop_oneof![
        Just(None),
        memory().prop_map(|own| Some(Account::own(own).unwrap())),
        Just(Some(Account::shared())),
    ]
}

fn pool() -> impl Strategy<Value = Pool> {
    (memory(), extreme(), any::<u32>(), any::<u64>()).prop_map(|(budget, cpus, periods, sides)| {
        let compensation = Compensation::new(periods.max(1), sides).unwrap();
        Pool::new(budget, cpus).unwrap().with_compensation(compensation)
    })
}

fn slot() -> impl Strategy<Value = Slot> {
    let kind = 0..3;
    (kind, extreme(), extreme(), extreme(), extreme()).prop_map(
        |(kind, budget, period, start, overrun)| {
            let (period, start) = (Duration(period.max(1)), Instant(start));
            let budget = Duration(budget.max(1)).min(period);
            let overrun = if kind == 2 { Duration::ZERO } else { Duration(overrun) };
            let overrun = overrun.min(period - budget);
            let parameters = Parameters { budget, period, start, overrun };
            let policy = match kind {
                0 => Policy::Periodic(parameters),
                1 => Policy::Deferrable(parameters),
                _ => Policy::Sporadic(parameters),
            };
            Slot::new(policy).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(2_000)))]

    #[test]
    fn every_time_has_a_decision(
        slots in prop::collection::vec((slot(), account()), 1..4),
        mut pool in pool(),
        events in prop::collection::vec((extreme(), 0u8..8, 0usize..4, extreme()), 1..30),
    ) {
        let mut times: Vec<_> = events.iter().map(|&(time, ..)| time).collect();
        let slots = slots.into_iter().map(|(slot, account)| match account {
            Some(account) => slot.with_account(account),
            None => slot,
        });
        let slots: Vec<_> = slots.collect();
        times.sort_unstable();
        let mut cpu = Cpu::new(slots);
        for (time, (_, event, vcpu, accesses)) in times.into_iter().zip(events) {
            let now = Instant(time);
            cpu.account(vcpu, accesses);
            let grants: &mut dyn Grants = &mut pool;
            let decision = match event {
                0 | 1 => cpu.step(Event::Wake(vcpu), now, grants),
                2 => cpu.step(Event::Block(vcpu), now, grants),
                3 => cpu.step(Event::EnterGcs(vcpu), now, grants),
                4 => cpu.step(Event::LeaveGcs(vcpu), now, grants),
                5 => cpu.step(Event::Overflow(vcpu), now, grants),
                _ => cpu.step(Event::Tick, now, grants),
            };
            match event {
                6 => pool.report(vcpu as u32, accesses, now),
                7 => pool.flush(now),
                _ => {}
            }
            prop_assert_ne!(cpu.accesses(), Some(0));
            prop_assert!(decision.run.is_none_or(|vcpu| cpu.slots()[vcpu].is_ready()));
            let next = decision.timer.is_none_or(|timer| timer > now || timer.0 == u64::MAX);
            prop_assert!(next, "{:?} at {}", decision, time);
        }
    }
}

/// The largest budget for a VCPU alone on its CPU, used up at once.
#[test]
fn the_largest_budget_can_be_used_up() {
    let period = Duration(10);
    let parameters = bandwidth::Parameters { budget: u64::MAX, period, start: Instant(0) };
    let slot = Slot::new(Policy::Background).unwrap();
    let mut cpu = Cpu::new([slot.with_account(Account::own(parameters).unwrap())]);
    assert_eq!(cpu.wake(0, Instant(0)).run, Some(0));
    let most = cpu.accesses().unwrap();
    assert_eq!(most, (1 << 62) - 1);
    assert!(!fast::stop_alone(&mut cpu, u64::MAX, Instant(1)), "a debt of more than a budget");
    assert!(fast::stop_alone(&mut cpu, most, Instant(1)));
    assert_eq!(fast::resume_alone(&mut cpu, Instant(10)), Some((most, Instant(20))));
}

/// More than half of all of time without a decision: no renewal may stay behind, because the timer would be set to the past.
#[test]
fn the_next_renewal_is_never_in_the_past() {
    for policy in [Policy::Periodic, Policy::Deferrable] {
        for overrun in [0, 1] {
            let parameters = Parameters {
                budget: Duration(1),
                period: Duration(15),
                start: Instant(16),
                overrun: Duration(overrun),
            };
            let mut cpu = Cpu::new([Slot::new(policy(parameters)).unwrap()]);
            // The VCPU has executed without a decision for so long that it has no budget for longer.
            for now in [16, u64::MAX / 20, u64::MAX - 40].map(Instant) {
                let decision = cpu.wake(0, now);
                assert!(decision.timer.is_some_and(|timer| timer > now), "{now:?}: {decision:?}");
            }
        }
    }
}

/// The longest time that can pass, with as many renewals in it as there can be.
#[test]
fn all_of_time_is_one_step() {
    for policy in [Policy::Periodic, Policy::Deferrable, Policy::Sporadic] {
        for (period, debt) in [(1, false), (2, true)] {
            let parameters = Parameters {
                budget: Duration(1),
                period: Duration(period),
                start: Instant(0),
                overrun: Duration::ZERO,
            };
            let now = Instant(HALF - HALF % period);
            let slot = || Slot::new(policy(parameters)).unwrap();
            let mut idle = Cpu::new([slot()]);
            idle.tick(Instant(0));
            assert_eq!(idle.wake(0, now).run, Some(0));
            // Who was not stopped for so long has a debt, unless all of the CPU is its own.
            let mut ran = Cpu::new([slot()]);
            assert_eq!(ran.wake(0, Instant(0)).run, Some(0));
            assert_eq!(ran.tick(now).run.is_none(), debt);
        }
    }
}
