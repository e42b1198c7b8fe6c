//! The budget of the experiments (vMPCP, section V.A): one for all VCPUs, as large as Eq. 5 allows.

use super::analyzer::Analyzer;
use super::host::Host;
use super::system::System;
use crate::{Duration, Kind, Server};

/// All VCPUs have servers with this period.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Common {
    /// The kind of the servers.
    pub kind: Kind,
    /// True if they overrun.
    pub overrun: bool,
    /// Their period.
    pub period: Duration,
    /// Difference between two candidates for the budget.
    pub step: Duration,
}

/// Returns the largest budget of which the period is whole steps above, with which all VCPUs get
/// their budgets; `hosts` are then the VCPUs with it. None if there is no such budget.
///
/// The paper decreases the budget from the period step by step. Here bisection finds it: if all
/// VCPUs pass Eq. 5 with a budget `C`, they do with `C - d`. For a `W` that solves Eq. 5, all terms
/// of which have the same `C` and jitters that grow by `d`, `W - d` has the same number of each,
/// and is no less than the right side.
pub fn largest(
    analyzer: &mut Analyzer,
    system: &System,
    common: &Common,
    hosts: &mut Vec<Host>,
) -> Option<Duration> {
    let mut fits = |steps: u64| {
        let budget = common.period.0.checked_sub(steps.checked_mul(common.step.0)?)?;
        let server = Server::new(common.kind, Duration(budget), common.period).ok()?;
        hosts.clear();
        hosts.resize(system.vcpus(), Host::new(server, common.overrun));
        analyzer.hosts_fit(system, hosts).ok().map(|()| Duration(budget))
    };
    let most = common.period.0.checked_sub(1)? / common.step.0.max(1);
    // Fewest steps with which it fits.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        match fits(middle) {
            Some(_) => high = middle,
            None => low = middle + 1,
        }
    }
    fits(low)
}
