//! The simulator and the hypervisor tell a CPU what happens in different ways. The decisions are the same.

mod cpus;

use cpus::{Drawn, Happens, drawn, happenings};
use policy::bandwidth::{Grants, Pool};
use policy::cpu::{Cpu, Decision, Event, Slot};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

#[derive(Clone)]
struct Driven {
    cpu: Cpu<Vec<Slot>>,
    pool: Pool,
    decision: Decision,
}

impl Driven {
    fn new(drawn: &Drawn) -> Self {
        let (cpu, pool) = (drawn.cpu.clone(), drawn.pool.clone());
        Self { cpu, pool, decision: Decision::default() }
    }

    fn account(&mut self, accesses: u64) {
        if let Some(run) = self.decision.run {
            self.cpu.account(run, accesses);
        }
    }

    /// As the simulator: accesses first, then one call.
    fn simulated(&mut self, event: Result<Event, (usize, bool)>, accesses: u64, now: Instant) {
        self.account(accesses);
        let grants: &mut dyn Grants = &mut self.pool;
        self.decision = match event {
            Ok(event) => self.cpu.decide_with(event, now, grants),
            Err((vcpu, inside)) => self.cpu.change_gcs_with(vcpu, inside, now, grants),
        };
    }

    /// As the hypervisor: sections are noted first, then there is a tick, before which it tells of
    /// accesses. CPUs without memory budgets have a path of their own.
    fn executed(
        &mut self,
        event: Result<Event, (usize, bool)>,
        accesses: u64,
        now: Instant,
        regulated: bool,
    ) {
        let event = event.unwrap_or_else(|(vcpu, inside)| {
            self.cpu.note_gcs(vcpu, inside, now);
            Event::Tick
        });
        self.decision = if regulated {
            self.account(accesses);
            self.cpu.decide_with(event, now, &mut self.pool)
        } else {
            self.cpu.decide_unregulated(event, now)
        };
    }

    fn state(&mut self) -> impl PartialEq + std::fmt::Debug {
        let stopped: Vec<_> = std::iter::from_fn(|| self.cpu.take_stopped()).collect();
        let overheld: Vec<_> = std::iter::from_fn(|| self.cpu.take_overheld()).collect();
        let state = (self.cpu.budget(), self.cpu.accesses());
        (self.decision, stopped, overheld, state, format!("{:?}", self.cpu.slots()))
    }
}

fn event(happens: Happens, run: Option<usize>, vcpus: usize) -> Result<Event, (usize, bool)> {
    match happens {
        Happens::Wakes(vcpu) => Ok(Event::Wake(vcpu % vcpus)),
        Happens::Blocks(vcpu) => Ok(Event::Block(vcpu % vcpus)),
        Happens::Overflows => Ok(run.map_or(Event::Tick, Event::Overflow)),
        Happens::Nothing | Happens::Executes => Ok(Event::Tick),
        Happens::Enters(vcpu) => Err((vcpu % vcpus, true)),
        Happens::Leaves(vcpu) => Err((vcpu % vcpus, false)),
    }
}

fn compare(drawn: &Drawn, steps: Vec<(u64, u64, Happens)>) -> Result<(), TestCaseError> {
    let (mut simulated, mut executed) = (Driven::new(drawn), Driven::new(drawn));
    let mut now = 0;
    for (gap, accesses, happens) in steps {
        now += gap;
        let at = Instant(now);
        if happens == Happens::Executes {
            simulated.cpu.enter(at);
            executed.cpu.enter(at);
            continue;
        }
        let event = event(happens, simulated.decision.run, drawn.vcpus);
        simulated.simulated(event, accesses, at);
        executed.executed(event, accesses, at, drawn.regulated);
        prop_assert_eq!(simulated.state(), executed.state(), "{:?} at {}", happens, now);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_ways_lead_to_the_same(drawn in drawn(false, true), steps in happenings()) {
        compare(&drawn, steps)?;
    }

    #[test]
    fn both_ways_lead_to_the_same_with_memory_budgets(drawn in drawn(true, true), steps in happenings()) {
        compare(&drawn, steps)?;
    }

    /// When a VCPU that waits gets a resource, the simulator tells that the VCPU wakes and then that it is in a
    /// section, the hypervisor the other way round. That is the same for a VCPU without a memory budget that pays nothing for
    /// its wait and may be in sections for as long as it likes. Otherwise there is one decision more in between: what the
    /// VCPU owes is taken from its budget at the event after the one with which it wakes; a VCPU that
    /// is outside of sections until the second event begins to count anew; and another one may take accesses.
    #[test]
    fn a_grant_may_come_before_the_wake(drawn in drawn(false, false), steps in happenings()) {
        let mut driven = Driven::new(&drawn);
        driven.cpu = driven.cpu.with_wait(Duration::ZERO);
        let mut now = 0;
        for (gap, accesses, happens) in steps {
            now += gap;
            let at = Instant(now);
            if let Happens::Wakes(vcpu) = happens
                && let vcpu = vcpu % drawn.vcpus
                && let slot = &driven.cpu.slots()[vcpu]
                && !slot.is_ready()
                && !slot.is_in_gcs()
            {
                let [mut wakes_first, mut enters_first] = [driven.clone(), driven.clone()];
                wakes_first.simulated(Ok(Event::Wake(vcpu)), accesses, at);
                wakes_first.simulated(Err((vcpu, true)), 0, at);
                enters_first.simulated(Err((vcpu, true)), accesses, at);
                enters_first.simulated(Ok(Event::Wake(vcpu)), 0, at);
                let outcome = |driven: &mut Driven| (driven.decision, driven.cpu.budget(), driven.cpu.accesses());
                prop_assert_eq!(outcome(&mut wakes_first), outcome(&mut enters_first), "{} at {}", vcpu, now);
            }
            driven.simulated(event(happens, driven.decision.run, drawn.vcpus), accesses, at);
        }
    }
}
