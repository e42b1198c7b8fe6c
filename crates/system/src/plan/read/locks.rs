//! Locks across VCPUs and VMs.

use abi::plan::names;
use units::Duration;

use super::{Cursor, numbered};
use crate::plan::{Entries, Locks, Resource};

/// Reads the protocol for VCPUs in global critical sections.
pub(super) fn protocol(root: &Cursor<'_>) -> Option<Locks> {
    if !root.optional(names::LOCKS) {
        return Some(Locks::default());
    }
    let word = root.word(names::LOCKS, &Locks::ALL.map(Locks::as_str))?;
    Locks::ALL.into_iter().find(|locks| locks.as_str() == word)
}

/// Returns the resources whose mutexes the hypervisor keeps.
pub(super) fn resources(root: &Cursor<'_>) -> Option<Vec<Resource>> {
    let Some(at) = root.optional_child(names::RESOURCES) else { return Some(Vec::new()) };
    at.cell_counts(1, 0);
    let resources = numbered(&at.units(names::RESOURCE), |resource| {
        let name = resource.string(names::RESOURCE_NAME);
        let vms = resource.numbers(names::VMS);
        resource.finish();
        Some(Resource { name: name?, vms: vms? })
    });
    at.finish();
    resources
}

/// Reads the limit on entries of a VCPU into global critical sections.
pub(super) fn entries(vcpu: &Cursor<'_>) -> Option<Entries> {
    let interval = vcpu.long(names::SECTIONS_INTERVAL_NS).map(Duration);
    let early = vcpu.long(names::SECTIONS_EARLY_NS).map(Duration);
    Some(Entries { interval: interval?, early: early? })
}
