//! Overrun by hand: what a server with overrun does in a section, and which there are.

use crate::events::Events;
use policy::cpu::{Cpu, Decision, Slot};
use policy::server::{Parameters, ParametersError, Policy, Server};
use policy::time::{Duration, Instant};

fn parameters(budget: u64, period: u64, overrun: u64) -> Parameters {
    Parameters {
        budget: Duration(budget),
        period: Duration(period),
        start: Instant(0),
        overrun: Duration(overrun),
    }
}

fn cpu(policy: Policy) -> Cpu<[Slot; 2]> {
    let background = Slot::new(Policy::Background).unwrap();
    let mut cpu = Cpu::new([Slot::new(policy).unwrap(), background]);
    cpu.wake(1, Instant(0));
    cpu
}

fn decision(run: usize, timer: u64) -> Decision {
    Decision { run: Some(run), timer: Some(Instant(timer)) }
}

/// The first period of `tau_2` in vMPCP's case study (figure 11): released at 1 ms, section
/// of 1.1 ms after 2 ms, VCPU (3, 10) ms. With overrun it ends at 4.1 ms. Tenths.
#[test]
fn a_section_ends_within_the_overrun() {
    let mut cpu = cpu(Policy::Deferrable(parameters(30, 100, 11)));
    assert_eq!(cpu.wake(0, Instant(10)), decision(0, 40));
    assert_eq!(cpu.enter_gcs(0, Instant(30)), decision(0, 51));
    assert_eq!(cpu.slots()[0].budget(Instant(30)), Duration(21));
    assert_eq!(cpu.leave_gcs(0, Instant(41)), decision(1, 100), "no budget any more");
    assert_eq!(cpu.tick(Instant(100)), decision(0, 130), "not paid back");
}

/// The same without overrun: the section ends in the next period.
#[test]
fn without_overrun_a_section_waits_for_the_next_period() {
    let mut cpu = cpu(Policy::Deferrable(parameters(30, 100, 0)));
    cpu.wake(0, Instant(10));
    assert_eq!(cpu.enter_gcs(0, Instant(30)), decision(0, 40));
    assert_eq!(cpu.tick(Instant(40)), decision(1, 100));
    assert_eq!(cpu.tick(Instant(100)), decision(0, 130));
}

#[test]
fn beyond_its_limit_a_section_waits() {
    for policy in [Policy::Periodic, Policy::Deferrable] {
        let mut cpu = cpu(policy(parameters(3, 10, 2)));
        cpu.wake(0, Instant(0));
        assert_eq!(cpu.enter_gcs(0, Instant(1)), decision(0, 5));
        assert_eq!(cpu.tick(Instant(5)), decision(1, 10));
        assert_eq!(cpu.stopped_in_gcs(), Some(0));
        assert_eq!(cpu.tick(Instant(6)), decision(1, 10));
        assert_eq!(cpu.stopped_in_gcs(), None, "told once");
        // Another period has another limit.
        assert_eq!(cpu.tick(Instant(10)), decision(0, 15));
    }
}

/// A lock is granted while the VCPU waits for budget (vMPCP, section III.B).
#[test]
fn only_a_deferrable_server_goes_on_for_a_section_after_it_stopped() {
    let stop = |policy: fn(Parameters) -> Policy| {
        let mut cpu = cpu(policy(parameters(3, 10, 2)));
        cpu.wake(0, Instant(0));
        assert_eq!(cpu.tick(Instant(3)), decision(1, 10));
        cpu
    };
    let mut deferrable = stop(Policy::Deferrable);
    assert_eq!(deferrable.enter_gcs(0, Instant(7)), decision(0, 9));
    assert_eq!(deferrable.leave_gcs(0, Instant(8)), decision(1, 10));
    let mut periodic = stop(Policy::Periodic);
    assert_eq!(periodic.enter_gcs(0, Instant(7)), decision(1, 10));
    assert_eq!(periodic.tick(Instant(10)), decision(0, 15), "from the next period on");
}

