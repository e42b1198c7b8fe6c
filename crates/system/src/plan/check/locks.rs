//! Rules of locks across VCPUs and VMs.

use abi::plan::names;
use units::Duration;

use super::vms::{NAME_HELP, is_name};
use super::{Mistakes, RESOURCES_MAX};
use crate::plan::path::{resource, vcpu};
use crate::plan::{Budget, Class, Entries, Locks, Plan, Server};

/// Checks that resources have different names, that a VM may open each, and that overrun fits the
/// periods.
pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    if plan.resources.len() > RESOURCES_MAX {
        let message = format!("there are {} resources", plan.resources.len());
        let help = format!("1 to {RESOURCES_MAX} are possible");
        mistakes.add("/resources", "", message, &help);
    }
    for (index, it) in plan.resources.iter().enumerate() {
        let node = resource(index);
        if !is_name(&it.name) {
            let message = format!("\"{}\" cannot name a resource", it.name.escape_debug());
            mistakes.add(&node, names::RESOURCE_NAME, message, NAME_HELP);
        }
        if plan.resources[..index].iter().any(|other| other.name == it.name) {
            let message = format!("\"{}\" is the name of another one", it.name);
            mistakes.add(&node, names::RESOURCE_NAME, message, "give each its own name");
        }
        users(&node, &it.vms, plan.vms.len(), mistakes);
    }
    for (vm, it) in plan.vms.iter().enumerate() {
        for (index, it) in it.vcpus.iter().enumerate() {
            if let Some(server) = it.server.filter(|server| server.overrun != Duration(0)) {
                overrun(&vcpu(vm, index), server, plan.locks, mistakes);
            }
            if it.hold > Budget::LONGEST_PERIOD {
                let message = format!("{} in critical sections is too long", it.hold);
                let help = format!("at most {} is possible", Budget::LONGEST_PERIOD);
                mistakes.add(&vcpu(vm, index), names::HOLD_NS, message, &help);
            }
            if it.hold != Duration(0) {
                entries(&vcpu(vm, index), it.entries, mistakes);
            }
        }
    }
}

fn users(node: &str, vms: &[u32], count: usize, mistakes: &mut Mistakes) {
    if vms.is_empty() {
        mistakes.add(node, names::VMS, "no VM may open it", "name the VMs, or remove the node");
    }
    if !vms.is_sorted_by(|one, next| one < next) {
        let help = "write each VM once, the lowest number first";
        mistakes.add(node, names::VMS, "the VMs are not in ascending order", help);
    }
    if let Some(vm) = vms.iter().find(|vm| **vm as usize >= count) {
        let help = format!("VMs are 0 to {}", count.saturating_sub(1));
        mistakes.add(node, names::VMS, format!("VM {vm} does not exist"), &help);
    }
}

fn entries(node: &str, entries: Entries, mistakes: &mut Mistakes) {
    let Entries { interval, early } = entries;
    let [shortest, longest] = Entries::INTERVALS;
    if interval < shortest || interval > longest {
        let message = format!("one critical section each {interval} is not possible");
        let help = format!("{shortest} to {longest} is");
        mistakes.add(node, names::SECTIONS_INTERVAL_NS, message, &help);
    }
    if early > Entries::EARLIEST {
        let message = format!("{early} is too early");
        let help = format!("at most {} is possible", Entries::EARLIEST);
        mistakes.add(node, names::SECTIONS_EARLY_NS, message, &help);
    }
}

fn overrun(node: &str, server: Server, locks: Locks, mistakes: &mut Mistakes) {
    let mut wrong = |message: String, help| mistakes.add(node, names::OVERRUN_NS, message, help);
    if locks == Locks::Mpcp {
        let help = "remove it, or the property `locks`";
        wrong("has no meaning with this protocol".into(), help);
    }
    match server.class {
        Class::Reserved(kind, it) if kind.may_overrun() => {
            let rest = it.period.0.saturating_sub(it.budget.0);
            if server.overrun.0 > rest {
                let message = format!(
                    "an overrun of {} does not fit beside the budget: the period has {} left",
                    server.overrun,
                    Duration(rest)
                );
                wrong(message, "make it shorter, or the budget");
            }
        }
        Class::Reserved(..) | Class::Background => {
            let message = format!("a server that is {} has no overrun", server.class.as_str());
            wrong(message, "remove it");
        }
    }
}
