//! The common part of serial lines and links: registers and an interrupt in each of two VMs.

use abi::plan::names;

use super::binding::shared_interrupt;
use super::{Node, Problem, Range, Refusal, tree};
use crate::arch::page_table::PAGE_BYTES;

/// A device between two VMs.
pub struct TwoEnded {
    /// Its registers (IPA), the same in both.
    pub registers: Range,
    /// Indices of the VMs, in ascending order.
    pub vms: [usize; 2],
    /// INTID in each.
    pub interrupts: [u32; 2],
}

impl TwoEnded {
    /// Reads the device from its node; `vms` is the number of VMs.
    pub fn read(node: Node<'_>, vms: usize) -> Result<Self, Refusal<'_>> {
        let registers = node.range(names::REG)?;
        if registers.bytes != PAGE_BYTES {
            return Err(node.error(names::REG, Problem::Text("must be one page")));
        }
        let [first, second] = pair(node, names::VMS)?.map(|vm| vm as usize);
        if first >= second || second >= vms {
            let text = "must be two VMs that exist, in ascending order";
            return Err(node.error(names::VMS, Problem::Text(text)));
        }
        let [one, other] = pair(node, names::INTERRUPTS)?;
        let interrupt = |intid| shared_interrupt(node, names::INTERRUPTS, intid);
        let interrupts = [interrupt(one)?, interrupt(other)?];
        Ok(Self { registers, vms: [first, second], interrupts })
    }
}

/// One number for each end.
fn pair<'a>(node: Node<'a>, property: &'static str) -> Result<[u32; 2], Refusal<'a>> {
    let cells = node.cells(property, 2)?;
    match (cells.len(), tree::word(cells, 0), tree::word(cells, 4)) {
        (8, Some(first), Some(second)) => Ok([first, second]),
        _ => Err(node.error(property, Problem::Text("must be two cells"))),
    }
}
