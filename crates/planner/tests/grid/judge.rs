//! The judge of all plans: the code of `bulkhead check`.

use policy::color::ColorSet;
use system::description::{Amount, System, Vm};
use system::plan::{self, Plan};
use verdict::Verdict;

/// Returns the verdict of `bulkhead check` on a description in which nothing is open; `None` if it
/// has no plan.
pub fn verdict(system: &System) -> Option<Verdict> {
    match system.platform.value.boot.is_ok() {
        true => Some(Verdict::of_plan(&plan::make(system).ok()?, Some(system))),
        // Such a machine has no file of a plan.
        false => Some(Verdict::of_description(system, &plan::assign(system).ok()?)),
    }
}

/// Returns true if `bulkhead check` says that all deadlines are met.
pub fn passes(system: &System) -> bool {
    verdict(system).is_some_and(|verdict| verdict.schedulable)
}

/// Says what is wrong with a completed description, whether or not deadlines are met; `None`: it has
/// a plan, and everything that was given is as it was.
pub fn mistake(given: &System, completed: &System) -> Option<String> {
    if completed.is_open() {
        return Some("something is open still".into());
    }
    if let Some(change) = change(given, completed) {
        return Some(format!("something given has changed: {change}"));
    }
    if let Some(common) = common_colors(completed) {
        return Some(format!("two VMs have the colours {common}"));
    }
    if completed.platform.value.boot.is_err() {
        return plan::assign(completed).err().map(|errors| format!("it has no plan: {errors}"));
    }
    let made = match plan::make(completed) {
        Ok(made) => made,
        Err(errors) => return Some(format!("it has no plan: {errors}")),
    };
    let read = match Plan::from_dts("grid.plan.dts", &made.to_dts()) {
        Ok(read) => read,
        Err(errors) => return Some(format!("the plan that is written cannot be read: {errors}")),
    };
    if read != made {
        return Some("the plan that is written is another one".into());
    }
    None
}

/// Names a task or a chain that is late in a system without other mistakes; `None`: all deadlines are met.
pub fn late(system: &System) -> Option<String> {
    let verdict = verdict(system)?;
    if let Some((vcpu, task)) = verdict.tasks().find(|(_, task)| !task.ok) {
        return Some(format!("`{}` of VM `{}` is late: {task:?}", task.task, vcpu.vm));
    }
    let chain = verdict.chains.iter().find(|chain| !chain.ok)?;
    Some(format!("chain `{}` is late", chain.chain))
}

/// Returns what a plan is worth: how many memory accesses in a second the limits allow that were
/// open, and the sum of budget / period of all VCPUs.
pub fn worth(given: &System, completed: &System) -> (f64, f64) {
    let pairs = given.limits().zip(completed.limits());
    let rates =
        pairs.filter(|(given, _)| given.is_open()).map(|(_, decided)| match decided.amount.value {
            Amount::Accesses(accesses) => accesses as f64 * 1e9 / decided.period.value.0 as f64,
            _ => 0.0,
        });
    let servers = completed.vms.iter().flat_map(|vm| &vm.vcpus).filter_map(|it| it.server.as_ref());
    let budgets = servers.filter_map(|server| server.class.value.budget());
    (rates.sum(), budgets.map(|it| it.budget.0 as f64 / it.period.0 as f64).sum())
}

/// Returns the first thing that is not as it was given.
fn change(given: &System, completed: &System) -> Option<String> {
    let mut again = completed.clone();
    for (given, again) in given.vms.iter().zip(&mut again.vms) {
        reopen(given, again);
    }
    if again == *given {
        return None;
    }
    let vms = given.vms.iter().zip(&again.vms);
    let different = vms.filter(|(given, again)| given != again).map(|(vm, _)| &vm.name.value);
    let different: Vec<_> = different.cloned().collect();
    Some(format!("in the VMs {}", different.join(", ")))
}

/// Takes back what could be decided.
fn reopen(given: &Vm, again: &mut Vm) {
    if given.colors_open.is_some() {
        (again.colors, again.colors_open) = (None, given.colors_open.clone());
        again.tasks.iter_mut().for_each(|task| task.colors = None);
    }
    let open = |amount: &Amount| *amount == Amount::Planned;
    if let (Some(given), Some(again)) = (&given.bandwidth, &mut again.bandwidth)
        && open(&given.amount.value)
    {
        again.amount = given.amount.clone();
    }
    for (given, again) in given.tasks.iter().zip(&mut again.tasks) {
        if given.vcpu_open {
            (again.vcpu, again.vcpu_open) = (given.vcpu, true);
        }
    }
    for (given, again) in given.vcpus.iter().zip(&mut again.vcpus) {
        if let (Some(given), Some(again)) = (&given.bandwidth, &mut again.bandwidth)
            && open(&given.amount.value)
        {
            again.amount = given.amount.clone();
        }
        if given.pcpu.is_none() {
            again.pcpu = None;
        }
        let (Some(server), Some(decided)) = (&given.server, &mut again.server) else { continue };
        if server.priority.is_none() {
            decided.priority = None;
        }
        let (before, after) = (server.class.value, decided.class.value);
        let same_kind = before.as_str() == after.as_str();
        let period = |class: plan::Class| class.budget().map(|budget| budget.period);
        let same_period = server.period_open || period(before) == period(after);
        // What was given shows as a change.
        if server.open && same_kind && same_period {
            decided.class = server.class.clone();
            (decided.open, decided.period_open) = (true, server.period_open);
        }
    }
}

/// Returns colours that two VMs have, though they did not ask for that.
fn common_colors(system: &System) -> Option<ColorSet> {
    let mut taken = ColorSet::EMPTY;
    for vm in system.vms.iter().filter(|vm| !vm.share_colors) {
        let own = vm.all_colors();
        if !own.is_disjoint(taken) {
            return Some(own & taken);
        }
        taken = taken | own;
    }
    None
}
