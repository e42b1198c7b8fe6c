//! Lengths and points in time at the ends of their range: nothing fails, nothing stops.

use policy::cpu::{Cpu, Slot};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

const HALF: u64 = u64::MAX / 2;

fn extreme() -> impl Strategy<Value = u64> {
    let ends = prop_oneof![Just(0), Just(HALF), Just(u64::MAX - 40), Just(u64::MAX), any::<u64>()];
    (ends, 0u64..20).prop_map(|(end, offset)| end.saturating_add(offset))
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
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_time_has_a_decision(
        slots in prop::collection::vec(slot(), 1..4),
        events in prop::collection::vec((extreme(), 0u8..5, 0usize..4), 1..30),
    ) {
        let mut times: Vec<_> = events.iter().map(|&(time, ..)| time).collect();
        times.sort_unstable();
        let mut cpu = Cpu::new(slots);
        for (time, (_, event, vcpu)) in times.into_iter().zip(events) {
            let now = Instant(time);
            let decision = match event {
                0 => cpu.wake(vcpu, now),
                1 => cpu.block(vcpu, now),
                2 => cpu.start_gcs(vcpu, now),
                3 => cpu.finish_gcs(vcpu, now),
                _ => cpu.tick(now),
            };
            prop_assert!(decision.run.is_none_or(|vcpu| cpu.slots()[vcpu].is_ready()));
            let next = decision.timer.is_none_or(|timer| timer > now || timer.0 == u64::MAX);
            prop_assert!(next, "{:?} at {}", decision, time);
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
