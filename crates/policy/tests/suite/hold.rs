//! How long a guest may be in global critical sections: whatever it does, it delays VCPUs above it no longer.

use crate::events::Events;
use policy::cpu::{Cpu, Decision, Slot, fast};
use policy::lock::hold::Hold;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

fn parameters(budget: u64, period: u64, overrun: u64) -> Parameters {
    let [budget, period, overrun] = [budget, period, overrun].map(Duration);
    Parameters { budget, period, start: Instant(0), overrun }
}

const HIGH: usize = 0;
const LOW: usize = 1;
const LIMIT: u64 = 5;

/// Two VCPUs; the lower one may be in sections for a limited time.
fn cpu(high: Policy, low: Policy) -> Cpu<Vec<Slot>> {
    let low = Slot::new(low).unwrap().with_hold(Hold::new(Duration(LIMIT)));
    Cpu::new(vec![Slot::new(high).unwrap(), low]).with_ceilings()
}

fn deferrable() -> Cpu<Vec<Slot>> {
    cpu(Policy::Deferrable(parameters(40, 100, 0)), Policy::Deferrable(parameters(40, 100, 10)))
}

fn decision(run: usize, timer: u64) -> Decision {
    Decision { run: Some(run), timer: Some(Instant(timer)) }
}

#[test]
fn a_section_that_never_ends_is_ended() {
    let mut cpu = deferrable();
    cpu.wake(LOW, Instant(0));
    assert_eq!(cpu.enter_gcs(LOW, Instant(10)), decision(LOW, 15));
    assert_eq!(cpu.wake(HIGH, Instant(12)), decision(LOW, 15), "it goes first");
    assert_eq!(cpu.ended_gcs(), None);
    assert_eq!(cpu.tick(Instant(15)), decision(HIGH, 55));
    assert!(!cpu.slots()[LOW].is_in_gcs());
    assert_eq!((cpu.ended_gcs(), cpu.ended_gcs()), (Some(LOW), None), "told once");
    // It gets no further section before it has executed outside, and then the whole time.
    assert_eq!(cpu.enter_gcs(LOW, Instant(16)).run, Some(HIGH));
    assert_eq!(cpu.ended_gcs(), Some(LOW));
    assert_eq!(cpu.block(HIGH, Instant(17)).run, Some(LOW));
    assert_eq!(cpu.enter_gcs(LOW, Instant(18)), decision(LOW, 23));
    assert_eq!(cpu.ended_gcs(), None);
}

#[test]
fn sections_in_a_row_count_together_while_it_executes_nothing_else() {
    let mut cpu = deferrable();
    cpu.wake(LOW, Instant(0));
    cpu.enter_gcs(LOW, Instant(10));
    cpu.wake(HIGH, Instant(11));
    assert_eq!(cpu.leave_gcs(LOW, Instant(13)).run, Some(HIGH), "3 of 5");
    // Another task of it gets the resource for which it waited.
    assert_eq!(cpu.enter_gcs(LOW, Instant(20)), decision(LOW, 22));
    assert_eq!(cpu.tick(Instant(22)).run, Some(HIGH));
    assert_eq!(cpu.ended_gcs(), Some(LOW));
}

#[test]
fn time_in_which_it_does_not_execute_does_not_count() {
    let mut cpu =
        cpu(Policy::Deferrable(parameters(40, 100, 0)), Policy::Deferrable(parameters(13, 100, 0)));
    cpu.wake(LOW, Instant(0));
    assert_eq!(cpu.enter_gcs(LOW, Instant(10)).timer, Some(Instant(13)), "its budget ends");
    cpu.wake(HIGH, Instant(12));
    assert_eq!(cpu.tick(Instant(13)).run, Some(HIGH));
    cpu.block(HIGH, Instant(20));
    assert_eq!(cpu.tick(Instant(100)), decision(LOW, 102), "2 of 5 are left");
    assert!(cpu.slots()[LOW].is_in_gcs());
}

#[test]
fn the_short_way_is_over_as_soon_as_somebody_is_concerned() {
    let mut cpu = deferrable();
    cpu.wake(LOW, Instant(0));
    assert!(fast::change_gcs(&mut cpu, LOW, true, Instant(10)));
    assert_eq!(cpu.wake(HIGH, Instant(12)), decision(LOW, 15));
    assert_eq!(cpu.tick(Instant(15)).run, Some(HIGH));
    assert_eq!(cpu.ended_gcs(), Some(LOW));

    // Nobody was there until it was too late.
    let mut cpu = deferrable();
    cpu.wake(LOW, Instant(0));
    assert!(fast::change_gcs(&mut cpu, LOW, true, Instant(10)));
    assert_eq!(cpu.wake(HIGH, Instant(17)).run, Some(HIGH));
    assert_eq!(cpu.ended_gcs(), Some(LOW));

    // Nobody was there at all.
    let mut cpu = deferrable();
    cpu.wake(LOW, Instant(0));
    assert!(fast::change_gcs(&mut cpu, LOW, true, Instant(10)));
    assert!(fast::change_gcs(&mut cpu, LOW, false, Instant(17)));
    assert!(fast::change_gcs(&mut cpu, LOW, true, Instant(18)));
    assert_eq!(cpu.wake(HIGH, Instant(20)), decision(LOW, 23));
}

#[test]
fn who_has_used_its_time_overruns_no_more() {
    let low = Policy::Deferrable(parameters(12, 100, 10));
    let mut cpu = cpu(Policy::Deferrable(parameters(40, 100, 0)), low);
    cpu.wake(LOW, Instant(0));
    assert_eq!(cpu.enter_gcs(LOW, Instant(10)), decision(LOW, 15), "3 beyond its budget");
    let over = cpu.tick(Instant(15));
    assert_eq!((over.run, over.timer), (None, Some(Instant(100))));
    assert_eq!(cpu.ended_gcs(), Some(LOW));
}

