//! The supply of a VCPU whose own critical sections run before a server above it: every course of small systems.

use std::collections::{HashMap, HashSet};

use analysis::supply::ServerSupply;
use analysis::vmpcp::{Protocol, Variant};
use analysis::{Duration, Kind, Server};

use super::described::{Described, OneVcpu, section, task};

/// Budget and period.
type Parameters = (u64, u64);

/// What is left of the budget above and of the VCPU's own, and for how long its sections have run since the budget above
/// was used up or the VCPU executed in its turn.
type State = (u64, u64, u64);

/// A VCPU below a server on one PCPU.
struct Pair {
    kind_above: Kind,
    above: Parameters,
    /// When the first period above begins; that of the VCPU begins at 0.
    phase: u64,
    kind: Kind,
    own: Parameters,
    /// Longest section.
    section: u64,
}

impl Pair {
    fn hyperperiod(&self) -> u64 {
        (1..).map(|it| it * self.own.1).find(|it| it % self.above.1 == 0).unwrap()
    }

    fn renewed(&self, at: u64, (above, own, raised): State) -> State {
        let above = if (at + self.above.1 - self.phase).is_multiple_of(self.above.1) {
            self.above.0
        } else {
            above
        };
        let own = if at.is_multiple_of(self.own.1) { self.own.0 } else { own };
        (above, own, raised)
    }

    /// Returns what can be after a tick, and whether the VCPU executed in it; `is_ready`: the VCPU has work. The VCPU above may have
    /// none at any time.
    fn next(&self, (above, own, raised): State, is_ready: bool) -> Vec<(State, bool)> {
        let mut all = Vec::new();
        if above > 0 {
            all.push(((above - 1, own, raised), false));
            if own > 0 && raised < self.section {
                all.push(((above, own - 1, raised + 1), true));
            }
        }
        // A deferrable server keeps its budget while its VCPU has no work.
        if above == 0 || self.kind_above == Kind::Deferrable {
            if own > 0 && (is_ready || self.kind == Kind::Periodic) {
                all.push(((above, own - 1, 0), is_ready));
            } else {
                all.push(((above, own, 0), false));
            }
        }
        all
    }

    /// Returns the states in which the VCPU can begin to be ready, by the time in the hyperperiod.
    fn reachable(&self) -> Vec<HashSet<State>> {
        let hyperperiod = self.hyperperiod();
        let mut all = vec![HashSet::new(); hyperperiod as usize];
        let mut current = HashSet::from([(0, 0, 0)]);
        for at in 0..4 * hyperperiod {
            let begun: HashSet<State> = current.iter().map(|it| self.renewed(at, *it)).collect();
            if at >= 2 * hyperperiod {
                all[(at % hyperperiod) as usize].extend(&begun);
            }
            let nexts =
                begun.iter().flat_map(|it| [self.next(*it, true), self.next(*it, false)].concat());
            current = nexts.map(|it| it.0).collect();
        }
        all
    }

    /// Returns the least time that a VCPU gets that stays ready for this time.
    fn least(
        &self,
        seen: &mut HashMap<(u64, State, u64), u64>,
        at: u64,
        state: State,
        time: u64,
    ) -> u64 {
        if time == 0 {
            return 0;
        }
        let key = (at % self.hyperperiod(), state, time);
        if let Some(found) = seen.get(&key) {
            return *found;
        }
        let each = self.next(state, true).into_iter().map(|(state, executes)| {
            let state = self.renewed(at + 1, state);
            self.least(seen, at + 1, state, time - 1) + u64::from(executes)
        });
        let found = each.collect::<Vec<_>>().into_iter().min().unwrap();
        seen.insert(key, found);
        found
    }

    /// Returns the supply that the analysis promises; `None` if the VCPU does not get its budget in each period.
    fn promised(&self, variant: Variant) -> Option<ServerSupply> {
        let vcpu = |pcpu, priority, kind, (budget, period), length: u64| OneVcpu {
            pcpu,
            priority,
            kind,
            budget,
            period,
            overrun: false,
            tasks: vec![task(&[section(usize::from(length == 0), length.max(1))], 1_000)],
        };
        let vcpus = vec![
            vcpu(0, 2, self.kind_above, self.above, 0),
            vcpu(0, 1, self.kind, self.own, self.section),
            vcpu(1, 3, Kind::Deferrable, (1, 1), 1),
        ];
        let described = Described { vcpus, protocol: Protocol::Vmpcp };
        let response = described.bounds(variant).servers[1].ok()?;
        let (budget, period) = self.own;
        let server = Server::new(self.kind, Duration(budget), Duration(period)).unwrap();
        ServerSupply::with_response(server, response)
    }

    /// Returns true if some course gives the VCPU less than this, and none if that is not known.
    fn falls_below(&self, promised: &ServerSupply) -> bool {
        let mut seen = HashMap::new();
        let starts = self.reachable();
        starts.iter().enumerate().any(|(at, states)| {
            states.iter().any(|state| {
                (1..=3 * self.own.1).any(|time| {
                    self.least(&mut seen, at as u64, *state, time)
                        < promised.in_window(Duration(time)).0
                })
            })
        })
    }
}

/// Returns how many systems have a promise, and how many of these a course that breaks it.
fn broken(variant: Variant, kind_above: Kind, kind: Kind, longest: u64) -> (u64, u64) {
    let (mut systems, mut broken) = (0, 0);
    let parameters = || (2..=longest).flat_map(|period| (1..period).map(move |it| (it, period)));
    for (above, own) in parameters().flat_map(|above| parameters().map(move |own| (above, own))) {
        for section in 1..=own.0 {
            let pair = |phase| Pair { kind_above, above, phase, kind, own, section };
            let Some(promised) = pair(0).promised(variant) else { continue };
            systems += 1;
            broken += u64::from((0..above.1).any(|phase| pair(phase).falls_below(&promised)));
        }
    }
    (systems, broken)
}

#[test]
fn a_vcpu_gets_its_supply_after_its_own_sections() {
    let kinds = [Kind::Periodic, Kind::Deferrable];
    for (above, kind) in kinds.into_iter().flat_map(|above| kinds.map(|kind| (above, kind))) {
        let (systems, broken) = broken(Variant::Sound, above, kind, 7);
        assert!(systems > 100 && broken == 0, "{kind:?} below {above:?}: {broken} of {systems}");
    }
}

/// Eq. 5, as printed, does not count the VCPU's own section before its budget is renewed, which makes a periodic server
/// above later.
#[test]
fn equation_5_promises_too_much() {
    let (systems, broken) = broken(Variant::Published, Kind::Periodic, Kind::Deferrable, 7);
    assert!(broken > 0, "none of {systems}");
}
