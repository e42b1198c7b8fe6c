//! The decisions of an old plan.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use analysis::Duration;
use policy::color::{Color, ColorSet};
use system::description::{Amount, Bandwidth, Located, System};
use system::diagnostic::{Diagnostic, Errors};
use system::plan::{Budget, Class, MemoryBudget, Plan};

use super::pcpus::{At, members, order};
use super::whole::open::Open;
use super::{priorities, set_class};

/// Returns the description with the numbers of VCPUs, kinds of servers, overrun and the protocol of
/// locks of the old plan, where these are open.
pub(super) fn with_choices(system: &System, old: &Plan) -> System {
    let mut chosen = system.clone();
    if chosen.locks_open.take().is_some() {
        chosen.locks = old.locks;
    }
    for vm in &mut chosen.vms {
        let Some(old) = old.vms.iter().find(|it| it.name == vm.name.value) else { continue };
        let first = vm.vcpus.first().cloned().filter(|_| old.vcpus.len() >= vm.vcpus.len());
        if let Some(first) = first
            && vm.vcpus_open.take().is_some()
        {
            vm.vcpus.resize(old.vcpus.len(), first);
        }
        for (vcpu, old) in vm.vcpus.iter_mut().zip(&old.vcpus) {
            let (Some(server), Some(old)) = (vcpu.server.as_mut(), old.server) else { continue };
            if let (Class::Reserved(_, budget), Class::Reserved(kind, _)) =
                (server.class.value, old.class)
                && server.kind_open.take().is_some()
            {
                server.class.value = Class::Reserved(kind, budget);
            }
            if let Some(place) = server.overrun_open.take() {
                server.overrun = (old.overrun > Duration(0)).then_some(place);
            }
        }
    }
    chosen
}

/// Returns mistakes if the plan is of another system.
pub(super) fn is_of(system: &System, old: &Plan) -> Result<(), Errors> {
    let mut mistakes = Vec::new();
    let differs = |message: String| Diagnostic::new("another-system", message).help(HELP);
    let platform = &system.platform.value;
    if old.platform.board != platform.name {
        mistakes.push(differs(format!(
            "the old plan is for the board `{}`, the description for `{}`",
            old.platform.board, platform.name
        )));
    }
    for vm in &old.vms {
        if !system.vms.iter().any(|it| it.name.value == vm.name) {
            mistakes.push(differs(format!("the old plan has a VM `{}`", vm.name)));
        }
    }
    for vm in &system.vms {
        let name = &vm.name.value;
        let at = |message: String| differs(message).at(&vm.name.place, "this VM");
        let Some(old) = old.vms.iter().find(|it| it.name == *name) else {
            mistakes.push(at(format!("the old plan has no VM `{name}`")));
            continue;
        };
        if old.vcpus.len() != vm.vcpus.len() {
            let (old, new) = (old.vcpus.len(), vm.vcpus.len());
            mistakes.push(at(format!("the old plan has {old} VCPUs of VM `{name}`, not {new}")));
            continue;
        }
        for (index, (old, new)) in old.vcpus.iter().zip(&vm.vcpus).enumerate() {
            let old = old.server.map(|it| it.class.as_str());
            let new = new.server.as_ref().map(|it| it.class.value.as_str());
            if old != new {
                let [old, new] = [old, new].map(|it| it.unwrap_or("without server"));
                mistakes.push(at(format!(
                    "VCPU {index} of VM `{name}` is {old} in the old plan, not {new}"
                )));
            }
        }
    }
    Errors::unless_none(mistakes, ())
}

const HELP: &str = "`--from` needs a plan of the same system: plan without it";

