//! The search where PCPUs do not affect each other: budgets follow from all else.

use system::description::System;

use super::descend::Descent;
use super::judge::WHOLE;
use super::patterns::{Need, Patterns, with_budgets};
use super::{POOL, Search, is_plan};

/// A lack of less than this may only seem to be one, in millionths of a PCPU.
const NEARLY: u64 = WHOLE / 20;
/// Rounds of local search from each start, at first.
const ROUNDS: usize = 4;

impl Search<'_, '_> {
    /// Tries a description of which only budgets are open. Returns true if it holds.
    pub(super) fn try_structure(&mut self, placed: System) -> bool {
        let Some(patterns) = self.patterns else { return false };
        self.request.candidates.set(self.request.candidates.get() + 1);
        // Of many, most do not hold.
        patterns.is_rough.set(true);
        let need = patterns.need(&placed);
        patterns.is_rough.set(false);
        let need = refined(patterns, &placed, need);
        if need.holds() {
            return self.finish_structure(placed, &need);
        }
        self.keep_structure(placed, need);
        false
    }

    fn finish_structure(&mut self, placed: System, need: &Need) -> bool {
        let system = with_budgets(placed, need);
        let holds = is_plan(&system) && self.judge.holds(&system);
        if holds {
            self.holding.push(system);
        }
        holds
    }

    fn keep_structure(&mut self, placed: System, need: Need) {
        let all = &mut self.structures;
        if all.iter().any(|(_, other)| *other == need) {
            return;
        }
        let at = all.partition_point(|(_, other)| other.key() <= need.key());
        if at < POOL {
            all.insert(at, (placed, need));
            all.truncate(POOL);
        }
    }

    /// Changes those that are closest to holding, until one holds.
    pub(super) fn change_structures(&mut self) {
        let Some(patterns) = self.patterns else { return };
        let mut round = 0;
        while !self.judge.is_done() && !self.structures.is_empty() {
            let spent = self.judge.spent();
            for (start, _) in self.structures.clone() {
                let (choices, judge) = (self.choices.clone(), self.judge);
                let descent = Descent { patterns, choices: &choices, judge };
                let rounds = ROUNDS << round;
                // Rough budgets hold, too.
                patterns.is_rough.set(true);
                let found = descent.best(start, &mut self.random, rounds, Need::holds);
                patterns.is_rough.set(false);
                let (next, need) = found;
                let need = refined(patterns, &next, need);
                if need.holds() && self.finish_structure(next.clone(), &need) {
                    return;
                }
                self.keep_structure(next, need);
                if self.judge.is_done() {
                    return;
                }
            }
            round = (round + 1).min(6);
            if self.judge.spent() == spent {
                return;
            }
        }
    }
}

/// Returns the exact need of a description if it may hold by its rough need, which is returned otherwise.
fn refined(patterns: &Patterns<'_, '_>, system: &System, rough: Need) -> Need {
    if rough.lack < NEARLY { patterns.need(system) } else { rough }
}
