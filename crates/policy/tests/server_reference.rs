//! The CPU with its servers against definitions that are followed tick by tick.

#[path = "suite/events.rs"]
mod events;

use events::Events;
use policy::bandwidth::{self, Account};
use policy::cpu::{Cpu, Event, Slot, fast};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;
use testing::NaiveCpu;

fn parameters() -> impl Strategy<Value = Parameters> {
    (1u64..8, 0u64..20, 0u64..10).prop_map(|(budget, rest, start)| Parameters {
        budget: Duration(budget),
        period: Duration(budget + rest),
        start: Instant(start),
        overrun: Duration::ZERO,
    })
}

/// Parameters with an overrun: in half of all cases none.
fn with_overrun() -> impl Strategy<Value = Parameters> {
    (parameters(), 0u64..12).prop_map(|(parameters, overrun)| Parameters {
        overrun: Duration(overrun.saturating_sub(6)).min(parameters.period - parameters.budget),
        ..parameters
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        with_overrun().prop_map(Policy::Periodic),
        with_overrun().prop_map(Policy::Deferrable),
        parameters().prop_map(Policy::Sporadic),
    ]
}

/// VCPUs in the order of their priority, the background class last.
fn policies() -> impl Strategy<Value = Vec<Policy>> {
    (prop::collection::vec(policy(), 1..5), 0usize..3).prop_map(|(mut policies, background)| {
        policies.extend(std::iter::repeat_n(Policy::Background, background));
        policies
    })
}

/// What changes at a VCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Change {
    /// Whether it has something to do.
    Ready,
    /// Whether a task of it is in a global critical section.
    Gcs,
    /// Nothing, but an interrupt for it takes a tick if it waits.
    Kick,
    /// Nothing, but the CPU is told again.
    Same,
}

/// At which tick what changes at which VCPU.
fn changes() -> impl Strategy<Value = Vec<(u64, usize, Change)>> {
    let change = prop_oneof![
        6 => Just(Change::Ready),
        4 => Just(Change::Gcs),
        3 => Just(Change::Kick),
        1 => Just(Change::Same),
    ];
    prop::collection::vec((1u64..12, 0usize..7, change), 0..80).prop_map(|changes| {
        let mut now = 0;
        changes.into_iter().map(|(gap, vcpu, it)| ((now += gap / 3, now).1, vcpu, it)).collect()
    })
}

const END: u64 = 400;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(15_000)))]

    /// Stands behind P3 of the safety manual.
    #[test]
    fn decisions_are_those_of_the_definitions(
        policies in policies(),
        changes in changes(),
        ceilings in any::<bool>(),
        quick in any::<bool>(),
    ) {
        compare(&policies, ceilings, &[], changes, if quick { &[0, 0] } else { &[0] })?;
    }

    #[test]
    fn decisions_with_memory_budgets_are_those_of_the_definitions(
        policies in policies(),
        limits in prop::collection::vec(prop::option::weighted(0.7, limit()), 1..5),
        changes in changes(),
        accesses in prop::collection::vec(prop_oneof![2 => Just(0u64), 3 => Just(1), 1 => 0u64..9], 1..9),
        ceilings in any::<bool>(),
    ) {
        compare(&policies, ceilings, &limits, changes, &accesses)?;
    }
}

type Limit = bandwidth::Parameters;

fn limit() -> impl Strategy<Value = Limit> {
    (1u64..7, 1u64..24, 0u64..10).prop_map(|(budget, period, start)| Limit {
        budget,
        period: Duration(period),
        start: Instant(start),
    })
}

