//! Locks across VCPUs and VMs.

use abi::plan::names;

use super::{cell_counts, unit};
use crate::plan::tree::Node;
use crate::plan::{Entries, Locks, Resource};

/// Writes `locks`, unless it names the default.
pub(super) fn protocol(root: &mut Node, locks: Locks) {
    if locks != Locks::default() {
        root.strings(names::LOCKS, &[locks.as_str()]).comment("VCPUs keep their priorities");
    }
}

/// `resources`, if there are some.
pub(super) fn resources(resources: &[Resource]) -> Option<Node> {
    if resources.is_empty() {
        return None;
    }
    let mut node = Node::new(names::RESOURCES);
    node.comment = "mutexes that the hypervisor keeps".into();
    cell_counts(&mut node, 1, 0);
    for (index, resource) in resources.iter().enumerate() {
        let mut child = Node::new(unit(names::RESOURCE, index));
        child.numbers(names::REG, &[index as u32]);
        child.strings(names::RESOURCE_NAME, &[&resource.name]);
        child.numbers(names::VMS, &resource.vms).comment("VMs that may open it");
        node.children.push(child);
    }
    Some(node)
}

/// Writes the limit on entries of a VCPU into global critical sections.
pub(super) fn entries(vcpu: &mut Node, entries: Entries) {
    let Entries { interval, early } = entries;
    vcpu.longs(names::SECTIONS_INTERVAL_NS, &[interval.0], 1)
        .comment(format!("{interval} between two"));
    vcpu.longs(names::SECTIONS_EARLY_NS, &[early.0], 1).comment(format!("{early} early"));
}
