//! The ends of channels, serial lines and links in a VM.

use policy::channel::Parameters;
use policy::rate::Rate;

use super::{Mapping, Range};
use crate::vdev::virtio::card::Mac;

/// A channel as a VM sees it.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The memory.
    pub memory: Mapping,
    /// True if the VM may write.
    pub writes: bool,
    /// The interrupts that the VM sends to the readers, if it may.
    pub ring: Option<Ring>,
}

/// The interrupts that the writer of a channel sends to the readers.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Index of the channel.
    pub channel: usize,
    /// Limit on these interrupts, in ticks, rounded so that the writer may rather send fewer.
    pub limit: Rate,
    /// The VMs that read, one bit each.
    pub readers: u64,
}

/// An end of a serial line.
#[derive(Clone, Copy, Debug)]
pub struct SerialEnd {
    /// Index of the line.
    pub line: usize,
    /// Index of the end, 0 or 1.
    pub side: usize,
    /// Registers of its PL011 (IPA).
    pub registers: Range,
    /// INTID in the VM.
    pub interrupt: u32,
    /// Index of the VM at the other end, and which of its serial lines this is.
    pub peer: (usize, usize),
    /// Limit on the interrupts of the other end, in ticks, rounded so that this end may rather send fewer.
    pub limit: Rate,
}

/// An end of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd {
    /// Index of the end, 0 or 1.
    pub side: usize,
    /// Registers of its card (IPA).
    pub registers: Range,
    /// INTID in the VM.
    pub interrupt: u32,
    /// Index of the VM at the other end, and which of its links this is.
    pub peer: (usize, usize),
    /// Addresses of its card and of that at the other end.
    pub macs: [Mac; 2],
    /// Limit on the bytes that it may send.
    pub limit: Parameters,
    /// Limit on the interrupts of the other end, in ticks, rounded so that this end may rather send fewer.
    pub tells: Parameters,
}
