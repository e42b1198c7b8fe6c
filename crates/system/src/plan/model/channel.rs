//! Channels between VMs.

use super::{Mapping, Plan};

/// Memory that one VM writes and others read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Channel {
    /// Name, by which guests find it: as that of a VM.
    pub name: String,
    /// The memory. All VMs of the channel have it at the same address.
    pub memory: Mapping,
    /// Index of the VM that writes.
    pub from: u32,
    /// Indices of the VMs that read, in ascending order; at least one, and not the writer.
    pub to: Vec<u32>,
}

impl Plan {
    /// Returns the channels that the VM with this index reads, or writes (true).
    pub fn channels_of(&self, vm: usize) -> Vec<(&Channel, bool)> {
        let end = |channel: &Channel| match channel.from as usize == vm {
            true => Some(true),
            false => channel.to.contains(&(vm as u32)).then_some(false),
        };
        self.channels.iter().filter_map(|channel| Some((channel, end(channel)?))).collect()
    }
}
