//! Channels between VMs.

use abi::plan::names;
use units::Duration;

use super::{Cursor, all};
use crate::plan::{Channel, Rings};

/// Returns the channels.
pub(super) fn channels(root: &Cursor<'_>) -> Option<Vec<Channel>> {
    let Some(at) = root.optional_child(names::CHANNELS) else { return Some(Vec::new()) };
    at.cell_counts(2, 2);
    let channels = all(&at.units(names::CHANNEL), channel);
    at.finish();
    channels
}

fn channel(at: &Cursor<'_>) -> Option<Channel> {
    let name = at.string(names::CHANNEL_NAME);
    let memory = at.mapping();
    let (from, to) = (at.number(names::FROM), at.numbers(names::TO));
    let rings = rings(at);
    at.finish();
    Some(Channel { name: name?, memory: memory?, from: from?, to: to?, rings: rings? })
}

/// Reads the limit on rings: both properties, or none.
fn rings(at: &Cursor<'_>) -> Option<Option<Rings>> {
    if !at.optional(names::RING_INTERVAL_NS) && !at.optional(names::RING_EARLY_NS) {
        return Some(None);
    }
    let interval = at.long(names::RING_INTERVAL_NS).map(Duration);
    let early = at.long(names::RING_EARLY_NS).map(Duration);
    Some(Some(Rings { interval: interval?, early: early? }))
}
