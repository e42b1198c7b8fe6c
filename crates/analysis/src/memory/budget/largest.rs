//! The largest budgets with which tasks are in time, by their response times.

use std::collections::BTreeSet;

use crate::memory::{Bus, Contention, Reservation, Source, Throttle, compensation, interferers};
use crate::response::{Analyzer, Workload};
use crate::{Duration, LONGEST, Limits};

/// Enough for all but systems that need all of their time.
const LIMITS: Limits = Limits { window: LONGEST, passes: 200_000 };

/// A VCPU whose tasks have to be in time.
#[derive(Clone, Copy, Debug)]
pub struct Critical<'a> {
    /// Its PCPU: other VCPUs there do not interfere.
    pub pcpu: u32,
    /// Its tasks, with their supply and their colours.
    pub workload: Workload<'a>,
    /// Maximum number of accesses of a job of each task, in their order; `None`: unknown.
    pub accesses: &'a [Option<u64>],
    /// The most accesses that load one colour of the cache again, if that counts.
    pub reload: u64,
    /// Its own budget, if it has one that is given.
    pub throttle: Option<Throttle>,
    /// Sources of accesses without an open budget, for this VCPU.
    pub others: &'a [Source],
    /// True if its accesses count for the compensation of those with open budgets.
    pub counts: bool,
}

/// An open budget: of a VCPU, or of all VCPUs of a VM.
#[derive(Clone, Debug)]
pub struct Share {
    /// The PCPUs on which the accesses are made.
    pub pcpus: BTreeSet<u32>,
    /// Accesses that its VCPUs make beyond its budget at most, all together ([`Bus::overshoot`]).
    pub overshoot: u64,
    /// The period of its budget: more than 0, at most [`LONGEST`].
    pub period: Duration,
    /// Its weight: budgets per period are in proportion to the weights.
    pub weight: u64,
    /// Periods between two resets of its credits; 1: no compensation.
    pub compensation: u32,
}

/// Returns the largest budgets, in accesses per period and in proportion to the weights, with which
/// all tasks meet their deadlines. None if budgets of 1 access are too much.
///
/// Tasks are judged by their response times ([`mod@crate::response`]), for which the accesses that
/// they make are a limit too. So this is never less than what XenThrottle's Eq. 3.7 gives, which
/// judges by the slack at the deadline and the curve alone ([`super::of_slack_in_practice`]), and
/// can be much more: a task that makes few accesses needs no budgets at all. Response times grow
/// with the budgets, so that a search by halves finds the largest. A budget of `P/L` allows as many
/// accesses as no budget, and is the largest result.
pub fn largest(critical: &[Critical<'_>], shares: &[Share], bus: &Bus) -> Option<Vec<u64>> {
    let weights = shares.iter().map(|share| u128::from(share.weight)).sum::<u128>().max(1);
    let most = |share: &Share| (share.period.0 / bus.latency.0.max(1)).max(1);
    let budgets = |all: u128| -> Vec<u64> {
        let part = |share: &Share| {
            let part = all.saturating_mul(share.weight.into()) / weights;
            u64::try_from(part).unwrap_or(u64::MAX).clamp(1, most(share))
        };
        shares.iter().map(part).collect()
    };
    let mut analyzer = Analyzer::new(LIMITS);
    let mut fits = |budgets: &[u64]| {
        critical.iter().all(|it| in_time(it, shares, budgets, bus, &mut analyzer))
    };
    if !fits(&budgets(0)) {
        return None;
    }
    let enough = |share: &Share| {
        (u128::from(most(share)) * weights).checked_div(share.weight.into()).unwrap_or(0) + 1
    };
    let (mut low, mut high) = (0, shares.iter().map(enough).max().unwrap_or(0));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(&budgets(middle)) { low = middle } else { high = middle - 1 }
    }
    Some(budgets(low))
}

/// Returns true if the tasks of a VCPU are in time beside these budgets.
fn in_time(
    critical: &Critical<'_>,
    shares: &[Share],
    budgets: &[u64],
    bus: &Bus,
    analyzer: &mut Analyzer,
) -> bool {
    let source = |(share, &budget): (&Share, &u64)| {
        let reservation = Reservation::new(budget, share.period).ok()?;
        let in_flight = bus.in_flight.saturating_mul(share.pcpus.len() as u64);
        let curve = match critical.counts {
            true => compensation::with_compensation,
            false => compensation::for_others,
        };
        let limit = curve(
            &reservation,
            &Bus { overshoot: share.overshoot, in_flight, ..*bus },
            share.compensation,
        );
        Some(Source { pcpus: share.pcpus.clone(), limit: Some(limit) })
    };
    // An invalid period: no bound is known.
    let Some(sources) = shares.iter().zip(budgets).map(source).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let interferers = interferers(sources.iter().chain(critical.others), critical.pcpu);
    let contention = Contention {
        bus: *bus,
        accesses: critical.accesses,
        reload: critical.reload,
        interferers: &interferers,
        throttle: critical.throttle,
    };
    analyzer.schedulable(&critical.workload.with_contention(contention)).is_ok()
}
