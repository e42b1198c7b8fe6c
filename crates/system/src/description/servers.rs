//! VCPUs that share a PCPU: whether their servers fit together.

use units::Duration;

use super::{Located, Server, Vm};
use crate::diagnostic::{Diagnostic, Place};
use crate::plan::{Budget, Class};
use crate::platform::Platform;

/// Returns the mistakes in the VCPUs of one PCPU.
///
/// VCPUs without a server are left out: the plan decides which PCPU they get.
pub(super) fn check(vms: &[&Vm]) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    let mut pcpus: Vec<(u64, Vec<&Server>)> = Vec::new();
    for vcpu in vms.iter().flat_map(|vm| &vm.vcpus) {
        let (Some(pcpu), Some(server)) = (&vcpu.pcpu, &vcpu.server) else { continue };
        let known = pcpus.iter().position(|(other, _)| *other == pcpu.value);
        let known = known.unwrap_or_else(|| {
            pcpus.push((pcpu.value, Vec::new()));
            pcpus.len() - 1
        });
        pcpus[known].1.push(server);
    }
    for (pcpu, servers) in pcpus {
        for (index, server) in servers.iter().enumerate() {
            mistakes.extend(priority(pcpu, server, &servers));
            mistakes.extend(budget(pcpu, server, &servers[..index]));
        }
    }
    mistakes
}

/// Returns the mistakes in the periods on a machine: the hypervisor counts in ticks of its system
/// counter, and refuses a period that is not a whole number of ticks.
pub(super) fn check_ticks(platform: &Platform, vms: &[&Vm]) -> Vec<Diagnostic> {
    let servers = vms.iter().flat_map(|vm| &vm.vcpus).filter_map(|vcpu| vcpu.server.as_ref());
    let mistake = |server: &Server| {
        let period = server.class.value.budget()?.period;
        ticks(platform, period, server.period.as_ref()?)
    };
    servers.filter_map(mistake).collect()
}

/// Returns the mistake of a period that is not a whole number of ticks.
pub(super) fn ticks(platform: &Platform, period: Duration, place: &Place) -> Option<Diagnostic> {
    let counter = platform.counter?;
    let Duration(whole) = counter.common_period();
    let Duration(period) = period;
    if period.is_multiple_of(whole) {
        return None;
    }
    let nearest = Duration((period.saturating_add(whole / 2) / whole).max(1) * whole);
    let message = format!("the counter of `{}` makes {counter}", platform.name);
    let help = format!(
        "a period is a multiple of {}, or its renewals would drift: the nearest is {nearest}",
        Duration(whole)
    );
    let mistake = Diagnostic::new("out-of-range", message);
    Some(mistake.at(place, "no whole number of its ticks").help(help))
}

/// On one PCPU priorities are given to all VCPUs or none; those of the background come last.
fn priority(pcpu: u64, server: &Server, all: &[&Server]) -> Option<Diagnostic> {
    let Some(own) = &server.priority else {
        let given = all.iter().find_map(|other| other.priority.as_ref())?;
        let message = format!("a VCPU of PCPU {pcpu} has no priority");
        let mistake = Diagnostic::new("missing-key", message)
            .at(&server.class.place, "this VCPU")
            .also(&given.place, "but this one has")
            .help("give all VCPUs of a PCPU a priority, or none");
        return Some(mistake);
    };
    let below = |other: &Located<u64>| other.value < own.value;
    let with_budget = |other: &&Server| other.class.value != Class::Background;
    let others = all.iter().copied().filter(with_budget).filter_map(|it| it.priority.as_ref());
    let lower = match server.class.value {
        Class::Background => others.into_iter().find(|other| below(other))?,
        _ => return None,
    };
    let mistake = Diagnostic::new("wrong-value", "a VCPU of the background would go first")
        .at(&own.place, "above a VCPU with a budget")
        .also(&lower.place, "that one")
        .help("the background gets the time that other VCPUs leave: give it a smaller number");
    Some(mistake)
}

/// The VCPUs of a PCPU cannot have more time than it.
fn budget(pcpu: u64, server: &Server, before: &[&Server]) -> Option<Diagnostic> {
    // Budgets that are planned fit, or there is no plan.
    let given = |server: &Server| server.class.value.budget().filter(|_| !server.open);
    let share = |server: &Server| given(server).map_or(0, Budget::share);
    let taken = before.iter().fold(0u128, |sum, other| sum.saturating_add(share(other)));
    let all = taken.saturating_add(share(server));
    // Once for each PCPU.
    if taken > Budget::WHOLE || all <= Budget::WHOLE {
        return None;
    }
    let message = format!("the budgets of PCPU {pcpu} are more than its time");
    let percent = all.div_ceil(Budget::WHOLE / 100);
    let mistake = Diagnostic::new("out-of-range", message)
        .at(&server.class.place, format!("{percent} % with this one"))
        .help("the sum of all budget / period on a PCPU is at most 1");
    Some(mistake)
}
