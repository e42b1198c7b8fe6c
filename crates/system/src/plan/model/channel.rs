//! Channels between VMs.

use std::fmt;

use abi::limits::{RING_EARLY_MAX_NS, RING_INTERVAL_MAX_NS, RING_INTERVAL_MIN_NS};
use units::Duration;

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
    /// The limit on rings, by which the writer interrupts the readers; none: it cannot.
    pub rings: Option<Rings>,
}

impl Channel {
    /// Returns the indices of its VMs, the writer first.
    pub fn vms(&self) -> impl Iterator<Item = usize> {
        std::iter::once(&self.from).chain(&self.to).map(|vm| *vm as usize)
    }
}

/// The limit on rings of a channel: in any time `t` at most `1 + floor((t + early) / interval)`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Rings {
    /// Time between two rings.
    pub interval: Duration,
    /// Time by which rings may come earlier than one in each interval.
    pub early: Duration,
}

impl Rings {
    /// Shortest and longest interval.
    pub const INTERVALS: [Duration; 2] =
        [Duration(RING_INTERVAL_MIN_NS), Duration(RING_INTERVAL_MAX_NS)];
    /// Most that rings may come early.
    pub const EARLIEST: Duration = Duration(RING_EARLY_MAX_NS);
}

impl fmt::Display for Rings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one each {}, {} early", self.interval, self.early)
    }
}

impl Plan {
    /// Returns the channels that the VM with this index reads, or writes (true), with their indices.
    pub fn channels_of(&self, vm: usize) -> Vec<(usize, &Channel, bool)> {
        let end = |channel: &Channel| match channel.from as usize == vm {
            true => Some(true),
            false => channel.to.contains(&(vm as u32)).then_some(false),
        };
        let channels = self.channels.iter().enumerate();
        channels.filter_map(|(index, channel)| Some((index, channel, end(channel)?))).collect()
    }
}
