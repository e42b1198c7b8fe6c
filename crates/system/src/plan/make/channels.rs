//! Places channels in the address space of guests.

use abi::guest;

use crate::address::{Ipa, PhysicalAddress, Region};
use crate::description::System;
use crate::plan::{Channel, Mapping};

/// Returns the channels of a system, one behind the other, but not where their VMs have devices; in
/// memory of the machine that starts at `hosts`.
pub(super) fn channels(system: &System, hosts: &[PhysicalAddress]) -> Vec<Channel> {
    let mut next = guest::CHANNELS;
    let channels = system.channels.iter().zip(hosts).map(|(it, host)| {
        let size = it.size.value;
        let vms = || it.to.iter().chain([&it.from]).filter_map(|vm| system.vms.get(*vm));
        let devices = || vms().flat_map(|vm| &vm.devices);
        let region = |start: u64| Region { start: Ipa(start), size };
        let beside = |start: u64| {
            let regions = devices().map(|it| Region { start: it.guest_address, size: it.size });
            regions.filter(|device| device.overlaps(&region(start))).map(|it| it.end().0).max()
        };
        while let Some(end) = beside(next) {
            next = end;
        }
        let ipa = Ipa(next);
        next = region(next).end().0;
        Channel {
            name: it.name.value.clone(),
            memory: Mapping { ipa, host: *host, size },
            from: it.from as u32,
            to: it.to.iter().map(|vm| *vm as u32).collect(),
        }
    });
    channels.collect()
}
