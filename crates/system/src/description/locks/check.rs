//! Checks that overrun fits the servers and the protocol.

use units::Duration;

use super::{Resource, hold, may_be_inside};
use crate::description::{Located, Server, Vm};
use crate::diagnostic::{Diagnostic, Place};
use crate::plan::{Class, Locks};

/// Returns the mistakes in the protocol, and in the VCPUs that may overrun their budgets or for
/// which that is to be planned.
pub(in crate::description) fn check(
    locks: Option<&Located<Option<Locks>>>,
    (vms, section_overhead): (&[&Vm], Duration),
    resources: &[Resource],
) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    mistakes.extend(locks.and_then(|locks| useless(locks, vms)));
    for (index, vm) in vms.iter().enumerate() {
        for (vcpu, it) in vm.vcpus.iter().enumerate() {
            // Where their number is planned, all are like the first.
            if vcpu > 0 && vm.vcpus_open.is_some() {
                break;
            }
            let Some(server) = &it.server else { continue };
            if let Some(place) = &server.overrun_open {
                let inside = may_be_inside(vms, resources, index, vcpu);
                mistakes
                    .extend(protocol(locks, place, true).or_else(|| open(server, place, inside)));
            }
            // Where the number of VCPUs is planned, that was refused before.
            if let Some(place) = server.overrun.as_ref().filter(|_| vm.vcpus_open.is_none()) {
                let limit = hold((vms, section_overhead), resources, index, vcpu);
                let fits = || fits(server, place, (limit, section_overhead));
                mistakes.extend(protocol(locks, place, false).or_else(fits));
            }
        }
    }
    mistakes
}

/// A protocol cannot be chosen if there are no locks.
fn useless(locks: &Located<Option<Locks>>, vms: &[&Vm]) -> Option<Diagnostic> {
    let mut tasks = vms.iter().flat_map(|vm| &vm.tasks);
    if locks.value.is_some() || tasks.any(|task| !task.sections.is_empty()) {
        return None;
    }
    let mistake = Diagnostic::new("useless-key", "there is nothing to plan for `locks`");
    let help = "describe the `sections` of tasks, or remove this";
    Some(mistake.at(&locks.place, "no task has critical sections").help(help))
}

fn protocol(
    locks: Option<&Located<Option<Locks>>>,
    place: &Place,
    is_open: bool,
) -> Option<Diagnostic> {
    let locks = locks?;
    match locks.value {
        Some(Locks::Vmpcp) => None,
        Some(Locks::Mpcp) => {
            let mistake = Diagnostic::new("useless-key", "`overrun` has no meaning here");
            let why = "the hypervisor does not know of critical sections";
            let help = "remove it, or use `locks = \"vmpcp\"`";
            Some(mistake.at(place, why).also(&locks.place, "with this protocol").help(help))
        }
        None if is_open => None,
        None => {
            let message = "`locks` is to be planned, but only one protocol has an overrun";
            let help = "say `locks = \"vmpcp\"`, or leave both open with `overrun = \"planned\"`";
            let mistake = Diagnostic::new("wrong-value", message);
            Some(mistake.at(place, "given here").also(&locks.place, "planned").help(help))
        }
    }
}

/// Returns the mistake of an overrun that is to be planned where there can be none.
fn open(server: &Server, place: &Place, may_be_inside: bool) -> Option<Diagnostic> {
    match server.class.value {
        Class::Reserved(kind, _) if kind.may_overrun() => {}
        other => return Some(has_none(other, place)),
    }
    (!may_be_inside).then(|| no_section(place))
}

fn has_none(class: Class, place: &Place) -> Diagnostic {
    let message = format!("a server that is {} has no overrun", class.as_str());
    let help = "only periodic and deferrable servers can overrun: remove this";
    Diagnostic::new("useless-key", message).at(place, "here").help(help)
}

fn no_section(place: &Place) -> Diagnostic {
    let message = "no task of the VCPU has a global critical section";
    let help = "overrun lasts as long as these: describe them, or remove this";
    Diagnostic::new("useless-key", message).at(place, "here").help(help)
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
        other => return Some(has_none(other, place)),
    };
    if server.open {
        let message = "the budget is to be planned, but overrun needs one".into();
        let help = "give `budget` and `period`, or say `overrun = \"planned\"`";
        return wrong("missing-key", message, help);
    }
    if limit == Duration(0) {
        return Some(no_section(place));
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
