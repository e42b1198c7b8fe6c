//! Budgets of the VCPUs of a PCPU, in proportion to weights: as large as the PCPU allows.

use analysis::vcpu::late_response_times;
use analysis::{Duration, Server};
use system::description::System;
use system::plan::{Budget, Class};

use super::super::budgets::least_of;
use super::super::pcpus::{At, late, members, vcpu};
use super::super::problem::grain;
use super::super::set_class;
use super::judge::WHOLE;
use super::open::Open;
use super::overrun;

/// Steps of the search for the scale of budgets: a factor of up to 2 to the power of [`BITS`] in
/// 2 to the power of [`BITS`] steps.
const BITS: u32 = 14;

/// The weights of VCPUs, VM by VM, and the part of each PCPU that is given away, in millionths.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Weights {
    /// Weights by VM and VCPU: 0 for VCPUs that get least.
    pub vcpus: Vec<Vec<u64>>,
    /// The part of each PCPU that is given away, in millionths.
    pub caps: Vec<u64>,
}

impl Weights {
    /// Returns the weight of a VCPU.
    pub fn of(&self, (vm, vcpu): At) -> u64 {
        self.vcpus[vm][vcpu]
    }
}

/// Gives the VCPUs of a PCPU whose budgets are `open` the largest budgets in proportion to their
/// weights. Overrun that is open goes where it does not fit.
pub fn fill(system: &mut System, open: &Open, weights: &Weights, pcpu: usize) {
    fill_budgets(system, open, weights, pcpu);
    overrun::fit(system, open);
}

fn fill_budgets(system: &mut System, open: &Open, weights: &Weights, pcpu: usize) {
    let here = members(system, pcpu);
    let mine: Vec<At> = here.iter().copied().filter(|at| open.budgets.contains(at)).collect();
    if mine.is_empty() {
        return;
    }
    let grain = grain(system).0.0.max(1);
    let late = late(system);
    let of = |at: At, scale: u64| {
        let period = vcpu(system, at).server.as_ref()?.class.value.budget()?.period;
        let least = match weights.of(at) {
            0 if open.lenient => Budget::SHORTEST,
            _ => least_of(system, at, period),
        };
        let least = least.0.next_multiple_of(grain);
        let share = match weights.of(at) {
            0 => 0,
            weight => ((u128::from(weight) * u128::from(scale)) >> BITS).min(WHOLE.into()) as u64,
        };
        let budget = u128::from(period.0) * u128::from(share) / u128::from(WHOLE);
        let budget = match share {
            WHOLE => period.0,
            _ => (budget as u64 / grain * grain).max(least).min(period.0),
        };
        Some(Budget { budget: Duration(budget), period })
    };
    let fits = |scale: u64| {
        let budget = |&at: &At| match mine.contains(&at) {
            true => of(at, scale),
            false => vcpu(system, at).server.as_ref()?.class.value.budget(),
        };
        let budgets: Option<Vec<Budget>> = here.iter().map(budget).collect();
        let Some(budgets) = budgets else { return false };
        let sum = budgets.iter().fold(0u128, |sum, it| sum.saturating_add(it.share()));
        let cap = weights.caps[pcpu].min(WHOLE);
        if sum > Budget::WHOLE / u128::from(WHOLE) * u128::from(cap) {
            return false;
        }
        let servers = here.iter().zip(&budgets).map(|(&at, it)| {
            let class = vcpu(system, at).server.as_ref()?.class.value;
            let Class::Reserved(kind, _) = class else { return None };
            Server::new(kind, it.budget, it.period).ok()
        });
        let Some(servers) = servers.collect::<Option<Vec<Server>>>() else { return false };
        let responses = late_response_times(&servers, late);
        let may_miss = |at: At| open.lenient && weights.of(at) == 0;
        here.iter().zip(responses).all(|(&at, response)| response.is_ok() || may_miss(at))
    };
    // A factor of 2^BITS is a whole PCPU for every weight that matters.
    let (mut yes, mut no) = (0, (1u64 << (2 * BITS)) + 1);
    while no - yes > 1 + yes / 1_000 {
        let middle = yes + (no - yes) / 2;
        if fits(middle) { yes = middle } else { no = middle }
    }
    let budgets: Vec<_> = mine.iter().map(|&at| (at, of(at, yes))).collect();
    for (at, budget) in budgets {
        if let Some(budget) = budget {
            set_class(system, at, |class| class.with_budget(budget));
        }
    }
}
