//! Checks that servers can have the overrun that they have.

use analysis::Duration;
use system::description::System;
use system::plan::{Budget, Class, Locks};

use super::super::pcpus::{all, late, vcpu};
use super::super::problem::grain;
use super::super::set_class;
use super::open::Open;

/// Takes back overrun that was chosen where there can be none, and makes room for the others in
/// budgets that are open.
pub fn fit(system: &mut System, open: &Open) {
    if open.kinds.overruns.is_empty() {
        return;
    }
    // The end of a budget can come so much later.
    let late = late(system).0;
    for &at in &open.kinds.overruns {
        let (vm, index) = at;
        let limit = system.hold(vm, index);
        let grain = grain(system).0.0.max(1);
        let protocol = system.locks;
        let Some(server) = system.vms[vm].vcpus[index].server.as_mut() else { continue };
        if server.overrun.is_none() {
            continue;
        }
        let room = match server.class.value {
            Class::Reserved(kind, budget)
                if kind.may_overrun() && protocol == Locks::Vmpcp && limit > Duration(0) =>
            {
                budget.period.0.checked_sub(limit.0)
            }
            _ => None,
        };
        let budget = server.class.value.budget();
        let Some((room, budget)) = room.zip(budget) else {
            server.overrun = None;
            continue;
        };
        if budget.budget.0 <= room {
            continue;
        }
        let less = Duration(room.saturating_sub(late) / grain * grain);
        if !open.budgets.contains(&at) || less < Budget::SHORTEST {
            server.overrun = None;
            continue;
        }
        set_class(system, at, |class| class.with_budget(Budget { budget: less, ..budget }));
    }
}

/// Returns true if every overrun of a complete description has its protocol, its kind of server,
/// and room in the period.
pub fn is_allowed(system: &System) -> bool {
    all(system).into_iter().all(|at| {
        let overrun = system.overrun(at.0, at.1);
        let class = vcpu(system, at).server.as_ref().map(|server| server.class.value);
        match class {
            _ if overrun == Duration(0) => true,
            Some(Class::Reserved(kind, budget)) => {
                let rest = budget.period.0.saturating_sub(budget.budget.0);
                kind.may_overrun() && system.locks == Locks::Vmpcp && overrun.0 <= rest
            }
            _ => false,
        }
    })
}
