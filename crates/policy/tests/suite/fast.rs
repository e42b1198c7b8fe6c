//! Short cuts lead to what [`Cpu::step`] leads to: in all states of small CPUs, and in some of large ones.

use std::collections::HashSet;

use crate::cpus::{Drawn, Happens, drawn, happenings};
use policy::bandwidth::{self, Account, Grants, NoGrants};
use policy::cpu::{Cpu, Decision, Event, News, Slot, fast};
use policy::lock::hold::Hold;
use policy::server::{Parameters, Policy};
use policy::time::{Duration, Instant};
use proptest::prelude::*;

/// A CPU at a time, and the last decision.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    cpu: Cpu<Vec<Slot>>,
    decision: Decision,
    now: u64,
}

/// What may be told late after a short way.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Costs {
    None,
    /// Limits of sections, and costs of switches and kicks.
    Some,
}

/// The decision and the news; the budget and the accesses of the VCPU to run; and of each VCPU whether it has something to
/// do, is in a section, waits for accesses, and its budget.
type Outcome = (Decision, Vec<News>, Duration, Option<u64>, Vec<(bool, bool, bool, Duration)>);

impl State {
    fn new(cpu: Cpu<Vec<Slot>>) -> Self {
        Self { cpu, decision: Decision::default(), now: 0 }
    }

    fn at(&self, now: u64) -> Self {
        Self { now, ..self.clone() }
    }

    fn step(&mut self, event: Event, grants: &mut dyn Grants) -> Outcome {
        self.decision = self.cpu.step(event, Instant(self.now), grants);
        let news = std::iter::from_fn(|| self.cpu.take_news()).collect();
        let (budget, accesses) = (self.cpu.budget(), self.cpu.accesses());
        let of = |it: &Slot| {
            (it.is_ready(), it.is_in_gcs(), it.recharges(), it.budget(Instant(self.now)))
        };
        (self.decision, news, budget, accesses, self.cpu.slots().iter().map(of).collect())
    }

    fn is_early(&self) -> bool {
        self.decision.timer.is_none_or(|timer| self.now < timer.0)
    }

    /// All that can happen but accesses.
    fn events(&self) -> Vec<Event> {
        let of = |vcpu| {
            use Event::{Block, EnterGcs, Kick, LeaveGcs, Wake};
            [Wake, Block, EnterGcs, LeaveGcs, Kick].map(|event| event(vcpu))
        };
        let mut events: Vec<_> = (0..self.cpu.slots().len()).flat_map(of).collect();
        events.push(Event::Tick);
        events
    }

    /// The state after the short way of entering or leaving a section, if it may be gone. Then it is compared with
    /// [`Cpu::step`], for some time and whatever happens next.
    fn quick(
        &self,
        vcpu: usize,
        inside: bool,
        costs: Costs,
    ) -> Result<Option<Self>, TestCaseError> {
        let mut quick = self.clone();
        if !self.is_early() || !fast::change_gcs(&mut quick.cpu, vcpu, inside, Instant(self.now)) {
            prop_assert!(!self.is_early() || quick == *self, "nothing has changed");
            return Ok(None);
        }
        prop_assert_eq!(self.decision.run, Some(vcpu));
        let mut stepped = self.clone();
        let event = if inside { Event::EnterGcs(vcpu) } else { Event::LeaveGcs(vcpu) };
        let outcome = stepped.step(event, &mut NoGrants);
        let (decision, news, ..) = &outcome;
        // What the short way leaves to the next event: time that is charged since the VCPU executes may end its budget now,
        // and it may have been in sections for too long.
        let goes_on = decision.run == self.decision.run && news.is_empty();
        let is_sure = costs == Costs::None;
        prop_assert!(goes_on || !is_sure, "{:?} leads to {:?}, {:?}", event, decision, news);
        if !goes_on {
            let late = quick.clone().step(Event::Tick, &mut NoGrants);
            let mut outcome = outcome;
            if !inside {
                // It has left by itself.
                outcome.1.retain(|news| *news != News::EndedGcs(vcpu));
            }
            prop_assert_eq!(late, outcome, "{:?} told late", event);
            return Ok(Some(quick));
        }
        let events = self.events();
        for later in self.now..self.now + 4 {
            let (mut quick, mut stepped) = (quick.at(later), stepped.at(later));
            if later > self.now && !(quick.is_early() && stepped.is_early()) {
                break;
            }
            for &event in &events {
                let (mut quick, mut stepped) = (quick.clone(), stepped.clone());
                let outcomes =
                    [&mut quick, &mut stepped].map(|state| state.step(event, &mut NoGrants));
                prop_assert_eq!(&outcomes[0], &outcomes[1], "{:?} at {}", event, later);
                // Who is charged, and since when.
                let after = [&mut quick, &mut stepped].map(|state| {
                    state.now += 1;
                    state.step(Event::Tick, &mut NoGrants)
                });
                prop_assert_eq!(&after[0], &after[1], "after {:?} at {}", event, later);
            }
            let ticks = [&mut quick, &mut stepped].map(|it| it.step(Event::Tick, &mut NoGrants));
            prop_assert_eq!(&ticks[0], &ticks[1], "at {}", later);
        }
        Ok(Some(quick))
    }
}

