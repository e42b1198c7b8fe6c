//! What a VM has of channels, serial lines and links.

use policy::channel::Parameters;
use policy::rate::Rate;

use super::{Mapping, Range};
use crate::vdev::virtio::card::Mac;

/// A channel as a VM sees it.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The memory.
    pub memory: Mapping,
    /// Whether the VM may write.
    pub writes: bool,
    /// How the VM interrupts the readers, if it may.
    pub ring: Option<Ring>,
}

/// How the writer of a channel interrupts the readers.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Index of the channel.
    pub channel: usize,
    /// How often it may, in ticks, rounded so that it may rather less often.
    pub limit: Rate,
    /// The VMs that read, one bit each.
    pub readers: u64,
}

/// An end of a serial line.
#[derive(Clone, Copy, Debug)]
pub struct SerialEnd {
    /// Index of the line.
    pub line: usize,
    /// Which end it is, 0 or 1.
    pub side: usize,
    /// Registers of its PL011 (IPA).
    pub registers: Range,
    /// INTID in the VM.
    pub interrupt: u32,
    /// Index of the VM at the other end, and which of its serial lines this is.
    pub peer: (usize, usize),
    /// How often it may interrupt the other end, in ticks, rounded so that it may rather less often.
    pub limit: Rate,
}

/// An end of a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd {
    /// Which end it is, 0 or 1.
    pub side: usize,
    /// Registers of its card (IPA).
    pub registers: Range,
    /// INTID in the VM.
    pub interrupt: u32,
    /// Index of the VM at the other end, and which of its links this is.
    pub peer: (usize, usize),
    /// Addresses of its card and of that at the other end.
    pub macs: [Mac; 2],
    /// How many bytes it may send.
    pub limit: Parameters,
    /// How often it may interrupt the other end, in ticks, rounded so that it may rather less often.
    pub tells: Parameters,
}
