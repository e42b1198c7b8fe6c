//! A VCPU with a memory budget alone on its CPU: decided in fewer steps, but the same.

use policy::bandwidth::{Account, Parameters, Pool};
use policy::cpu::{Cpu, Event, Slot, fast};
use policy::server::Policy;
use policy::time::{Duration, Instant};
use proptest::prelude::*;

/// A CPU, and the budget of the VM in case the VCPU has none of its own.
struct Machine {
    cpu: Cpu<Vec<Slot>>,
    pool: Pool,
    /// When it wants to be told that time has passed.
    timer: Option<Instant>,
    /// How often it got along without a decision.
    shortcuts: u64,
}

/// What runs, until when, and how many accesses it may make.
type Outcome = (Option<usize>, Option<Instant>, Option<u64>);

impl Machine {
    /// `others`: VCPUs besides, which never have anything to do.
    fn new(parameters: Parameters, shared: bool, others: usize) -> Self {
        let account = match shared {
            true => Account::shared(),
            false => Account::own(parameters).unwrap(),
        };
        let idle = || Slot::new(Policy::Background).unwrap();
        let mut slots = vec![idle().with_account(account)];
        slots.extend((0..others).map(|_| idle()));
        let pool = Pool::new(parameters, 2).unwrap();
        Self { cpu: Cpu::new(slots), pool, timer: None, shortcuts: 0 }
    }

    fn decide(&mut self, accesses: u64, event: Event, now: u64) -> Outcome {
        self.cpu.account(0, accesses);
        let decision = self.cpu.step(event, Instant(now), &mut self.pool);
        self.timer = decision.timer;
        (decision.run, decision.timer, self.cpu.accesses())
    }

    /// The same, without a decision if that is possible.
    fn get_along(&mut self, accesses: u64, event: Event, now: u64) -> Outcome {
        let limit = self.cpu.accesses();
        let outcome = match event {
            Event::Overflow(0) if limit.is_some_and(|limit| accesses >= limit) => {
                let stops = fast::stop_alone(&mut self.cpu, accesses, Instant(now));
                stops.then_some((None, self.timer, None))
            }
            Event::Tick if limit.is_none() => {
                let resumed = fast::resume_alone(&mut self.cpu, Instant(now));
                resumed.map(|(accesses, until)| (Some(0), Some(until), Some(accesses)))
            }
            _ => None,
        };
        let Some(outcome) = outcome else { return self.decide(accesses, event, now) };
        self.timer = outcome.1;
        self.shortcuts += 1;
        outcome
    }

    fn state(&self) -> (bool, bool, Duration) {
        let slot = &self.cpu.slots()[0];
        (slot.is_ready(), slot.recharges(), self.cpu.budget())
    }
}

#[test]
fn a_budget_that_is_used_up_and_renewed_takes_no_decision() {
    let parameters = Parameters { budget: 50, period: Duration(20), start: Instant(100) };
    let mut machine = Machine::new(parameters, false, 0);
    machine.get_along(0, Event::Wake(0), 0);
    let runs = |until, accesses| (Some(0), Some(Instant(until)), Some(accesses));
    assert_eq!(machine.get_along(0, Event::Tick, 100), runs(120, 50));
    let stopped = (None, Some(Instant(120)), None);
    assert_eq!(machine.get_along(53, Event::Overflow(0), 110), stopped);
    assert_eq!(machine.get_along(0, Event::Tick, 121), runs(140, 47), "the debt is paid");
    assert_eq!(machine.shortcuts, 3);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Wake,
    Block,
    Tick,
    Overflow,
    /// Another CPU of the VM takes from its budget.
    Elsewhere,
}

fn steps() -> impl Strategy<Value = Vec<(u64, u64, Step)>> {
    let step = prop_oneof![
        3 => Just(Step::Wake),
        2 => Just(Step::Block),
        4 => Just(Step::Tick),
        4 => Just(Step::Overflow),
        1 => Just(Step::Elsewhere),
    ];
    prop::collection::vec((0u64..15, 0u64..60, step), 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(5_000)))]

    #[test]
    fn decisions_are_those_of_a_cpu_with_others(
        budget in 1u64..50,
        period in 1u64..30,
        start in 0u64..20,
        shared: bool,
        steps in steps(),
    ) {
        let parameters = Parameters { budget, period: Duration(period), start: Instant(start) };
        let mut alone = Machine::new(parameters, shared, 0);
        let mut among = Machine::new(parameters, shared, 2);
        let (mut now, mut runs) = (0, false);
        for (gap, accesses, step) in steps {
            now += gap;
            let event = match step {
                Step::Wake => Event::Wake(0),
                Step::Block => Event::Block(0),
                Step::Tick => Event::Tick,
                Step::Overflow => Event::Overflow(0),
                Step::Elsewhere => {
                    prop_assert_eq!(
                        alone.pool.take(0, Instant(now)),
                        among.pool.take(0, Instant(now))
                    );
                    continue;
                }
            };
            let accesses = if runs { accesses } else { 0 };
            let decided = alone.get_along(accesses, event, now);
            prop_assert_eq!(decided, among.decide(accesses, event, now), "{:?} at {}", step, now);
            prop_assert_eq!(alone.state(), among.state(), "{:?} at {}", step, now);
            runs = decided.0.is_some();
        }
    }
}