/// The CPU and its definition, side by side, with VCPU-level ceilings or without. `limits`: memory budgets of the first VCPUs;
/// `accesses` of whoever runs, in one tick after the other.
fn compare(
    policies: &[Policy],
    ceilings: bool,
    limits: &[Option<Limit>],
    changes: Vec<(u64, usize, Change)>,
    accesses: &[u64],
) -> Result<(), TestCaseError> {
    let mut slots: Vec<_> = policies.iter().map(|&policy| Slot::new(policy).unwrap()).collect();
    let mut naive = NaiveCpu::new(policies);
    for (vcpu, limit) in limits.iter().take(slots.len()).enumerate() {
        if let Some(limit) = *limit {
            slots[vcpu] = slots[vcpu].clone().with_account(Account::own(limit).unwrap());
            naive.limit(vcpu, limit);
        }
    }
    let mut cpu = Cpu::new(slots).with_kick(Duration(1));
    if ceilings {
        cpu = cpu.with_ceilings();
        naive.ceilings = true;
    }
    let mut changes = changes.into_iter().peekable();
    let mut decision = cpu.tick(Instant(0));
    let mut made = 0;
    'ticks: for now in 0..END {
        let at = Instant(now);
        let is_due = decision.timer.is_some_and(|timer| timer.0 <= now);
        let overflow = cpu.accesses().is_some_and(|most| made >= most);
        let ran = decision.run.unwrap_or(usize::MAX);
        if is_due || overflow || changes.peek().is_some_and(|&(at, ..)| at <= now) {
            cpu.account(ran, made);
            made = 0;
        }
        if overflow {
            decision = cpu.tell(Event::Overflow(ran), at);
            prop_assert_eq!(cpu.stopped_in_gcs(), naive.stopped_in_gcs(now), "at {}", now);
        }
        while let Some((_, vcpu, change)) = changes.next_if(|&(at, ..)| at <= now) {
            let vcpu = vcpu % policies.len();
            match change {
                Change::Ready => naive.change_ready(vcpu, now),
                Change::Gcs => naive.change_gcs(vcpu, now),
                Change::Same => {}
                Change::Kick => {
                    if decision.timer.is_some_and(|timer| timer.0 <= now) {
                        cpu.tick(at);
                        prop_assert_eq!(cpu.stopped_in_gcs(), naive.stopped_in_gcs(now));
                    }
                    // Nobody else executes in the tick for which the VCPU pays.
                    let pays = naive.pays_kick(vcpu, now);
                    decision = cpu.kick(vcpu, at);
                    let later = now + u64::from(pays);
                    prop_assert_eq!(cpu.stopped_in_gcs(), naive.stopped_in_gcs(later));
                    if pays {
                        continue 'ticks;
                    }
                    continue;
                }
            }
            let slot = &cpu.slots()[vcpu];
            let inside = slot.is_in_gcs();
            // The short way, where it may be gone: the decision holds on.
            if change == Change::Gcs
                && accesses.len().is_multiple_of(2)
                && decision.timer.is_none_or(|timer| timer.0 > now)
                && fast::change_gcs(&mut cpu, vcpu, !inside, at)
            {
                continue;
            }
            let slot = &cpu.slots()[vcpu];
            decision = match (change, slot.is_ready(), slot.is_in_gcs()) {
                (Change::Ready, false, _) | (Change::Same, true, false) => cpu.wake(vcpu, at),
                (Change::Ready, true, _) | (Change::Same, false, false) => cpu.block(vcpu, at),
                (Change::Gcs, _, false) | (Change::Same, _, true) => cpu.enter_gcs(vcpu, at),
                (Change::Gcs, _, true) => cpu.leave_gcs(vcpu, at),
                (Change::Kick, ..) => unreachable!("handled above"),
            };
            prop_assert_eq!(cpu.stopped_in_gcs(), naive.stopped_in_gcs(now), "at {}", now);
        }
        if decision.timer.is_some_and(|timer| timer.0 <= now) {
            decision = cpu.tick(at);
            prop_assert_eq!(cpu.stopped_in_gcs(), naive.stopped_in_gcs(now), "at {}", now);
        }
        prop_assert!(decision.timer.is_none_or(|timer| timer.0 > now));
        let run = naive.run(now);
        prop_assert_eq!(decision.run, run, "at {}", now);
        let limit = run.and_then(|run| naive.accesses(run));
        prop_assert_eq!(cpu.accesses().map(|most| most - made), limit, "at {}", now);
        prop_assert_ne!(limit, Some(0), "at {}", now);
        if let Some(run) = run {
            let accesses = accesses[now as usize % accesses.len()];
            naive.access(run, accesses);
            made += accesses;
        }
    }
    Ok(())
}
