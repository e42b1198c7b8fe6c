//! Memory accesses in the periods of budgets.

use std::collections::BTreeMap;
use std::path::Path;

use report::proof::Traffic;
use system::plan::MemoryBudget;
use trace::{Event, Trace, VcpuId};

use crate::cachescope::bins::Bin;
use crate::cachescope::rows;
use crate::failure::Failure;
use crate::load::System;

/// Shortest interval of the cache model's time series.
const BIN_MIN_NS: u64 = 100_000;

/// A budget and its owner.
struct Budget {
    vm: usize,
    /// The VCPU; `None`: the budget is for all VCPUs of the VM.
    vcpu: Option<usize>,
    budget: MemoryBudget,
    /// Most budgets that a period can have, with credits.
    credits: u64,
}

/// Returns all budgets of the plan that count accesses.
fn budgets(system: &System) -> Vec<Budget> {
    let counter = system.plan.platform.bandwidth_counter.as_ref();
    if !counter.is_some_and(|counter| counter.source.counts_memory()) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (vm, it) in system.plan.vms.iter().enumerate() {
        let credits = it.compensation.map_or(1, |it| u64::from(it.periods));
        all.extend(it.memory_budget.map(|budget| Budget { vm, vcpu: None, budget, credits }));
        for (vcpu, it) in it.vcpus.iter().enumerate() {
            let own = it.memory_budget;
            all.extend(own.map(|budget| Budget { vm, vcpu: Some(vcpu), budget, credits: 1 }));
        }
    }
    all
}

/// Returns the interval of the time series that fits all periods of budgets; `None`: there are
/// none.
pub fn bin_ns(system: &System) -> Option<u64> {
    let periods = budgets(system).into_iter().map(|it| it.budget.period.0);
    let common = periods.reduce(|a, b| {
        let (mut a, mut b) = (a, b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    });
    common.filter(|ns| *ns >= BIN_MIN_NS)
}

/// Returns the accesses of all VMs and VCPUs with a budget: with the plan as the hypervisor counted
/// them, without isolation as the cache model did.
pub fn traffic(
    system: &System,
    with: &Trace,
    without: Option<&Path>,
) -> Result<Vec<Traffic>, Failure> {
    let bins = without.map(|folder| rows(&folder.join("timeseries.csv"))).transpose()?;
    let of = |it: Budget| {
        let window_ns = it.budget.period.0;
        let name = &system.plan.vms[it.vm].name;
        let without = match (it.vcpu, &bins) {
            (None, Some(bins)) => series(bins, name, window_ns),
            _ => Vec::new(),
        };
        let overshoot = system.description.as_deref().map_or(0, |described| {
            verdict::memory_overshoot(&system.plan, described, it.vm, it.vcpu)
        });
        let windows = windows(with, &it);
        Traffic {
            vm: it.vm,
            vcpu: it.vcpu,
            window_ns,
            budget_accesses: Some(it.budget.accesses.saturating_mul(it.credits)),
            overshoot_accesses: overshoot,
            without_accesses: without,
            with_accesses: windows.accesses,
            throttled_windows: windows.throttled,
        }
    };
    Ok(budgets(system).into_iter().map(of).collect())
}

/// Lines that a VM moved in each window, by the model.
fn series(bins: &[Bin], vm: &str, window_ns: u64) -> Vec<u64> {
    let mut series = Vec::new();
    for bin in bins.iter().filter(|bin| bin.owner == vm) {
        let window = (bin.time_ns / window_ns) as usize;
        series.resize(series.len().max(window + 1), 0);
        series[window] += bin.accesses();
    }
    series
}

/// The hypervisor's counts in the periods of a budget.
#[derive(Debug, Default, Eq, PartialEq)]
struct Windows {
    accesses: Vec<u64>,
    throttled: Vec<usize>,
}

/// Returns the counts in each period. An entry has the accesses since the entry before, or since
/// the VCPU began to run. They belong to one period, because each period starts with an entry.
fn windows(trace: &Trace, budget: &Budget) -> Windows {
    let clock = trace.clock();
    let window = |ticks: u64| (clock.ns(ticks).max(0) as u64 / budget.budget.period.0) as usize;
    let is_it = |id: VcpuId| {
        usize::from(id.vm) == budget.vm
            && budget.vcpu.is_none_or(|vcpu| usize::from(id.vcpu) == vcpu)
    };
    let mut found = Windows::default();
    found.accesses.resize(window(trace.last()) + 1, 0);
    for track in &trace.tracks {
        let mut since: BTreeMap<VcpuId, u64> = BTreeMap::new();
        let mut over: Option<(VcpuId, u64)> = None;
        for entry in track {
            match entry.event {
                Event::Run { vcpu, .. } | Event::Recharge { vcpu, .. } if is_it(vcpu) => {
                    since.insert(vcpu, entry.ticks);
                    over = over.filter(|(id, _)| *id != vcpu);
                }
                // It stops because of what it accessed.
                Event::Run { .. } | Event::Idle => {
                    let at = over.take().map(|(_, ticks)| window(ticks));
                    found.throttled.extend(at);
                }
                Event::Account { vcpu, accesses } | Event::Overflow { vcpu, accesses }
                    if is_it(vcpu) =>
                {
                    let from = since.insert(vcpu, entry.ticks).unwrap_or(entry.ticks);
                    found.accesses[window(from)] += accesses;
                    if let Event::Overflow { .. } = entry.event {
                        over = Some((vcpu, entry.ticks));
                    }
                }
                _ => {}
            }
        }
    }
    found.throttled.sort_unstable();
    found.throttled.dedup();
    found
}
