//! Reads the links between VMs.

use alloc::vec::Vec;

use abi::limits::{LINK_BURST_MAX, LINK_BURST_MIN, LINK_RATE_MAX, LINK_RATE_MIN, LINKS_MAX};
use abi::plan::{names, words};
use policy::channel::Parameters;
use policy::time::Duration;

use super::ends::LinkEnd;
use super::two_ended::TwoEnded;
use super::vm::{Vm, wrong_name};
use super::{Clock, Node, Problem, Refusal, channels};
use crate::vdev::virtio::card::Mac;

/// Two network cards, one in each VM, and the wire between them.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Its name.
    pub name: &'a str,
    /// Indices of its VMs, and which of the links of each VM this is.
    pub ends: [(usize, usize); 2],
}

/// Reads the links, and gives each VM its ends.
#[inline(never)]
pub fn read<'a>(
    node: Option<Node<'a>>,
    vms: &mut [Vm<'a>],
    clock: Clock,
) -> Result<Vec<Link<'a>>, Refusal<'a>> {
    let mut links: Vec<Link<'_>> = Vec::new();
    let Some(node) = node else { return Ok(links) };
    node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::LINK])?;
    for child in node.children() {
        let link = link(child, vms, clock)?;
        if links.iter().any(|other| other.name == link.name) {
            let problem = Problem::Text("is the name of another link");
            return Err(child.error(names::LINK_NAME, problem));
        }
        links.push(link);
    }
    if links.len() > LINKS_MAX {
        return Err(node.node_error(Problem::Text("has more than 8 links")));
    }
    Ok(links)
}

/// Properties of a link.
const LINK: [&str; 10] = [
    names::COMPATIBLE,
    names::LINK_NAME,
    names::REG,
    names::VMS,
    names::INTERRUPTS,
    names::MACS,
    names::BYTES_PER_SECOND,
    names::BURST_BYTES,
    names::TELL_INTERVAL_NS,
    names::TELL_EARLY_NS,
];

fn link<'a>(node: Node<'a>, vms: &mut [Vm<'a>], clock: Clock) -> Result<Link<'a>, Refusal<'a>> {
    node.only(&LINK, &[])?;
    node.expect_text(names::COMPATIBLE, &[words::NETWORK_CARD])?;
    let name = node.text(names::LINK_NAME)?;
    if let Some(why) = wrong_name(name) {
        return Err(node.error(names::LINK_NAME, Problem::Text(why)));
    }
    let TwoEnded { registers, vms: [first, second], interrupts } = TwoEnded::read(node, vms.len())?;
    if [first, second].iter().any(|vm| vms[*vm].coloring.is_some()) {
        let text = "must be VMs whose pages do not move: without the node coloring";
        return Err(node.error(names::VMS, Problem::Text(text)));
    }
    let macs = macs(node)?;
    let limit = limit(node, clock)?;
    let tells = channels::bucket(node, [names::TELL_INTERVAL_NS, names::TELL_EARLY_NS], clock)?;
    let ends = [first, second].map(|vm| (vm, vms[vm].links.len()));
    for side in 0..2 {
        let interrupt = interrupts[side];
        let (peer, macs) = (ends[1 - side], [macs[side], macs[1 - side]]);
        let end = LinkEnd { side, registers, interrupt, peer, macs, limit, tells };
        vms[ends[side].0].links.push(end);
    }
    Ok(Link { name, ends })
}

/// Two different addresses, each of one card.
fn macs(node: Node<'_>) -> Result<[Mac; 2], Refusal<'_>> {
    let error = |text| Err(node.error(names::MACS, Problem::Text(text)));
    let cells = node.cells(names::MACS, 4)?;
    if cells.len() != 16 {
        return error("must be four cells");
    }
    let mac = |at: usize| {
        let (zero, bytes) = cells.get(at..at + 8)?.split_at(2);
        let mac = Mac::try_from(bytes).ok()?;
        (zero == [0, 0] && mac[0] & 1 == 0 && mac != [0; 6]).then_some(mac)
    };
    match (mac(0), mac(8)) {
        (Some(one), Some(other)) if one != other => Ok([one, other]),
        (Some(_), Some(_)) => error("must be two different addresses"),
        _ => error("must be addresses of network cards, of 48 bits each"),
    }
}

/// Returns the limit on the bytes that an end may send.
fn limit(node: Node<'_>, clock: Clock) -> Result<Parameters, Refusal<'_>> {
    let rate = node.long(names::BYTES_PER_SECOND)?;
    if !(LINK_RATE_MIN..=LINK_RATE_MAX).contains(&rate) {
        let text = "must be 1,000 to 10,000,000,000";
        return Err(node.error(names::BYTES_PER_SECOND, Problem::Text(text)));
    }
    let burst = node.long(names::BURST_BYTES)?;
    if !(LINK_BURST_MIN..=LINK_BURST_MAX).contains(&burst) {
        let text = "must be 1,514 to 1,048,576";
        return Err(node.error(names::BURST_BYTES, Problem::Text(text)));
    }
    Ok(Parameters { tokens: rate, period: Duration(clock.second()), burst })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_plan_are_limits_of_a_bucket() {
        for frequency in [1_000_000_000, 62_500_000, 54_000_000, 99_999_989, u32::MAX] {
            let period = Duration(Clock::new(frequency).second());
            for (tokens, burst) in
                [(LINK_RATE_MIN, LINK_BURST_MAX), (LINK_RATE_MAX, LINK_BURST_MAX)]
            {
                let parameters = Parameters { tokens, period, burst };
                assert!(policy::channel::Bucket::new(parameters).is_ok(), "{frequency}");
            }
        }
    }
}
