//! Places channels in the address space of guests.

use abi::guest;
use units::Bytes;

use crate::address::{Ipa, PhysicalAddress};
use crate::description;
use crate::plan::{Channel, Mapping};

/// Returns the channels, one behind the other, in memory of the machine that starts at `hosts`.
pub(super) fn channels(
    described: &[description::Channel],
    hosts: &[PhysicalAddress],
) -> Vec<Channel> {
    let mut next = guest::CHANNELS;
    let channels = described.iter().zip(hosts).map(|(it, host)| {
        let Bytes(size) = it.size.value;
        let ipa = Ipa(next);
        next = next.saturating_add(size);
        Channel {
            name: it.name.value.clone(),
            memory: Mapping { ipa, host: *host, size: it.size.value },
            from: it.from as u32,
            to: it.to.iter().map(|vm| *vm as u32).collect(),
        }
    });
    channels.collect()
}
