//! Links between VMs.

use abi::plan::{names, words};

use super::{cell_counts, region, unit};
use crate::plan::tree::Node;
use crate::plan::{Link, Rings};

/// `links`, if there are some.
pub(super) fn links(links: &[Link]) -> Option<Node> {
    if links.is_empty() {
        return None;
    }
    let mut node = Node::new(names::LINKS);
    node.comment = "two network cards each, and the wire between them".into();
    cell_counts(&mut node, 2, 2);
    node.children = links.iter().map(link).collect();
    Some(node)
}

fn link(link: &Link) -> Node {
    let mut node = Node::new(unit(names::LINK, link.registers.start.0));
    node.strings(names::COMPATIBLE, &[words::NETWORK_CARD]);
    node.strings(names::LINK_NAME, &[&link.name]);
    region(&mut node, names::REG, link.registers, "IPA, ");
    node.numbers(names::VMS, &link.vms).comment("at its ends");
    let interrupts = link.interrupts.map(|it| it.0);
    node.numbers(names::INTERRUPTS, &interrupts).comment("at its ends");
    let [one, other] = link.macs;
    node.numbers(names::MACS, &[one.numbers(), other.numbers()].concat())
        .comment(format!("{one} and {other}"));
    node.longs(names::BYTES_PER_SECOND, &[link.rate.0], 1)
        .comment(format!("{} from each end", link.rate));
    node.longs(names::BURST_BYTES, &[link.burst.0], 1).comment(format!("{} at once", link.burst));
    let Rings { interval, early } = link.tells;
    node.longs(names::TELL_INTERVAL_NS, &[interval.0], 1)
        .comment(format!("{interval} between two interrupts"));
    node.longs(names::TELL_EARLY_NS, &[early.0], 1).comment(format!("{early} early"));
    node
}
