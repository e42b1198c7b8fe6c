//! Checks that overrun fits the servers and the protocol.

use units::Duration;

use super::{Resource, hold};
use crate::description::{Located, Server, Vm};
use crate::diagnostic::{Diagnostic, Place};
use crate::plan::{Class, Locks};

/// Returns the mistakes in the VCPUs that may overrun their budgets.
pub(in crate::description) fn check(
    locks: Option<&Located<Locks>>,
    (vms, section_overhead): (&[&Vm], Duration),
    resources: &[Resource],
) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (index, vm) in vms.iter().enumerate() {
        for (vcpu, it) in vm.vcpus.iter().enumerate() {
            let Some(server) = &it.server else { continue };
            let Some(place) = &server.overrun else { continue };
            let limit = hold((vms, section_overhead), resources, index, vcpu);
            mistakes.extend(
                protocol(locks, place).or_else(|| fits(server, place, (limit, section_overhead))),
            );
        }
    }
    mistakes
}

fn protocol(locks: Option<&Located<Locks>>, place: &Place) -> Option<Diagnostic> {
    let mpcp = locks.filter(|locks| locks.value == Locks::Mpcp)?;
    let mistake = Diagnostic::new("useless-key", "`overrun` has no meaning here");
    let why = "the hypervisor does not know of critical sections";
    let help = "remove it, or use `locks = \"vmpcp\"`";
    Some(mistake.at(place, why).also(&mpcp.place, "with this protocol").help(help))
}

fn fits(
    server: &Server,
    place: &Place,
    (limit, section_overhead): (Duration, Duration),
) -> Option<Diagnostic> {
    let wrong = |code, message: String, help: &str| {
        Some(Diagnostic::new(code, message).at(place, "here").help(help))
    };
    let budget = match server.class.value {
        Class::Reserved(kind, budget) if kind.may_overrun() => budget,
        other => {
            let message = format!("a server that is {} has no overrun", other.as_str());
            let help = "only periodic and deferrable servers can overrun: remove this";
            return wrong("useless-key", message, help);
        }
    };
    if server.open {
        let message = "the budget is to be planned, but overrun needs one".into();
        return wrong("missing-key", message, "give `budget` and `period`");
    }
    if limit == Duration(0) {
        let message = "no task of the VCPU has a global critical section".into();
        let help = "overrun lasts as long as these: describe them, or remove this";
        return wrong("useless-key", message, help);
    }
    if limit.0 > budget.period.0.saturating_sub(budget.budget.0) {
        let message = format!(
            "the budget of {} and an overrun of {limit} do not fit into the period of {}",
            budget.budget, budget.period
        );
        let help = format!(
            "the overrun is the sum of the longest global critical sections of its tasks, and \
             {section_overhead} for each (`section_overhead`)"
        );
        return wrong("out-of-range", message, &help);
    }
    None
}
