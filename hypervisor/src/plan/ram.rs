//! Reads regions of RAM.

use abi::plan::names;
use policy::color::{ColorSet, Stripe, StripeError};

use super::binding::mapping;
use super::{Mapping, Node, Problem, Range, Refusal};
use crate::arch::page_table::PAGE_BYTES;

/// RAM of a VM, or of the hypervisor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ram {
    /// As the guest sees it (IPA).
    pub guest: Range,
    /// The area of the machine in which it lies (PA).
    pub host: Range,
    /// Its colours; without any it has all frames of the area.
    pub colors: Option<ColorSet>,
    /// Finds the frame of the machine that is page i of the guest.
    pub stripe: Stripe,
}

impl Ram {
    /// Returns true if the two may share a frame.
    pub fn overlaps(&self, other: &Self) -> bool {
        let disjoint = match (self.colors, other.colors) {
            (Some(colors), Some(others)) => colors.is_disjoint(others),
            _ => false,
        };
        self.host.overlaps(other.host) && !disjoint
    }

    /// Pages of the guest.
    pub fn pages(&self) -> u64 {
        self.guest.bytes / PAGE_BYTES
    }

    /// Frames of the stripe in the area.
    pub fn frames(&self) -> u64 {
        self.stripe.count(self.host.bytes)
    }
}

/// Reads a region of RAM, of a VM or the hypervisor's.
pub fn ram(node: Node<'_>, color_mask: u64) -> Result<Ram, Refusal<'_>> {
    node.only(&[names::DEVICE_TYPE, names::REG, names::HOST_REG, names::COLORS], &[])?;
    if node.value(names::COLORS).is_none() {
        let Mapping { guest, host } = mapping(node)?;
        let stripe = Stripe::contiguous(host, PAGE_BYTES);
        return Ok(Ram { guest, host: Range { start: host, ..guest }, colors: None, stripe });
    }
    colored(node, node.range(names::REG)?, color_mask)
}

/// An area with colours.
pub fn colored(node: Node<'_>, guest: Range, color_mask: u64) -> Result<Ram, Refusal<'_>> {
    if color_mask == 0 {
        return Err(node.error(names::COLORS, Problem::Text("needs the node /platform/llc")));
    }
    let host = node.range(names::HOST_REG)?;
    let colors = ColorSet::from_bits(node.long(names::COLORS)?);
    match Stripe::new(PAGE_BYTES, color_mask, colors, host.start) {
        Ok(stripe) => Ok(Ram { guest, host, colors: Some(colors), stripe }),
        Err(StripeError::Start { .. }) => {
            Err(node
                .error(names::HOST_REG, Problem::Text("must start where colours begin to repeat")))
        }
        Err(_) => Err(node.error(names::COLORS, Problem::Text("must be colours of /platform/llc"))),
    }
}