#[test]
fn who_waits_in_a_section_is_in_none() {
    for short in [false, true] {
        let mut cpu = deferrable();
        cpu.wake(LOW, Instant(0));
        if !short || !fast::change_gcs(&mut cpu, LOW, true, Instant(10)) {
            cpu.enter_gcs(LOW, Instant(10));
        }
        assert_eq!(cpu.block(LOW, Instant(12)).run, None);
        assert!(!cpu.slots()[LOW].is_in_gcs());
        assert_eq!((cpu.ended_gcs(), cpu.ended_gcs()), (Some(LOW), None), "told once");
        cpu.wake(HIGH, Instant(13));
        assert_eq!(cpu.wake(LOW, Instant(14)).run, Some(HIGH), "it goes before nobody");
    }
    // Who was granted a resource while it waited goes on as soon as it wakes.
    let mut cpu = deferrable();
    cpu.wake(HIGH, Instant(0));
    assert_eq!(cpu.enter_gcs(LOW, Instant(1)).run, Some(HIGH));
    assert_eq!(cpu.wake(LOW, Instant(2)), decision(LOW, 7));
    // Without a limit nobody is told.
    let server = || Slot::new(Policy::Deferrable(parameters(40, 100, 0))).unwrap();
    let mut cpu = Cpu::new(vec![server(), server()]).with_ceilings();
    cpu.wake(LOW, Instant(0));
    cpu.enter_gcs(LOW, Instant(1));
    cpu.block(LOW, Instant(2));
    assert!(cpu.slots()[LOW].is_in_gcs() && cpu.ended_gcs().is_none());
}

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
enum Step {
    HighWakes,
    HighBlocks,
    LowWakes,
    LowBlocks,
    /// If the lower one runs: a call of its guest. The short way if it may be gone.
    Enters {
        short: bool,
    },
    Leaves {
        short: bool,
    },
    /// One of its tasks gets a resource, whatever runs.
    Granted,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::HighWakes),
        Just(Step::HighBlocks),
        Just(Step::LowWakes),
        Just(Step::LowBlocks),
        any::<bool>().prop_map(|short| Step::Enters { short }),
        any::<bool>().prop_map(|short| Step::Leaves { short }),
        Just(Step::Granted),
    ]
}

proptest! {
    /// Of the time for which a VCPU above is ready, the one below takes no more than its limit until it
    /// executes outside of sections, for which the one above has to leave it the CPU; and nothing is
    /// ended earlier.
    #[test]
    fn nobody_above_is_delayed_for_longer(
        steps in proptest::collection::vec((0u64..8, step()), 1..200),
        periodic in any::<bool>(),
        overrun in 0u64..10,
    ) {
        let high = parameters(30, 50, 0);
        let high = if periodic { Policy::Periodic(high) } else { Policy::Deferrable(high) };
        let mut cpu = cpu(high, Policy::Deferrable(parameters(40, 60, overrun)));
        let mut now = 0;
        let mut decision = cpu.tick(Instant(0));
        let (mut inside, mut delay) = (0, 0);
        for (wait, step) in steps {
            for _ in 0..wait {
                // The tick from now on.
                if decision.run == Some(LOW) {
                    let in_gcs = cpu.slots()[LOW].is_in_gcs();
                    inside = if in_gcs { inside + 1 } else { 0 };
                    let waits = cpu.slots()[HIGH].is_ready()
                        && cpu.slots()[HIGH].budget(Instant(now)) > Duration::ZERO;
                    delay = if in_gcs { delay + u64::from(waits) } else { 0 };
                    prop_assert!(delay <= LIMIT, "at {now}");
                }
                now += 1;
                if decision.timer.is_some_and(|timer| timer.0 <= now) {
                    decision = cpu.tick(Instant(now));
                }
                prop_assert!(cpu.ended_gcs().is_none() || inside >= LIMIT, "at {now}");
                // It was given the CPU outside of sections, if only for no time.
                if decision.run == Some(LOW) && !cpu.slots()[LOW].is_in_gcs() {
                    (inside, delay) = (0, 0);
                }
            }
            let at = Instant(now);
            let runs = decision.run == Some(LOW);
            match step {
                Step::HighWakes => decision = cpu.wake(HIGH, at),
                Step::HighBlocks => decision = cpu.block(HIGH, at),
                Step::LowWakes => decision = cpu.wake(LOW, at),
                Step::LowBlocks => {
                    let ends = cpu.slots()[LOW].is_in_gcs();
                    decision = cpu.block(LOW, at);
                    prop_assert_eq!(cpu.ended_gcs().is_some(), ends, "at {}", now);
                }
                Step::Enters { short: true } if runs && fast::change_gcs(&mut cpu, LOW, true, at) => {}
                Step::Leaves { short: true } if runs && fast::change_gcs(&mut cpu, LOW, false, at) => {
                    inside = 0;
                }
                Step::Enters { .. } if runs => decision = cpu.enter_gcs(LOW, at),
                Step::Leaves { .. } if runs => decision = cpu.leave_gcs(LOW, at),
                Step::Enters { .. } | Step::Leaves { .. } => {}
                Step::Granted => decision = cpu.enter_gcs(LOW, at),
            }
            prop_assert!(cpu.ended_gcs().is_none() || inside >= LIMIT, "at {now}");
            if decision.run == Some(LOW) && !cpu.slots()[LOW].is_in_gcs() {
                (inside, delay) = (0, 0);
            }
        }
    }
}
