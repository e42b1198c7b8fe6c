//! Rules of links, but those about overlaps and interrupts.

use abi::limits::{LINK_BURST_MAX, LINK_BURST_MIN, LINK_RATE_MAX, LINK_RATE_MIN, LINKS_MAX};
use abi::plan::names;
use units::{Bytes, Rate};

use super::vms::{NAME_HELP, is_name};
use super::{Mistakes, channels};
use crate::plan::path::{link, vm};
use crate::plan::{PAGE, Plan};

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    let count = plan.links.len();
    if count > LINKS_MAX {
        let help = format!("1 to {LINKS_MAX} are possible");
        mistakes.add("/links", "", format!("there are {count} links"), &help);
    }
    for (index, it) in plan.links.iter().enumerate() {
        let node = link(it);
        let mut add = |property, message: String, help: &str| {
            mistakes.add(&node, property, message, help);
        };
        if !is_name(&it.name) {
            let message = format!("\"{}\" cannot name a link", it.name.escape_debug());
            add(names::LINK_NAME, message, NAME_HELP);
        }
        if plan.links[..index].iter().any(|other| other.name == it.name) {
            let message = format!("\"{}\" is the name of another one", it.name.escape_debug());
            add(names::LINK_NAME, message, "give each its own name");
        }
        if it.registers.size != PAGE {
            let message = format!("the registers have {}", it.registers.size);
            add(names::REG, message, &format!("give them one page, {PAGE}"));
        }
        if let Some(vm) = it.vms.iter().find(|vm| **vm as usize >= plan.vms.len()) {
            let help = format!("VMs are 0 to {}", plan.vms.len().saturating_sub(1));
            add(names::VMS, format!("VM {vm} does not exist"), &help);
        }
        if it.vms[0] >= it.vms[1] {
            let help = "write two different VMs, the lower number first";
            add(names::VMS, "the VMs are not in ascending order".into(), help);
        }
        if let Some(mac) = it.macs.iter().find(|mac| !mac.is_valid()) {
            let message = format!("{mac} is not the address of one network card");
            add(names::MACS, message, "its first byte is even, and it is not zero");
        }
        if it.macs[0] == it.macs[1] {
            let message = format!("both ends have the address {}", it.macs[0]);
            add(names::MACS, message, "give each end its own");
        }
        if !(LINK_RATE_MIN..=LINK_RATE_MAX).contains(&it.rate.0) {
            let help = format!("{} to {} is", Rate(LINK_RATE_MIN), Rate(LINK_RATE_MAX));
            let message = format!("a link for {} is not possible", it.rate);
            add(names::BYTES_PER_SECOND, message, &help);
        }
        if !(LINK_BURST_MIN..=LINK_BURST_MAX).contains(&it.burst.0) {
            let help = format!("{} to {} are", Bytes(LINK_BURST_MIN), Bytes(LINK_BURST_MAX));
            let message = format!("{} at once are not possible", it.burst);
            add(names::BURST_BYTES, message, &help);
        }
        let properties = [names::TELL_INTERVAL_NS, names::TELL_EARLY_NS];
        channels::rings(&node, properties, "interrupt", it.tells, mistakes);
    }
    for (index, one) in plan.vms.iter().enumerate() {
        if one.pool.is_some() && plan.links_of(index).next().is_some() {
            let message = "the VM has a link, and pages that move";
            mistakes.add(&vm(index), "", message, "remove the link, or the pool of extra colours");
        }
    }
}
