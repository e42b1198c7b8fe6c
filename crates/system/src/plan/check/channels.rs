//! Rules of channels, but those about overlaps.

use abi::limits::{CHANNEL_BYTES_MAX, CHANNELS_MAX};
use abi::plan::names;
use units::Bytes;

use super::Mistakes;
use super::vms::{NAME_HELP, is_name};
use crate::plan::path::{channel, unit, vm};
use crate::plan::{Channel, PAGE, Plan, Rings};

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    if plan.channels.len() > CHANNELS_MAX {
        let message = format!("there are {} channels", plan.channels.len());
        mistakes.add("/channels", "", message, &format!("1 to {CHANNELS_MAX} are possible"));
    }
    for (index, one) in plan.vms.iter().enumerate() {
        let Some(bell) = one.bell.filter(|bell| bell.registers.size != PAGE) else { continue };
        let node = format!("{}/{}", vm(index), unit(names::BELL, bell.registers.start.0));
        let message = format!("the bell has {}", bell.registers.size);
        mistakes.add(&node, names::REG, message, &format!("give it one page, {PAGE}"));
    }
    for (index, it) in plan.channels.iter().enumerate() {
        let node = channel(it);
        if !is_name(&it.name) {
            let message = format!("\"{}\" cannot name a channel", it.name.escape_debug());
            mistakes.add(&node, names::CHANNEL_NAME, message, NAME_HELP);
        }
        if plan.channels[..index].iter().any(|other| other.name == it.name) {
            let message = format!("\"{}\" is the name of another one", it.name.escape_debug());
            mistakes.add(&node, names::CHANNEL_NAME, message, "give each its own name");
        }
        if it.memory.size.0 > CHANNEL_BYTES_MAX {
            let message = format!("the channel has {}", it.memory.size);
            let help = format!("at most {} are possible", Bytes(CHANNEL_BYTES_MAX));
            mistakes.add(&node, names::REG, message, &help);
        }
        ends(&node, it, plan.vms.len(), mistakes);
        if let Some(limit) = it.rings {
            let properties = [names::RING_INTERVAL_NS, names::RING_EARLY_NS];
            rings(&node, properties, "ring", limit, mistakes);
            let is_deaf = |vm: &usize| plan.vms.get(*vm).is_some_and(|vm| vm.bell.is_none());
            for index in it.vms().filter(is_deaf) {
                let message =
                    format!("the VM has no bell, and the channel \"{}\" has rings", it.name);
                mistakes.add(&vm(index), "", message, "add a node `bell@address`");
            }
        }
    }
}

/// Checks a limit on rings, or on another thing, `what`, that is limited as these are.
pub(super) fn rings(
    node: &str,
    [interval_name, early_name]: [&str; 2],
    what: &str,
    Rings { interval, early }: Rings,
    mistakes: &mut Mistakes,
) {
    let [shortest, longest] = Rings::INTERVALS;
    if interval < shortest || interval > longest {
        let message = format!("one {what} each {interval} is not possible");
        mistakes.add(node, interval_name, message, &format!("{shortest} to {longest} is"));
    }
    if early > Rings::EARLIEST {
        let message = format!("{early} is too early");
        let help = format!("at most {} is possible", Rings::EARLIEST);
        mistakes.add(node, early_name, message, &help);
    }
}

fn ends(node: &str, Channel { from, to, .. }: &Channel, count: usize, mistakes: &mut Mistakes) {
    let known = format!("VMs are 0 to {}", count.saturating_sub(1));
    let missing = |vm: &&u32| **vm as usize >= count;
    if let Some(vm) = Some(from).filter(missing) {
        mistakes.add(node, names::FROM, format!("VM {vm} does not exist"), &known);
    }
    if let Some(vm) = to.iter().find(missing) {
        mistakes.add(node, names::TO, format!("VM {vm} does not exist"), &known);
    }
    if !to.is_sorted_by(|one, next| one < next) {
        let help = "write each VM once, the lowest number first";
        mistakes.add(node, names::TO, "the VMs are not in ascending order", help);
    }
    if to.contains(from) {
        let message = format!("VM {from} writes the channel");
        mistakes.add(node, names::TO, message, "the writer can read what it wrote: remove it here");
    }
}