/// Budget of an idle periodic server goes by, overrun does not; and what went by while the
/// VCPU slept in its section was not exhausted in it.
#[test]
fn who_sleeps_in_a_section_does_not_overrun() {
    let mut cpu = cpu(Policy::Periodic(parameters(3, 10, 2)));
    cpu.wake(0, Instant(0));
    cpu.enter_gcs(0, Instant(1));
    assert_eq!(cpu.block(0, Instant(2)), decision(1, 3));
    assert_eq!(cpu.tick(Instant(3)), decision(1, 10));
    assert_eq!(cpu.wake(0, Instant(4)), decision(1, 10));
    assert_eq!(cpu.tick(Instant(10)), decision(0, 15));
    assert_eq!(cpu.block(0, Instant(14)), decision(1, 20), "stopped while it overran");
    assert_eq!(cpu.wake(0, Instant(15)), decision(1, 20));
}

/// A VCPU that was stopped late within its section owes what went beyond its limit.
#[test]
fn what_goes_beyond_the_limit_is_paid_back() {
    let mut cpu = cpu(Policy::Deferrable(parameters(4, 10, 2)));
    cpu.wake(0, Instant(0));
    cpu.enter_gcs(0, Instant(0));
    let late = cpu.tick(Instant(7));
    assert_eq!((late.run, cpu.stopped_in_gcs()), (Some(1), Some(0)));
    assert_eq!(cpu.leave_gcs(0, Instant(8)), decision(1, 10));
    assert_eq!(cpu.tick(Instant(10)), decision(0, 13), "one less");
}

#[test]
fn overrun_fits_into_the_period_of_a_server_that_has_one() {
    let error = |policy| Server::new(policy).unwrap_err();
    assert!(Server::new(Policy::Periodic(parameters(7, 10, 3))).is_ok());
    let (overrun, rest) = (Duration(4), Duration(3));
    let long = ParametersError::OverrunMoreThanPeriod { overrun, rest };
    assert_eq!(error(Policy::Periodic(parameters(7, 10, 4))), long);
    assert_eq!(error(Policy::Deferrable(parameters(7, 10, 4))), long);
    let message = "an overrun of 4 does not fit beside the budget: the period has 3 left";
    assert_eq!(long.to_string(), message);
    assert_eq!(error(Policy::Sporadic(parameters(7, 10, 1))), ParametersError::SporadicOverrun);
    assert!(Server::new(Policy::Sporadic(parameters(7, 10, 0))).is_ok());
    // A budget that is too long is told first.
    let budget = error(Policy::Deferrable(parameters(11, 10, 1)));
    assert!(matches!(budget, ParametersError::MoreThanPeriod { .. }));
}

/// One look after a long time does the same as one look after each tick.
#[test]
fn late_looks_charge_what_each_tick_would() {
    for policy in [Policy::Periodic, Policy::Deferrable] {
        for (budget, period, overrun) in [(1, 1, 0), (2, 5, 0), (2, 5, 1), (2, 5, 3), (3, 7, 2)] {
            for in_gcs in [None, Some(0), Some(3), Some(12)] {
                for until in 1..60 {
                    let charge = |step: u64| {
                        let mut server =
                            Server::new(policy(parameters(budget, period, overrun))).unwrap();
                        assert!(server.supply(Instant(0)).is_ok());
                        let mut since = 0;
                        for now in 0..=until {
                            let looks = now % step == 0 || now == until || in_gcs == Some(now);
                            if !looks {
                                continue;
                            }
                            server.charge(Instant(now), Instant(since));
                            since = now;
                            if in_gcs == Some(now) {
                                server.enter_gcs();
                            }
                        }
                        server
                    };
                    let (late, each) = (charge(1_000), charge(1));
                    let state = |server: &Server| format!("{server:?}");
                    assert_eq!(
                        state(&late),
                        state(&each),
                        "{budget} {period} {overrun} {in_gcs:?} {until}"
                    );
                }
            }
        }
    }
}
