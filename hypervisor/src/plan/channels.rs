//! Reads the channels between VMs.

use alloc::vec::Vec;

use abi::limits::{
    CHANNEL_BYTES_MAX, CHANNELS_MAX, RING_EARLY_MAX_NS, RING_INTERVAL_MAX_NS, RING_INTERVAL_MIN_NS,
};
use abi::plan::names;
use policy::channel::Parameters;
use policy::color::Stripe;
use policy::rate::Rate;
use policy::time::Duration;

use super::ends::{End, Ring};
use super::vm::{Vm, wrong_name};
use super::{Clock, Node, Problem, Ram, Range, Refusal, binding, tree};
use crate::arch::page_table::PAGE_BYTES;

/// Memory that one VM writes and others read.
#[derive(Clone, Copy, Debug)]
pub struct Channel<'a> {
    /// Its node, for messages.
    pub node: Node<'a>,
    /// Its name.
    name: &'a str,
    /// The memory; all VMs of the channel have it at the same address.
    pub ram: Ram,
}

/// Reads the channels, and gives each VM its ends.
#[inline(never)]
pub fn read<'a>(
    node: Option<Node<'a>>,
    vms: &mut [Vm<'a>],
    clock: Clock,
) -> Result<Vec<Channel<'a>>, Refusal<'a>> {
    let mut channels: Vec<Channel<'_>> = Vec::new();
    let Some(node) = node else { return Ok(channels) };
    node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::CHANNEL])?;
    for child in node.children() {
        let channel = channel(child, channels.len(), vms, clock)?;
        if channels.iter().any(|other| other.name == channel.name) {
            let problem = Problem::Text("is the name of another channel");
            return Err(child.error(names::CHANNEL_NAME, problem));
        }
        channels.push(channel);
    }
    if channels.len() > CHANNELS_MAX {
        return Err(node.node_error(Problem::Text("has more than 16 channels")));
    }
    Ok(channels)
}

/// Properties of a channel.
const CHANNEL: [&str; 7] = [
    names::CHANNEL_NAME,
    names::REG,
    names::HOST_REG,
    names::FROM,
    names::TO,
    names::RING_INTERVAL_NS,
    names::RING_EARLY_NS,
];

fn channel<'a>(
    node: Node<'a>,
    index: usize,
    vms: &mut [Vm<'a>],
    clock: Clock,
) -> Result<Channel<'a>, Refusal<'a>> {
    node.only(&CHANNEL, &[])?;
    let name = node.text(names::CHANNEL_NAME)?;
    if let Some(why) = wrong_name(name) {
        return Err(node.error(names::CHANNEL_NAME, Problem::Text(why)));
    }
    let memory = binding::mapping(node)?;
    if memory.guest.bytes > CHANNEL_BYTES_MAX {
        return Err(node.error(names::REG, Problem::Text("has more than 8 MiB")));
    }
    let from = node.number(names::FROM)? as usize;
    let Some(writer) = vms.get_mut(from) else {
        return Err(node.error(names::FROM, Problem::Text("must be a VM that exists")));
    };
    let limit = rings(node, clock)?;
    let deaf = |vm: &Vm<'a>| limit.is_some() && vm.bell.is_none();
    let no_bell = |vm: &Vm<'a>| {
        Err(vm
            .node
            .node_error(Problem::Text("needs the node bell, because its channels have rings")))
    };
    if deaf(writer) {
        return no_bell(writer);
    }
    let place = writer.channels.len();
    writer.channels.push(End { memory, writes: true, ring: None });
    let (mut least, mut readers) = (0, 0);
    for cell in node.cells(names::TO, 1)?.chunks_exact(4) {
        let reader = tree::word(cell, 0).unwrap_or(u32::MAX) as usize;
        // Ascending, so that each is named once.
        match vms.get_mut(reader) {
            Some(vm) if reader >= least && reader != from => {
                if deaf(vm) {
                    return no_bell(vm);
                }
                vm.channels.push(End { memory, writes: false, ring: None });
                readers |= 1 << reader;
            }
            _ => {
                let text = "must be VMs that exist, in ascending order, without the writer";
                return Err(node.error(names::TO, Problem::Text(text)));
            }
        }
        least = reader + 1;
    }
    if let Some(end) = vms.get_mut(from).and_then(|vm| vm.channels.get_mut(place)) {
        end.ring = limit.map(|limit| Ring { channel: index, limit, readers });
    }
    let stripe = Stripe::contiguous(memory.host, PAGE_BYTES);
    let host = Range { start: memory.host, ..memory.guest };
    Ok(Channel { node, name, ram: Ram { guest: memory.guest, host, colors: None, stripe } })
}

/// Returns the limit on interrupts of the readers by the writer; none: it never interrupts them.
fn rings(node: Node<'_>, clock: Clock) -> Result<Option<Rate>, Refusal<'_>> {
    let [interval, early] = [names::RING_INTERVAL_NS, names::RING_EARLY_NS];
    if node.value(interval).is_none() && node.value(early).is_none() {
        return Ok(None);
    }
    limit(node, [interval, early], clock).map(Some)
}

/// Reads a limit from properties of these names: time between two, and time by which they may be early.
pub(super) fn limit<'a>(
    node: Node<'a>,
    names: [&'static str; 2],
    clock: Clock,
) -> Result<Rate, Refusal<'a>> {
    let [between, before] = times(node, names)?;
    Ok(Rate::new(Duration(clock.ticks_up(between)), Duration(clock.ticks(before))))
}

/// The same as a bucket, which lets rather fewer pass.
pub(super) fn bucket<'a>(
    node: Node<'a>,
    names: [&'static str; 2],
    clock: Clock,
) -> Result<Parameters, Refusal<'a>> {
    let [between, before] = times(node, names)?;
    let period = Duration(clock.ticks_up(between));
    Ok(Parameters { tokens: 1, period, burst: 1 + before / between })
}

/// Time between two, and time by which they may be early, in nanoseconds.
#[inline(never)]
fn times<'a>(
    node: Node<'a>,
    [interval, early]: [&'static str; 2],
) -> Result<[u64; 2], Refusal<'a>> {
    let [between, before] = [node.long(interval)?, node.long(early)?];
    if !(RING_INTERVAL_MIN_NS..=RING_INTERVAL_MAX_NS).contains(&between) {
        return Err(node.error(interval, Problem::Text("must be 20 us to one hour")));
    }
    if before > RING_EARLY_MAX_NS {
        return Err(node.error(early, Problem::Text("must be at most 63 hours")));
    }
    Ok([between, before])
}