/// All states that can be reached with so many events and ticks of time, and how many short ways there were.
fn explore(cpu: Cpu<Vec<Slot>>, costs: Costs, events: usize) -> (usize, usize) {
    let mut seen = HashSet::new();
    let mut states = vec![State::new(cpu)];
    let mut short = 0;
    for _ in 0..events {
        let mut next = vec![];
        for state in states {
            if !seen.insert(state.clone()) {
                continue;
            }
            for vcpu in 0..state.cpu.slots().len() {
                for inside in [true, false] {
                    let quick = state.quick(vcpu, inside, costs);
                    let quick = quick.unwrap_or_else(|error| panic!("{error}\n{state:#?}"));
                    short += usize::from(quick.is_some());
                    next.extend(quick);
                }
            }
            for event in state.events() {
                let mut stepped = state.clone();
                stepped.step(event, &mut NoGrants);
                next.push(stepped);
            }
            let mut executes = state.clone();
            executes.cpu.enter(Instant(state.now));
            next.push(executes);
            next.push(state.at(state.now + 1));
        }
        states = next;
    }
    (seen.len(), short)
}

fn parameters(budget: u64, period: u64, overrun: u64) -> Parameters {
    let [budget, period, overrun] = [budget, period, overrun].map(Duration);
    Parameters { budget, period, start: Instant(0), overrun }
}

/// CPUs with these servers and all limits and costs.
fn small(servers: &[Policy]) -> Vec<(Cpu<Vec<Slot>>, Costs)> {
    let mut cpus = vec![];
    for number in 0..16u64 {
        let bit = |bit: u64| number >> bit & 1;
        let hold = if bit(0) > 0 { Hold::new(Duration(1)) } else { Hold::UNLIMITED };
        let slots = servers.iter().map(|&it| Slot::new(it).unwrap().with_hold(hold)).collect();
        let cpu = Cpu::new(slots).with_switch(Duration(bit(1))).with_kick(Duration(bit(2)));
        let costs = match number & 0b111 {
            0 => Costs::None,
            _ => Costs::Some,
        };
        cpus.push((if bit(3) > 0 { cpu.with_ceilings() } else { cpu }, costs));
    }
    cpus
}

fn explore_all(servers: &[Policy], events: usize) {
    let (mut states, mut short) = (0, 0);
    for (cpu, costs) in small(servers) {
        let (more, ways) = explore(cpu, costs, events);
        (states, short) = (states + more, short + ways);
    }
    assert!(short * 50 > states, "{short} short ways in {states} states");
}

#[test]
fn sections_of_two_vcpus_end_the_same_in_all_states() {
    for first in [
        Policy::Periodic(parameters(1, 2, 1)),
        Policy::Periodic(parameters(2, 3, 1)),
        Policy::Deferrable(parameters(2, 3, 1)),
        Policy::Sporadic(parameters(1, 2, 0)),
    ] {
        for second in [Policy::Deferrable(parameters(1, 2, 1)), Policy::Background] {
            explore_all(&[first, second], 6);
        }
    }
}

#[test]
fn sections_of_three_vcpus_end_the_same_in_all_states() {
    let periodic = Policy::Periodic(parameters(1, 2, 1));
    explore_all(&[periodic, Policy::Sporadic(parameters(1, 2, 0)), Policy::Background], 5);
}

