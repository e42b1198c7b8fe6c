//! Channels between VMs.

use abi::plan::names;

use super::{Cursor, all};
use crate::plan::Channel;

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
    at.finish();
    Some(Channel { name: name?, memory: memory?, from: from?, to: to? })
}
