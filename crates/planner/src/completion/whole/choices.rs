//! Choices for the open parts of a description, where PCPUs do not affect each other.

use std::collections::BTreeSet;

use analysis::Duration;
use system::description::System;

use super::super::pcpus::{At, vcpu};
use super::super::periods;
use super::super::problem::least_colors;
use super::open::Open;

/// No shorter period is chosen for less processor time, unless a deadline is as short: what a
/// switch costs beyond the bounds is not known.
const SHORTEST: u64 = 1_000_000;

/// Choices for each VM.
#[derive(Clone, Debug)]
pub struct Choices {
    /// The open parts.
    pub open: Open,
    /// Periods for VCPUs with open periods, the longest first.
    pub periods: Vec<Vec<Duration>>,
    /// VCPUs on which tasks may run.
    pub slots: Vec<Vec<usize>>,
    /// The fewest colours of the VMs that have a planned number of them, for all tasks alike.
    pub colors: Vec<(usize, usize)>,
    /// True if a VM has planned colours for each task.
    pub own_colors: bool,
}

impl Choices {
    /// Returns the choices of a description.
    pub fn of(system: &System, open: &Open) -> Self {
        let vms = 0..system.vms.len();
        let slots = |vm: usize| {
            let has_budget = |index: &usize| {
                let server = vcpu(system, (vm, *index)).server.as_ref();
                server.is_none_or(|server| server.class.value.budget().is_some())
            };
            (0..system.vms[vm].vcpus.len()).filter(has_budget).collect()
        };
        let colored = open.colors.iter().filter(|&&vm| !system.vms[vm].vllc);
        let colors = colored.map(|&vm| (vm, least_colors(system, vm).max(1))).collect();
        Self {
            open: open.clone(),
            periods: vms.clone().map(|vm| of_vm(system, vm)).collect(),
            slots: vms.map(slots).collect(),
            colors,
            own_colors: open.colors.iter().any(|&vm| system.vms[vm].vllc),
        }
    }

    /// Returns the tasks of a VM whose VCPUs are open.
    pub fn tasks(&self, vm: usize) -> Vec<usize> {
        self.open.tasks.iter().filter(|at| at.0 == vm).map(|at| at.1).collect()
    }

    /// Returns the VCPUs of a VM whose periods are open.
    pub fn open_periods(&self, vm: usize) -> Vec<At> {
        self.open.periods.iter().copied().filter(|at| at.0 == vm).collect()
    }
}

/// Returns periods for a VM: those of the planner that are not very short, and round ones.
fn of_vm(system: &System, vm: usize) -> Vec<Duration> {
    let own = periods::candidates(system, vm);
    let Some(longest) = own.first().copied() else { return own };
    let deadlines = system.vms[vm].tasks.iter().map(|task| task.deadline.0);
    let shortest = SHORTEST.min(deadlines.min().unwrap_or(SHORTEST));
    let round = [1_000_000, 2_000_000, 4_000_000].map(|period| periods::whole(system, period));
    let all: BTreeSet<Duration> = own.into_iter().chain(round).collect();
    let fit = |period: &Duration| period.0 >= shortest && *period <= longest;
    let mut all: Vec<Duration> = all.into_iter().filter(fit).collect();
    all.reverse();
    if all.is_empty() { vec![longest] } else { all }
}
