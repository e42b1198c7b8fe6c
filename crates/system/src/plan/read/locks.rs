//! Locks across VCPUs and VMs.

use units::Duration;

use super::{Cursor, numbered};
use crate::plan::{Entries, Locks, Resource};

/// What is done for VCPUs in global critical sections.
pub(super) fn protocol(root: &Cursor<'_>) -> Option<Locks> {
    if !root.optional("locks") {
        return Some(Locks::default());
    }
    let word = root.word("locks", &Locks::ALL.map(Locks::as_str))?;
    Locks::ALL.into_iter().find(|locks| locks.as_str() == word)
}

/// The resources whose mutexes the hypervisor keeps.
pub(super) fn resources(root: &Cursor<'_>) -> Option<Vec<Resource>> {
    let Some(at) = root.optional_child("resources") else { return Some(Vec::new()) };
    at.cell_counts(1, 0);
    let resources = numbered(&at.units("resource"), |resource| {
        let name = resource.string("resource-name");
        let vms = resource.numbers("vms");
        resource.finish();
        Some(Resource { name: name?, vms: vms? })
    });
    at.finish();
    resources
}

/// How often a VCPU may enter global critical sections.
pub(super) fn entries(vcpu: &Cursor<'_>) -> Option<Entries> {
    let interval = vcpu.long("sections-interval-ns").map(Duration);
    let early = vcpu.long("sections-early-ns").map(Duration);
    Some(Entries { interval: interval?, early: early? })
}
