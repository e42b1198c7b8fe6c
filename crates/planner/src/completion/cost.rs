//! The cost of plans that hold: numbers of which less is better, the most important one first.

use system::description::System;

use super::memory::Limits;
use super::objective::{Objective, Weights};
use super::slack::TARGET;
use super::whole::improve::pcpus;
use super::whole::judge::{Judge, WHOLE};
use super::whole::longer::slack_of;
use super::whole::open::Open;
use super::whole::{Request, finish};

/// The scale by which plans are compared, and the request for it.
pub(super) struct Scale<'a> {
    pub objective: Objective,
    pub limits: Option<Limits>,
    pub request: &'a Request<'a>,
    /// Values that count as 1 where objectives have weights.
    pub unit: Option<Values>,
}

/// The values of a plan.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Values {
    /// Processor time of all VCPUs, in millionths of a PCPU.
    pub share: u64,
    /// The part by which all execution times can grow, in millionths.
    pub slack: u64,
    /// PCPUs on which VCPUs run.
    pub pcpus: u64,
    /// Accesses of a second of the VM that counts.
    pub accesses: u128,
}

impl Values {
    /// Returns the best of each.
    pub fn best(all: impl Iterator<Item = Self>) -> Self {
        let better = |one: Self, other: Self| Self {
            share: one.share.min(other.share),
            slack: one.slack.max(other.slack),
            pcpus: one.pcpus.min(other.pcpus),
            accesses: one.accesses.max(other.accesses),
        };
        all.reduce(better).unwrap_or_default()
    }
}

impl<'a> Scale<'a> {
    /// Returns the scale of an objective.
    pub fn new(system: &System, objective: Objective, request: &'a Request<'a>) -> Self {
        let limits = Open::of(system).limits.then(|| Limits::of(system));
        Self { objective, limits, request, unit: None }
    }

    /// Returns the cost of a plan that holds.
    pub fn cost(&self, plan: &System) -> Vec<i128> {
        let share = i128::from(finish::share(plan));
        let sum = || signed(self.limits.as_ref().map_or(0, |limits| limits.sum(plan)));
        let slack = || i128::from(WHOLE + slack_of(plan, self.request));
        match self.objective {
            Objective::LeastTime => vec![-sum(), share],
            Objective::FewestPcpus => vec![pcpus(plan) as i128, -sum(), share],
            Objective::MostBandwidth(vm) => {
                let own = self.limits.as_ref().map_or(0, |limits| limits.of_vm(plan, vm));
                vec![-signed(own), -sum(), share]
            }
            Objective::MostSlack | Objective::Described => {
                let slack = slack();
                match self.limits {
                    Some(_) => vec![-slack.min(i128::from(WHOLE + TARGET)), -sum(), -slack, share],
                    None => {
                        let beside = self.beside_slack(plan);
                        std::iter::once(-slack).chain(beside).collect()
                    }
                }
            }
            Objective::Weighted(weights) => {
                vec![signed(self.weighed(&weights, &self.values(plan, &weights))), share]
            }
        }
    }

    /// Returns the numbers that count if the slack of all tasks is the same: the sum of the worst tasks of VCPUs, and
    /// processor time.
    pub fn beside_slack(&self, plan: &System) -> [i128; 2] {
        let judged = Judge::new(self.request).judge(plan);
        let worst = judged.iter().flat_map(|it| &it.vcpus).map(|it| i128::from(it.worst)).sum();
        [worst, i128::from(finish::share(plan))]
    }

    /// Returns the values of a plan.
    pub fn values(&self, plan: &System, weights: &Weights) -> Values {
        let vm = weights.bandwidth.map(|(vm, _)| vm);
        Values {
            share: finish::share(plan),
            slack: if weights.slack > 0 { slack_of(plan, self.request) } else { 0 },
            pcpus: pcpus(plan) as u64,
            accesses: match (vm, &self.limits) {
                (Some(vm), Some(limits)) => limits.of_vm(plan, vm),
                _ => 0,
            },
        }
    }

    /// Returns the mean of the parts by which a plan is worse than the unit, in millionths.
    pub fn weighed(&self, weights: &Weights, values: &Values) -> u128 {
        let ratio =
            |worse: u128, better: u128| worse.saturating_mul(u128::from(WHOLE)) / better.max(1);
        let unit = self.unit.unwrap_or(Values { share: 1, slack: 0, pcpus: 1, accesses: 1 });
        let whole = u128::from(WHOLE);
        let accesses = weights.bandwidth.map_or(0, |(_, weight)| weight);
        let parts = [
            (weights.time, ratio(values.share.into(), unit.share.into())),
            (
                weights.slack,
                ratio(whole + u128::from(unit.slack), whole + u128::from(values.slack)),
            ),
            (weights.pcpus, ratio(values.pcpus.into(), unit.pcpus.into())),
            (accesses, ratio(unit.accesses, values.accesses)),
        ];
        let sum: u128 = parts.iter().map(|(weight, _)| u128::from(*weight)).sum();
        let all = parts.iter().map(|(weight, it)| u128::from(*weight).saturating_mul(*it));
        all.fold(0, u128::saturating_add) / sum.max(1)
    }
}

fn signed(number: u128) -> i128 {
    i128::try_from(number).unwrap_or(i128::MAX)
}

/// Returns true if `new` is less than `old` in the first number in which they differ by more than
/// `thousandths` thousandths of `old`.
pub(super) fn is_better(new: &[i128], old: &[i128], thousandths: i128) -> bool {
    for (new, old) in new.iter().zip(old) {
        let least = old.abs() / 1_000 * thousandths;
        if (old - new).abs() > least {
            return new < old;
        }
    }
    false
}