/// Accesses of a VCPU are told with the event that comes next, as many as can matter.
#[test]
fn a_vcpu_alone_stops_and_resumes_the_same_in_all_states() {
    let (mut stops, mut resumes) = (0, 0);
    for (budget, period, start) in [(1, 1, 0), (1, 3, 0), (2, 2, 1), (3, 2, 0), (2, 4, 3)] {
        let memory =
            bandwidth::Parameters { budget, period: Duration(period), start: Instant(start) };
        let slot = Slot::new(Policy::Background).unwrap();
        let slots = vec![slot.with_account(Account::own(memory).unwrap())];
        let mut seen = HashSet::new();
        let mut states = vec![State::new(Cpu::new(slots))];
        while let Some(state) = states.pop() {
            if state.now > 10 || !seen.insert(state.clone()) {
                continue;
            }
            let now = Instant(state.now);
            let most = if state.decision.run.is_some() { 3 * budget + 1 } else { 0 };
            for accesses in 0..=most {
                let mut stepped = state.clone();
                stepped.cpu.account(0, accesses);
                let (mut ticked, mut quick) = (stepped.clone(), state.clone());
                stepped.step(Event::Overflow(0), &mut NoGrants);
                if state.cpu.accesses().is_some_and(|limit| accesses >= limit) {
                    if fast::stop_alone(&mut quick.cpu, accesses, now) {
                        stops += 1;
                        quick.decision.run = None;
                        assert_eq!(quick, stepped, "{accesses} accesses in {state:#?}");
                    } else {
                        assert_eq!(quick, state, "nothing has changed");
                    }
                }
                ticked.step(Event::Tick, &mut NoGrants);
                states.extend([stepped, ticked]);
            }
            if state.decision.run.is_none() {
                let (mut quick, mut stepped) = (state.clone(), state.clone());
                let outcome = stepped.step(Event::Tick, &mut NoGrants);
                match fast::resume_alone(&mut quick.cpu, now) {
                    Some((accesses, until)) => {
                        resumes += 1;
                        quick.decision = Decision { run: Some(0), timer: Some(until) };
                        assert_eq!(quick, stepped, "{state:#?}");
                        assert_eq!(outcome.3, Some(accesses));
                    }
                    None => assert_eq!(quick, state, "nothing has changed"),
                }
            }
            for event in state.events() {
                let mut next = state.clone();
                next.step(event, &mut NoGrants);
                states.push(next);
            }
            states.push(state.at(state.now + 1));
        }
    }
    assert!(stops > 100 && resumes > 100, "{stops} stops, {resumes} times resumed");
}

fn event(happens: Happens, vcpus: usize) -> Event {
    match happens {
        Happens::Wakes(vcpu) => Event::Wake(vcpu % vcpus),
        Happens::Blocks(vcpu) => Event::Block(vcpu % vcpus),
        Happens::IsKicked(vcpu) => Event::Kick(vcpu % vcpus),
        Happens::Nothing | Happens::Executes => Event::Tick,
        Happens::Enters(vcpu) => Event::EnterGcs(vcpu % vcpus),
        Happens::Leaves(vcpu) => Event::LeaveGcs(vcpu % vcpus),
    }
}

/// The state before each of these, and what comes then.
fn follow(
    drawn: &Drawn,
    steps: Vec<(u64, Happens)>,
    mut look: impl FnMut(&mut State, Event) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut state = State::new(drawn.cpu.clone());
    for (gap, happens) in steps {
        state.now += gap;
        if happens == Happens::Executes {
            state.cpu.enter(Instant(state.now));
            continue;
        }
        let event = event(happens, drawn.vcpus);
        look(&mut state, event)?;
        state.step(event, &mut NoGrants);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(3_000)))]

    #[test]
    fn sections_of_many_vcpus_end_the_same(
        drawn in drawn(),
        steps in happenings(),
    ) {
        follow(&drawn, steps, |state, event| {
            let (vcpu, inside) = match event {
                Event::EnterGcs(vcpu) => (vcpu, true),
                Event::LeaveGcs(vcpu) => (vcpu, false),
                _ => return Ok(()),
            };
            if let Some(quick) = state.quick(vcpu, inside, Costs::Some)? {
                *state = quick;
            }
            Ok(())
        })?;
    }

    /// A VCPU that never has anything to do, but has a memory budget, makes the CPU take the long way for all events.
    #[test]
    fn the_usual_way_is_that_of_cpus_with_memory_budgets(
        drawn in drawn(),
        steps in happenings(),
    ) {
        let last = Slot::new(Policy::Background).unwrap().with_account(Account::shared());
        let mut usual = State::new(drawn.cpu.clone());
        let mut unusual = State::new(drawn.cpu_with(last));
        for (gap, happens) in steps {
            usual.now += gap;
            unusual.now += gap;
            if happens == Happens::Executes {
                usual.cpu.enter(Instant(usual.now));
                unusual.cpu.enter(Instant(usual.now));
                continue;
            }
            let event = event(happens, drawn.vcpus);
            let expected = usual.step(event, &mut NoGrants);
            let mut outcome = unusual.step(event, &mut NoGrants);
            outcome.4.pop();
            prop_assert_eq!(outcome, expected, "{:?} at {}", event, usual.now);
        }
    }
}
