//! Simple candidates, as an engineer would make them with a table: those that differ most from each
//! other first.

use system::description::System;

use super::bases::{self, Colors, Periods, Tasks};
use super::candidate::Candidate;
use super::fill::{Weights, fill};
use super::judge::WHOLE;
use super::kinds;
use super::place::{Way, place};
use super::{Search, close, decisions};
use crate::completion::pcpus::{all, given};
use crate::completion::priorities;

/// Periods, the most useful first.
const PERIODS: [Periods; 13] = [
    Periods::Own(WHOLE / 2),
    Periods::Part(4),
    Periods::Part(2),
    Periods::Harmonic,
    Periods::Time(1_000_000),
    Periods::Own(0),
    Periods::Own(WHOLE),
    Periods::Common(1),
    Periods::Common(2),
    Periods::Common(5),
    Periods::Own(WHOLE / 4 * 3),
    Periods::Behind(WHOLE / 2),
    Periods::Behind(WHOLE / 4),
];
const TASKS: [Tasks; 6] = [
    Tasks::Spread,
    Tasks::First(WHOLE / 10 * 7),
    Tasks::ByPeriod,
    Tasks::Fewest,
    Tasks::First(WHOLE / 2),
    Tasks::Around,
];
const WAYS: [(Way, Pcpus); 8] = [
    (Way::Worst, Pcpus::All),
    (Way::Best(WHOLE / 10 * 7), Pcpus::All),
    (Way::Turns, Pcpus::All),
    (Way::Apart, Pcpus::All),
    // What delays others does less on fewer PCPUs.
    (Way::Worst, Pcpus::Half),
    (Way::ByVm, Pcpus::All),
    (Way::Around, Pcpus::All),
    (Way::Best(WHOLE / 2), Pcpus::All),
];
/// Ways to choose budgets: where VCPUs hold resources, or wait for accesses, some time is left for that.
const BUDGETS: [Budgets; 12] = [
    Budgets::Fill { part: WHOLE / 100 * 98, plus: WHOLE / 20 },
    Budgets::Times { percent: 150, plus: WHOLE / 20 },
    Budgets::Fill { part: WHOLE / 10 * 8, plus: WHOLE / 10 },
    Budgets::Times { percent: 200, plus: WHOLE / 50 },
    Budgets::Fill { part: WHOLE, plus: 10 * WHOLE },
    Budgets::Times { percent: 110, plus: WHOLE / 10 },
    Budgets::Fill { part: WHOLE, plus: 0 },
    Budgets::Times { percent: 250, plus: WHOLE / 10 },
    Budgets::Fill { part: WHOLE / 100 * 65, plus: WHOLE / 50 },
    Budgets::Times { percent: 130, plus: WHOLE / 100 },
    Budgets::Fill { part: WHOLE / 2, plus: WHOLE / 10 },
    Budgets::Times { percent: 400, plus: WHOLE / 20 },
];

/// PCPUs that are used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Pcpus {
    All,
    Half,
}

/// A way to choose budgets by the needs of tasks, `plus` the same for each VCPU, in millionths of a PCPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Budgets {
    /// In proportion, until this part of each PCPU is given away.
    Fill { part: u64, plus: u64 },
    /// `percent` percent of the needs.
    Times { percent: u64, plus: u64 },
}

/// A description in which periods, VCPUs of tasks and colours are decided.
struct Base {
    system: Option<System>,
    needs: Weights,
    /// The best common rate of limits so far.
    rate: Option<usize>,
    placed: Vec<Option<Option<System>>>,
}

impl Base {
    fn new(system: Option<System>) -> Self {
        let needs = system.as_ref().map(bases::weights);
        let needs = needs.unwrap_or(Weights { vcpus: Vec::new(), caps: Vec::new() });
        Self { system, needs, rate: None, placed: vec![None; WAYS.len()] }
    }
}

impl Search<'_, '_> {
    /// Tries simple candidates, until some hold.
    pub(super) fn starts(&mut self, decided: &[System]) {
        let count = |is_open: bool, all: usize| if is_open { all } else { 1 };
        let of_colors = self.colors();
        // Where kinds of servers and protocols are open, they are decided before all else.
        let variants = kinds::starts(self.system);
        let counts = [
            variants.len(),
            count(!self.open.periods.is_empty(), PERIODS.len()),
            count(!self.open.tasks.is_empty(), TASKS.len()),
            count(!self.open.colors.is_empty(), of_colors.len()),
            count(!self.open.pcpus.is_empty(), WAYS.len()),
            count(self.patterns.is_none() && !self.open.budgets.is_empty(), BUDGETS.len()),
        ];
        let mut given: Vec<Base> =
            decided.iter().map(|system| Base::new(Some(system.clone()))).collect();
        let mut made: Vec<Option<Base>> = Vec::new();
        made.resize_with(counts[..4].iter().product(), || None);
        // All of them, those with the first ones first.
        let most: usize = counts.iter().map(|count| count - 1).sum();
        for sum in 0..=most {
            for base in &mut given {
                for way in 0..counts[4].min(sum + 1) {
                    if sum - way < counts[5] {
                        self.start(base, way, sum - way);
                    }
                    if self.is_started() {
                        return;
                    }
                }
            }
            for [variant, period, task, colors, way, budgets] in with_sum(counts, sum) {
                let index =
                    ((variant * counts[1] + period) * counts[2] + task) * counts[3] + colors;
                let base = made[index].get_or_insert_with(|| {
                    let base = bases::with_periods(&variants[variant], &self.open, PERIODS[period]);
                    let base = bases::with_tasks(&base, &self.open, TASKS[task]);
                    let how = of_colors[colors];
                    Base::new(bases::with_colors(&base, &self.open, how, self.patterns))
                });
                self.start(base, way, budgets);
                if self.is_started() {
                    return;
                }
            }
        }
    }