/// Returns the description with all decisions of the old plan that a plan has: those of tasks stay
/// open.
pub(super) fn decided(system: &System, old: &Plan) -> System {
    let mut decided = system.clone();
    for vm in 0..decided.vms.len() {
        let name = &decided.vms[vm].name;
        let Some(old) = old.vms.iter().find(|it| it.name == name.value) else { continue };
        let place = name.place.clone();
        for (index, before) in old.vcpus.iter().enumerate() {
            let vcpu = &mut decided.vms[vm].vcpus[index];
            vcpu.pcpu.get_or_insert_with(|| Located::new(u64::from(before.pcpu.0), &place));
            set_limit(vcpu.bandwidth.as_mut(), before.memory_budget);
            let was = before.server.and_then(|server| match server.class {
                Class::Reserved(_, budget) => Some(budget),
                Class::Background => None,
            });
            let Some(server) = vcpu.server.as_mut().filter(|server| server.open) else { continue };
            let given = server.class.value.budget();
            let (Some(was), Some(given)) = (was, given) else { continue };
            let period = if server.period_open { was.period } else { given.period };
            (server.open, server.period_open) = (false, false);
            let budget = was.budget.min(period).max(Budget::SHORTEST);
            set_class(&mut decided, (vm, index), |class| {
                class.with_budget(Budget { budget, period })
            });
        }
        set_limit(decided.vms[vm].bandwidth.as_mut(), old.memory_budget);
        let described = &mut decided.vms[vm];
        if !described.vllc
            && let (Some(place), Some(colors)) = (described.colors_open.clone(), old.colors())
        {
            described.colors = Some(Located::new(colors, &place));
            described.colors_open = None;
        }
    }
    keep_orders(&mut decided, &Open::of(system), old);
    decided
}

/// Gives the VCPUs of each PCPU the order that they had, if it is not given.
fn keep_orders(decided: &mut System, open: &Open, old: &Plan) {
    let priority = |system: &System, (vm, index): At| {
        let old = old.vms.iter().find(|it| it.name == system.vms[vm].name.value)?;
        Some(old.vcpus.get(index)?.server?.priority)
    };
    for pcpu in 0..decided.platform.value.cpus.len() {
        let mut here = members(decided, pcpu);
        if priorities::are_open(open, &here) {
            here.sort_by_key(|&at| (Reverse(priority(decided, at)), order(decided, at)));
            priorities::set(decided, pcpu, &here);
        }
    }
}

/// Returns the description with the VCPUs of tasks, and the colours that are still open, as in a
/// new plan.
pub(super) fn with_tasks_of(decided: &System, fresh: &System) -> System {
    let mut decided = decided.clone();
    for (vm, fresh) in decided.vms.iter_mut().zip(&fresh.vms) {
        if vm.colors_open.is_some() {
            vm.colors.clone_from(&fresh.colors);
            vm.colors_open = None;
            for (task, fresh) in vm.tasks.iter_mut().zip(&fresh.tasks) {
                task.colors.clone_from(&fresh.colors);
            }
        }
        for (task, fresh) in vm.tasks.iter_mut().zip(&fresh.tasks) {
            (task.vcpu, task.vcpu_open) = (fresh.vcpu, false);
        }
    }
    decided
}

/// Gives an open limit the accesses that it had, in its period.
fn set_limit(limit: Option<&mut Bandwidth>, old: Option<MemoryBudget>) {
    let (Some(limit), Some(old)) = (limit.filter(|it| it.is_open()), old) else { return };
    let Duration(period) = limit.period.value;
    let accesses = u128::from(old.accesses) * u128::from(period) / u128::from(old.period.0.max(1));
    limit.amount.value = Amount::Accesses(u64::try_from(accesses).unwrap_or(u64::MAX).max(1));
}

/// Returns the plan with the colours that VMs had before, if all have as many: which they are makes
/// no difference to tasks.
pub(super) fn with_colors(planned: System, old: &Plan) -> System {
    let mut names: BTreeMap<usize, Color> = BTreeMap::new();
    for vm in &planned.vms {
        let before = old.vms.iter().find(|it| it.name == vm.name.value).and_then(|it| it.colors());
        let (Some(before), Some(now)) = (before, &vm.colors) else { continue };
        if before.len() != now.value.len() {
            return planned;
        }
        for (now, before) in now.value.iter().zip(before.iter()) {
            if names.insert(now.index(), before).is_some_and(|other| other != before) {
                return planned;
            }
        }
    }
    let mut renamed = planned.clone();
    let rename = |set: &mut ColorSet| {
        let all: Option<Vec<Color>> =
            set.iter().map(|color| names.get(&color.index()).copied()).collect();
        all.map(|all| *set = all.into_iter().collect())
    };
    for vm in &mut renamed.vms {
        let sets =
            vm.colors.iter_mut().chain(vm.tasks.iter_mut().filter_map(|it| it.colors.as_mut()));
        for set in sets {
            if rename(&mut set.value).is_none() {
                return planned;
            }
        }
    }
    match super::whole::is_plan(&renamed) {
        true => renamed,
        false => planned,
    }
}
