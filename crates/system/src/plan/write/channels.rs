//! Channels between VMs.

use abi::plan::names;

use super::{cell_counts, mapping, unit};
use crate::plan::tree::Node;
use crate::plan::{Channel, Rings};

/// `channels`, if there are some.
pub(super) fn channels(channels: &[Channel]) -> Option<Node> {
    if channels.is_empty() {
        return None;
    }
    let mut node = Node::new(names::CHANNELS);
    node.comment = "memory that one VM writes and others read".into();
    cell_counts(&mut node, 2, 2);
    node.children = channels.iter().map(channel).collect();
    Some(node)
}

fn channel(channel: &Channel) -> Node {
    let mut node = Node::new(unit(names::CHANNEL, channel.memory.ipa.0));
    node.strings(names::CHANNEL_NAME, &[&channel.name]);
    mapping(&mut node, channel.memory.ipa_region(), channel.memory.host_region());
    node.numbers(names::FROM, &[channel.from]).comment("VM that writes");
    node.numbers(names::TO, &channel.to).comment("VMs that read");
    if let Some(Rings { interval, early }) = channel.rings {
        node.longs(names::RING_INTERVAL_NS, &[interval.0], 1)
            .comment(format!("{interval} between two rings"));
        node.longs(names::RING_EARLY_NS, &[early.0], 1).comment(format!("{early} early"));
    }
    node
}