    /// Returns the ways to share out colours that differ here, the most useful first.
    fn colors(&self) -> Vec<Colors> {
        let (of_tasks, reloads) = (self.choices.own_colors, self.system.color_reload.is_some());
        let ways = [
            (Colors::Planned, true),
            (Colors::Alike, true),
            (Colors::Needed, self.patterns.is_some() && !of_tasks),
            (Colors::Whole, of_tasks),
            (Colors::Few, reloads),
        ];
        ways.into_iter().filter(|(_, differs)| *differs).map(|(way, _)| way).collect()
    }

    /// Returns true if no more simple candidates are tried: half of the effort is for changes.
    fn is_started(&self) -> bool {
        self.is_done() || self.judge.spent_ppm() > WHOLE / 2
    }

    fn start(&mut self, base: &mut Base, way: usize, budgets: usize) {
        let Some(system) = &base.system else { return };
        let (how, pcpus) = WAYS[way];
        let half = system.platform.value.cpus.len().div_ceil(2);
        let pcpus = match pcpus {
            Pcpus::All => self.request.pcpus,
            Pcpus::Half => self.request.pcpus.min(half),
        };
        let placed = base.placed[way].get_or_insert_with(|| place(system, &base.needs, how, pcpus));
        let Some(placed) = placed else { return };
        if self.patterns.is_some() {
            if self.seen.insert(decisions(placed)) {
                self.try_structure(placed.clone());
            }
            return;
        }
        let weights = BUDGETS[budgets].weights(placed, &base.needs);
        let mut filled = placed.clone();
        close(&mut filled);
        if self.open.orders {
            priorities::set_by_urgency(&mut filled, &self.open);
        }
        for pcpu in 0..filled.platform.value.cpus.len() {
            fill(&mut filled, &self.open, &weights, pcpu);
        }
        if !self.seen.insert(decisions(&filled)) {
            return;
        }
        self.rate = base.rate;
        if let Some(candidate) = self.with_rate(filled, weights) {
            self.take(candidate);
        }
        base.rate = self.rate;
    }

    /// Returns the candidate with the best of some common rates for limits that are open.
    fn with_rate(&mut self, system: System, weights: Weights) -> Option<Candidate> {
        let Some(limits) = &self.limits else {
            return Candidate::new(self.judge, system, weights);
        };
        // All rates for the first candidate, then those beside the best.
        let tried = match self.rate {
            None => 0..self.rates.len(),
            Some(best) => best.saturating_sub(1)..(best + 2).min(self.rates.len()),
        };
        let mut best: Option<(usize, Candidate)> = None;
        for index in tried {
            let limited = limits.with_rate(&system, self.rates[index]);
            let Some(next) = Candidate::new(self.judge, limited, weights.clone()) else {
                continue;
            };
            if best.as_ref().is_none_or(|(_, it)| next.lateness() < it.lateness()) {
                best = Some((index, next));
            }
            if best.as_ref().is_some_and(|(_, it)| it.holds()) || self.judge.is_done() {
                break;
            }
        }
        let (index, best) = best?;
        self.rate = Some(index);
        Some(best)
    }
}

impl Budgets {
    fn weights(self, placed: &System, needs: &Weights) -> Weights {
        let (Self::Fill { plus, .. } | Self::Times { plus, .. }) = self;
        let weight = |need: &u64| match (*need, self) {
            (0, _) => 0,
            (need, Self::Fill { .. }) => need + plus,
            (need, Self::Times { percent, .. }) => (need + plus) * percent / 100,
        };
        let vcpus = needs.vcpus.iter().map(|vm| vm.iter().map(weight).collect()).collect();
        let mut weights = Weights { vcpus, caps: needs.caps.clone() };
        weights.caps = (0..needs.caps.len())
            .map(|pcpu| match self {
                Self::Fill { part, .. } => part,
                Self::Times { .. } => {
                    let here =
                        all(placed).into_iter().filter(|&at| given(placed, at) == Some(pcpu));
                    let least = |weight: u64| if weight == 0 { WHOLE / 100 } else { weight };
                    let sum: u64 = here.map(|at| least(weights.of(at))).sum();
                    sum.clamp(1, WHOLE)
                }
            })
            .collect();
        weights
    }
}

/// Returns all choices of one of each with this sum.
fn with_sum(counts: [usize; 6], sum: usize) -> Vec<[usize; 6]> {
    let mut all = vec![([0; 6], sum)];
    for (at, count) in counts.into_iter().enumerate() {
        let behind: usize = counts[at + 1..].iter().map(|count| count - 1).sum();
        let next = |(chosen, left): &([usize; 6], usize)| {
            let (chosen, left) = (*chosen, *left);
            let from = left.saturating_sub(behind);
            let with = move |index: usize| {
                let mut chosen = chosen;
                chosen[at] = index;
                (chosen, left - index)
            };
            (from..count.min(left + 1)).map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(next).collect();
    }
    all.into_iter().map(|(chosen, _)| chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_comes_once() {
        let counts = [2, 3, 1, 2, 4, 2];
        let most: usize = counts.iter().map(|count| count - 1).sum();
        let mut all: Vec<[usize; 6]> = (0..=most).flat_map(|sum| with_sum(counts, sum)).collect();
        assert_eq!(all[0], [0; 6]);
        assert_eq!(all.len(), counts.iter().product::<usize>());
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), counts.iter().product::<usize>());
    }
}
