//! The plans that one change makes of another one.

use analysis::Duration;
use policy::color::ColorSet;
use system::description::{Amount, Located, System};
use system::plan::Budget;

use super::super::decision::Decision;
use super::super::pcpus::{At, all, given, members, vcpu};
use super::super::problem::grain;
use super::super::whole::finish;
use super::super::whole::open::Open;
use super::super::{periods, priorities, set_class};
use super::{State, Walk, budget, limit_mut, room};

/// Parts of the time that a budget can have more or less.
const PARTS: u64 = 8;

impl Walk<'_> {
    /// Returns all plans that differ in one decision, and some that differ in two.
    pub(super) fn moves(&self, from: &State) -> Vec<System> {
        let mut moves = Vec::new();
        for &decision in &self.decisions {
            match decision {
                Decision::Server(at) => self.servers(from, at, &mut moves),
                Decision::Pcpu(at) => self.pcpus(&from.system, at, &mut moves),
                Decision::Order(pcpu) => self.orders(from, pcpu, &mut moves),
                Decision::Task(at) => self.tasks(&from.system, at, &mut moves),
                Decision::Colors(vm) => self.colors(&from.system, vm, &mut moves),
                Decision::Limit(vm, vcpu) => self.limits(from, vm, vcpu, &mut moves),
                // They stay those of the old plan.
                Decision::Number(_)
                | Decision::Kind(_)
                | Decision::Overrun(_)
                | Decision::Locks => {}
            }
        }
        moves
    }

    fn servers(&self, from: &State, at: At, moves: &mut Vec<System>) {
        let Some(now) = budget(&from.system, at) else { return };
        let grain = grain(&from.system).0.0.max(1);
        let with = |budget: u64, period: u64| {
            let budget = (budget / grain * grain).clamp(grain, period);
            let mut system = from.system.clone();
            let (budget, period) = (Duration(budget), Duration(period));
            set_class(&mut system, at, |class| class.with_budget(Budget { budget, period }));
            system
        };
        let room = room(&from.system, at);
        moves
            .extend((1..=PARTS).map(|part| with(now.budget.0 + room / PARTS * part, now.period.0)));
        moves.extend((1..PARTS).map(|part| with(now.budget.0 / PARTS * part, now.period.0)));
        if self.parts.periods.contains(&at) {
            for (part, of) in [(1, 2), (2, 3), (3, 2), (2, 1)] {
                let period = periods::whole(&from.system, now.period.0 / of * part).0;
                let scaled = |budget: u64| {
                    (u128::from(budget) * u128::from(period) / u128::from(now.period.0.max(1)))
                        as u64
                };
                if (Budget::SHORTEST.0..=Budget::LONGEST_PERIOD.0).contains(&period) {
                    moves.push(with(scaled(now.budget.0), period));
                    moves.push(with(scaled(now.budget.0 + room), period));
                }
            }
        }
        if from.lateness.is_none() {
            let only = Open { budgets: vec![at], ..Open::default() };
            moves.push(finish::shrink(&self.judge, &only, from.system.clone()));
        }
        // What a neighbour can spare.
        for other in all(&from.system) {
            let beside = given(&from.system, other) == given(&from.system, at) && other != at;
            if !beside || !self.decisions.contains(&Decision::Server(other)) {
                continue;
            }
            let Some(spared) = budget(&from.system, other) else { continue };
            for part in 1..PARTS {
                let mut system = from.system.clone();
                let less = Duration((spared.budget.0 / PARTS * part / grain * grain).max(grain));
                set_class(&mut system, other, |class| {
                    class.with_budget(Budget { budget: less, ..spared })
                });
                let more = now.budget.0 + self::room(&system, at);
                let more = Duration((more / grain * grain).min(now.period.0));
                set_class(&mut system, at, |class| {
                    class.with_budget(Budget { budget: more, ..now })
                });
                moves.push(system);
            }
        }
    }

    fn pcpus(&self, from: &System, at: At, moves: &mut Vec<System>) {
        let own = vcpu(from, at).server.is_none();
        for pcpu in 0..from.platform.value.cpus.len() {
            let there: Vec<At> =
                all(from).into_iter().filter(|&it| given(from, it) == Some(pcpu)).collect();
            let is_alone = there.iter().any(|&it| vcpu(from, it).server.is_none());
            if there.contains(&at) || is_alone || own && !there.is_empty() {
                continue;
            }
            let mut system = from.clone();
            let place = from.vms[at.0].name.place.clone();
            for pcpu in given(from, at).into_iter().chain([pcpu]) {
                priorities::clear_pcpu(&mut system, &self.parts, pcpu);
            }
            system.vms[at.0].vcpus[at.1].pcpu = Some(Located::new(pcpu as u64, &place));
            if let Some(now) = budget(&system, at).filter(|_| self.parts.budgets.contains(&at)) {
                let mut filled = system.clone();
                let grain = grain(&system).0.0.max(1);
                let budget = (now.budget.0 + room(&system, at)) / grain * grain;
                let budget = Budget { budget: Duration(budget).min(now.period), ..now };
                set_class(&mut filled, at, |class| class.with_budget(budget));
                moves.push(filled);
            }
            moves.push(system);
        }
    }

    /// Neighbours in the other order, where the plan does not hold; and the order of periods.
    fn orders(&self, from: &State, pcpu: usize, moves: &mut Vec<System>) {
        let here = members(&from.system, pcpu);
        if from.lateness.is_none() || !priorities::are_open(&self.parts, &here) {
            return;
        }
        if !priorities::decided_on(&from.system, &self.parts, pcpu).is_empty() {
            let mut system = from.system.clone();
            priorities::clear_pcpu(&mut system, &self.parts, pcpu);
            moves.push(system);
        }
        for place in priorities::exchanges(&from.system, &here) {
            let (mut system, mut order) = (from.system.clone(), here.clone());
            order.swap(place, place + 1);
            priorities::set(&mut system, pcpu, &order);
            moves.push(system);
        }
    }

    fn tasks(&self, from: &System, (vm, task): At, moves: &mut Vec<System>) {
        let here = from.vms[vm].tasks[task].vcpu;
        for to in (0..from.vms[vm].vcpus.len()).filter(|&to| to != here) {
            let mut system = from.clone();
            system.vms[vm].tasks[task].vcpu = to;
            // Colours of tasks stay apart by VCPU.
            if from.vms[vm].vllc && self.parts.colors.contains(&vm) {
                let there = from.vms[vm].tasks.iter().find(|it| it.vcpu == to);
                let Some(there) = there else { continue };
                system.vms[vm].tasks[task].colors.clone_from(&there.colors);
            }
            moves.push(system);
        }
    }

    /// Adds the moves that take one or two colours from another VM whose colours are open.
    fn colors(&self, from: &System, vm: usize, moves: &mut Vec<System>) {
        let is_plain = |vm: &usize| !from.vms[*vm].vllc && from.vms[*vm].colors.is_some();
        if !is_plain(&vm) {
            return;
        }
        for &donor in self.parts.colors.iter().filter(|donor| **donor != vm && is_plain(donor)) {
            let Some(theirs) = &from.vms[donor].colors else { continue };
            for count in 1..=2.min(theirs.value.len().saturating_sub(1) as usize) {
                let given: Vec<_> = theirs.value.iter().collect();
                let given: ColorSet = given[given.len() - count..].iter().copied().collect();
                let mut system = from.clone();
                let set = &mut system.vms[donor].colors;
                set.iter_mut().for_each(|it| it.value = it.value - given);
                system.vms[vm].colors.iter_mut().for_each(|it| it.value = it.value | given);
                moves.push(system);
            }
        }
    }

    fn limits(&self, from: &State, vm: usize, vcpu: Option<usize>, moves: &mut Vec<System>) {
        let Some(limits) = &self.scale.limits else { return };
        for factor in [(1, 2), (3, 4), (4, 3), (2, 1)] {
            let mut system = from.system.clone();
            let Some(limit) = limit_mut(&mut system, vm, vcpu) else { return };
            if let Amount::Accesses(accesses) = &mut limit.amount.value {
                *accesses = (accesses.saturating_mul(factor.0) / factor.1).max(1);
            }
            moves.push(limits.capped(&system));
        }
        if from.lateness.is_none() {
            let holds = |system: &System| self.judge.holds(system);
            moves.push(limits.grown_first(&from.system, vm, &holds));
        }
    }
}
