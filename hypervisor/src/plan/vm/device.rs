//! Devices that a VM owns.

use alloc::vec::Vec;

use abi::plan::names;

use super::super::binding::{mapping, shared_interrupt};
use super::super::{Mapping, Node, Problem, Refusal, tree};

/// A device that a VM owns.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Device {
    /// Its registers.
    pub registers: Mapping,
    /// `(INTID in the guest, INTID of the machine)` of its interrupts.
    pub interrupts: Vec<(u32, u32)>,
}

/// Reads the node of a device.
pub fn read(node: Node<'_>) -> Result<Device, Refusal<'_>> {
    node.only(
        &[
            names::COMPATIBLE,
            names::REG,
            names::HOST_REG,
            names::INTERRUPTS,
            names::HOST_INTERRUPTS,
        ],
        &[],
    )?;
    let guest = interrupts(node, names::INTERRUPTS)?;
    let host = interrupts(node, names::HOST_INTERRUPTS)?;
    if guest.len() != host.len() {
        let problem = Problem::InterruptCounts(host.len() / 4, guest.len() / 4);
        return Err(node.error(names::HOST_INTERRUPTS, problem));
    }
    let mut interrupts = Vec::new();
    while let (Some(guest), Some(host)) =
        (tree::word(guest, 4 * interrupts.len()), tree::word(host, 4 * interrupts.len()))
    {
        interrupts.push((guest, host));
    }
    Ok(Device { registers: mapping(node)?, interrupts })
}

/// The interrupts in a property that need not be there, as cells.
#[inline(never)]
fn interrupts<'a>(node: Node<'a>, property: &'static str) -> Result<&'a [u8], Refusal<'a>> {
    if node.value(property).is_none() {
        return Ok(&[]);
    }
    let cells = node.cells(property, 1)?;
    let mut at = 0;
    while let Some(number) = tree::word(cells, at) {
        shared_interrupt(node, property, number)?;
        at += 4;
    }
    Ok(cells)
}
