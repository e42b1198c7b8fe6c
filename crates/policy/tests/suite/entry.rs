//! The VCPU that is to run is charged from its first instruction on.

use policy::cpu::{Cpu, Slot};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};

use crate::events::Events;

const SWITCH: u64 = 80;

fn slot(budget: u64) -> Slot {
    let parameters = Parameters {
        budget: Duration(budget),
        period: Duration(1_000),
        start: Instant(0),
        overrun: Duration::ZERO,
    };
    Slot::new(Policy::Deferrable(parameters)).unwrap()
}

/// When the budget of the second VCPU ends, if it is entered at this time after the first one blocked at 20.
fn end_of_budget(entered: Option<u64>) -> Option<Instant> {
    let mut cpu = Cpu::new([slot(300), slot(100)]).with_switch(Duration(SWITCH));
    cpu.wake(1, Instant(0));
    cpu.wake(0, Instant(0));
    assert_eq!(cpu.block(0, Instant(20)).run, Some(1));
    if let Some(now) = entered {
        cpu.enter(Instant(now));
    }
    cpu.tick(Instant(150)).timer
}

#[test]
fn a_vcpu_pays_from_an_eighth_of_a_switch_after_its_entry_on() {
    let after = |start: u64| Some(Instant(start + 100));
    assert_eq!(end_of_budget(None), after(20 + SWITCH), "the one that blocked pays for the switch");
    assert_eq!(end_of_budget(Some(50)), after(50 + SWITCH / 8));
    assert_eq!(end_of_budget(Some(99)), after(20 + SWITCH), "not later than that");
}
