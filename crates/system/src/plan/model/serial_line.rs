//! Serial lines between VMs.

use super::{Plan, Rings};
use crate::address::{IntId, Ipa, Region};

/// Two virtual PL011s, one in each VM, whose lines cross.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SerialLine {
    /// Registers of its PL011s; both VMs have them at the same address.
    pub registers: Region<Ipa>,
    /// Indices of its VMs, in ascending order.
    pub vms: [u32; 2],
    /// Its interrupt in each of them.
    pub interrupts: [IntId; 2],
    /// The limit on interrupts that one end causes at the other.
    pub tells: Rings,
}

impl Plan {
    /// Returns the serial lines of the VM with this index, and at which end of each it is.
    pub fn serial_lines_of(&self, vm: usize) -> impl Iterator<Item = (&SerialLine, usize)> {
        let end = move |line: &SerialLine| line.vms.iter().position(|it| *it as usize == vm);
        self.serial_lines.iter().filter_map(move |line| Some((line, end(line)?)))
    }
}
