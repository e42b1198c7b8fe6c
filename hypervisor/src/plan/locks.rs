//! Reads the resources that VMs share.

use alloc::vec::Vec;

use abi::plan::{names, words};
use policy::lock::RESOURCES_MAX;

use super::vm::wrong_name;
use super::{MAX_CPUS, Node, Problem, Refusal};

/// The locks on the resources that VMs share.
#[derive(Debug)]
pub struct Locks<'a> {
    /// True if VCPUs in global critical sections go before all others.
    pub ceilings: bool,
    /// The resources.
    pub resources: Vec<Resource<'a>>,
}

/// A resource that VMs share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Resource<'a> {
    /// Its name.
    pub name: &'a str,
    /// The VMs that may open it, one bit each.
    pub vms: u8,
}

/// Reads the locks of a plan with `vms` VMs; `node` is that of the resources, if there is one.
#[inline(never)]
pub fn read<'a>(
    root: Node<'a>,
    node: Option<Node<'a>>,
    vms: usize,
) -> Result<Locks<'a>, Refusal<'a>> {
    let ceilings = match root.value(names::LOCKS) {
        Some(_) => root.expect_text(names::LOCKS, &words::LOCKS)? == 0,
        None => true,
    };
    let mut resources: Vec<Resource<'_>> = Vec::new();
    if let Some(node) = node {
        node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::RESOURCE])?;
        for child in node.children() {
            let resource = resource(child, vms)?;
            if resources.iter().any(|other| other.name == resource.name) {
                let problem = Problem::Text("is the name of another resource");
                return Err(child.error(names::RESOURCE_NAME, problem));
            }
            resources.push(resource);
        }
        if resources.len() > RESOURCES_MAX {
            return Err(node.node_error(Problem::Text("has more than 16 resources")));
        }
    }
    Ok(Locks { ceilings, resources })
}

fn resource(node: Node<'_>, count: usize) -> Result<Resource<'_>, Refusal<'_>> {
    node.only(&[names::REG, names::RESOURCE_NAME, names::VMS], &[])?;
    let name = node.text(names::RESOURCE_NAME)?;
    if let Some(why) = wrong_name(name) {
        return Err(node.error(names::RESOURCE_NAME, Problem::Text(why)));
    }
    let mut vms = 0u8;
    for cell in node.cells(names::VMS, 1)?.chunks_exact(4) {
        let vm = super::tree::word(cell, 0).unwrap_or(u32::MAX);
        // Ascending, so that each is named once.
        if vm as usize >= count.min(MAX_CPUS) || vms >> vm != 0 {
            let problem = Problem::Text("must be VMs that exist, in ascending order");
            return Err(node.error(names::VMS, problem));
        }
        vms |= 1 << vm;
    }
    Ok(Resource { name, vms })
}
