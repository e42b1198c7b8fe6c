//! The CPU with its servers against definitions that are followed tick by tick.

#[path = "server/naive.rs"]
mod naive;

use naive::NaiveCpu;
use policy::cpu::{Cpu, Slot};
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

fn parameters() -> impl Strategy<Value = Parameters> {
    (1u64..8, 0u64..20, 0u64..10).prop_map(|(budget, rest, start)| Parameters {
        budget: Duration(budget),
        period: Duration(budget + rest),
        start: Instant(start),
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        parameters().prop_map(Policy::Periodic),
        parameters().prop_map(Policy::Deferrable),
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

/// At which tick which VCPU changes between having something to do and not.
fn changes() -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec((1u64..12, 0usize..7), 0..60).prop_map(|changes| {
        let mut now = 0;
        changes.into_iter().map(|(gap, vcpu)| ((now += gap / 3, now).1, vcpu)).collect()
    })
}

const END: u64 = 400;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30_000))]

    #[test]
    fn decisions_are_those_of_the_definitions(policies in policies(), changes in changes()) {
        let slots: Vec<_> = policies.iter().map(|&policy| Slot::new(policy).unwrap()).collect();
        let (mut cpu, mut naive) = (Cpu::new(slots), NaiveCpu::new(&policies));
        let mut changes = changes.into_iter().peekable();
        let mut decision = cpu.tick(Instant(0));
        for now in 0..END {
            while let Some((_, vcpu)) = changes.next_if(|&(at, _)| at == now) {
                let vcpu = vcpu % policies.len();
                naive.ready[vcpu] = !naive.ready[vcpu];
                if naive.ready[vcpu] {
                    naive.servers[vcpu].wake(now);
                    decision = cpu.wake(vcpu, Instant(now));
                } else {
                    decision = cpu.block(vcpu, Instant(now));
                }
            }
            if decision.timer.is_some_and(|timer| timer.0 <= now) {
                decision = cpu.tick(Instant(now));
            }
            prop_assert!(decision.timer.is_none_or(|timer| timer.0 > now));
            prop_assert_eq!(decision.run, naive.run(now), "at {}", now);
        }
    }
}
