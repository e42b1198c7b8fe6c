//! Links between VMs.

use abi::plan::{names, words};
use units::{Bytes, Duration, Rate};

use super::serial_lines::pair;
use super::{Cursor, all};
use crate::address::IntId;
use crate::plan::{Link, Mac, Rings};

/// Returns the links.
pub(super) fn links(root: &Cursor<'_>) -> Option<Vec<Link>> {
    let Some(at) = root.optional_child(names::LINKS) else { return Some(Vec::new()) };
    at.cell_counts(2, 2);
    let links = all(&at.units(names::LINK), link);
    at.finish();
    links
}

fn link(at: &Cursor<'_>) -> Option<Link> {
    at.word(names::COMPATIBLE, &[words::NETWORK_CARD]);
    let name = at.string(names::LINK_NAME);
    let registers = at.region(names::REG);
    at.named_after(registers);
    let (vms, interrupts) = (pair(at, names::VMS), pair(at, names::INTERRUPTS));
    let macs = macs(at);
    let rate = at.long(names::BYTES_PER_SECOND).map(Rate);
    let burst = at.long(names::BURST_BYTES).map(Bytes);
    let interval = at.long(names::TELL_INTERVAL_NS).map(Duration);
    let early = at.long(names::TELL_EARLY_NS).map(Duration);
    at.finish();
    Some(Link {
        name: name?,
        registers: registers?,
        vms: vms?,
        interrupts: interrupts?.map(IntId),
        macs: macs?,
        rate: rate?,
        burst: burst?,
        tells: Rings { interval: interval?, early: early? },
    })
}

/// The addresses of the two cards, of 48 bits each.
fn macs(at: &Cursor<'_>) -> Option<[Mac; 2]> {
    let numbers = at.numbers(names::MACS)?;
    let macs = match numbers[..] {
        [a, b, c, d] => Mac::from_numbers([a, b]).zip(Mac::from_numbers([c, d])),
        _ => None,
    };
    if macs.is_none() {
        let message = "does not have two addresses of 48 bits";
        at.wrong(names::MACS, message, "write two numbers for each end, the upper 16 bits first");
    }
    macs.map(|(one, other)| [one, other])
}
