//! Places channels in the address space of guests.

use abi::guest;
use units::Bytes;

use crate::address::{Ipa, PhysicalAddress, Region};
use crate::description::System;
use crate::plan::{Channel, Mapping};

/// Memory that one entry of a table maps, if addresses of guest and machine are alike in it. So a
/// channel needs two tables at most, however large it is.
const BLOCK: Bytes = Bytes::mib(2);

/// Returns the channels of a system, one behind the other, but not where their VMs have devices; in
/// memory of the machine that starts at `hosts`.
pub(super) fn channels(system: &System, hosts: &[PhysicalAddress]) -> Vec<Channel> {
    let mut next = guest::CHANNELS;
    let channels = system.channels.iter().zip(hosts).map(|(it, host)| {
        let size = it.size.value;
        let region = |start: u64| {
            let start = start.checked_next_multiple_of(BLOCK.0).unwrap_or(u64::MAX);
            Region { start: Ipa(start.saturating_add(host.0 % BLOCK.0)), size }
        };
        let vms = || it.to.iter().chain([&it.from]).filter_map(|vm| system.vms.get(*vm));
        let beside = |place: Region<Ipa>| {
            let devices = vms().flat_map(|vm| &vm.devices);
            let regions = devices.map(|it| Region { start: it.guest_address, size: it.size });
            regions.filter(|device| device.overlaps(&place)).map(|it| it.end().0).max()
        };
        while let Some(end) = beside(region(next)) {
            next = end;
        }
        let Region { start: ipa, .. } = region(next);
        next = region(next).end().0;
        Channel {
            name: it.name.value.clone(),
            memory: Mapping { ipa, host: *host, size },
            from: it.from as u32,
            to: it.to.iter().map(|vm| *vm as u32).collect(),
            rings: it.rings,
        }
    });
    channels.collect()
}
