//! Locks across VCPUs and VMs.

use super::{cell_counts, unit};
use crate::plan::tree::Node;
use crate::plan::{Entries, Locks, Resource};

/// `locks`, unless it is what holds without it.
pub(super) fn protocol(root: &mut Node, locks: Locks) {
    if locks != Locks::default() {
        root.strings("locks", &[locks.as_str()]).comment("VCPUs keep their priorities");
    }
}

/// `resources`, if there are some.
pub(super) fn resources(resources: &[Resource]) -> Option<Node> {
    if resources.is_empty() {
        return None;
    }
    let mut node = Node::new("resources");
    node.comment = "mutexes that the hypervisor keeps".into();
    cell_counts(&mut node, 1, 0);
    for (index, resource) in resources.iter().enumerate() {
        let mut child = Node::new(unit("resource", index));
        child.numbers("reg", &[index as u32]);
        child.strings("resource-name", &[&resource.name]);
        child.numbers("vms", &resource.vms).comment("VMs that may open it");
        node.children.push(child);
    }
    Some(node)
}

/// Writes the limit on entries of a VCPU into global critical sections.
pub(super) fn entries(vcpu: &mut Node, entries: Entries) {
    let Entries { interval, early } = entries;
    vcpu.longs("sections-interval-ns", &[interval.0], 1).comment(format!("{interval} between two"));
    vcpu.longs("sections-early-ns", &[early.0], 1).comment(format!("{early} early"));
}
