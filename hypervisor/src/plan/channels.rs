//! Reads the channels between VMs.

use alloc::vec::Vec;

use abi::limits::{CHANNEL_BYTES_MAX, CHANNELS_MAX};
use abi::plan::names;
use policy::color::Stripe;

use super::vm::{self, Vm, wrong_name};
use super::{Mapping, Node, Problem, Ram, Range, Refusal, tree};
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

/// A channel as a VM sees it.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The memory.
    pub memory: Mapping,
    /// Whether the VM may write.
    pub writes: bool,
}

/// Reads the channels, and gives each VM its ends.
#[inline(never)]
pub fn read<'a>(
    node: Option<Node<'a>>,
    vms: &mut [Vm<'a>],
) -> Result<Vec<Channel<'a>>, Refusal<'a>> {
    let mut channels: Vec<Channel<'_>> = Vec::new();
    let Some(node) = node else { return Ok(channels) };
    node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::CHANNEL])?;
    for child in node.children() {
        let channel = channel(child, vms)?;
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

fn channel<'a>(node: Node<'a>, vms: &mut [Vm<'a>]) -> Result<Channel<'a>, Refusal<'a>> {
    node.only(&[names::CHANNEL_NAME, names::REG, names::HOST_REG, names::FROM, names::TO], &[])?;
    let name = node.text(names::CHANNEL_NAME)?;
    if let Some(why) = wrong_name(name) {
        return Err(node.error(names::CHANNEL_NAME, Problem::Text(why)));
    }
    let memory = vm::mapping(node)?;
    if memory.guest.bytes > CHANNEL_BYTES_MAX {
        return Err(node.error(names::REG, Problem::Text("has more than 8 MiB")));
    }
    let from = node.number(names::FROM)? as usize;
    let Some(writer) = vms.get_mut(from) else {
        return Err(node.error(names::FROM, Problem::Text("must be a VM that exists")));
    };
    writer.channels.push(End { memory, writes: true });
    let mut least = 0;
    for cell in node.cells(names::TO, 1)?.chunks_exact(4) {
        let reader = tree::word(cell, 0).unwrap_or(u32::MAX) as usize;
        // Ascending, so that each is named once.
        match vms.get_mut(reader) {
            Some(vm) if reader >= least && reader != from => {
                vm.channels.push(End { memory, writes: false });
            }
            _ => {
                let text = "must be VMs that exist, in ascending order, without the writer";
                return Err(node.error(names::TO, Problem::Text(text)));
            }
        }
        least = reader + 1;
    }
    let stripe = Stripe::contiguous(memory.host, PAGE_BYTES);
    let host = Range { start: memory.host, ..memory.guest };
    Ok(Channel { node, name, ram: Ram { guest: memory.guest, host, colors: None, stripe } })
}
