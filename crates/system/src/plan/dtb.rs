//! Flattened device trees.

use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use dtoolkit::{Node as _, Property as _};

use super::tree::{DEPTH_MAX, Form, Node, Property};
use crate::diagnostic::{Diagnostic, Errors};

/// Returns the bytes of a tree.
pub(super) fn print(tree: &Node) -> Vec<u8> {
    let mut out = DeviceTree::new();
    out.root = node(tree);
    out.to_dtb()
}

fn node(from: &Node) -> DeviceTreeNode {
    let mut to = DeviceTreeNode::new_unchecked(from.name.clone());
    for property in &from.properties {
        let value = property.value.as_slice();
        to.add_property(DeviceTreeProperty::new_unchecked(property.name.clone(), value));
    }
    for child in &from.children {
        to.add_child(node(child));
    }
    to
}

/// Returns the tree in `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Result<Node, Errors> {
    let fdt = Fdt::new(bytes).map_err(|error| {
        Diagnostic::new(
            "not-a-device-tree",
            format!("this is not a flattened device tree: {error}"),
        )
        .help("give the plan as `plan.dts`, or compile it: `dtc -O dtb -o plan.dtb plan.dts`")
    })?;
    Ok(read(fdt.root(), 0)?)
}

fn read(from: FdtNode<'_>, depth: usize) -> Result<Node, Box<Diagnostic>> {
    let mut to = Node::new(from.name());
    if depth == DEPTH_MAX {
        let message = format!("nodes are nested deeper than {DEPTH_MAX} levels");
        return Err(Diagnostic::new("not-a-plan", message).node(to.name).into());
    }
    for property in from.properties() {
        to.properties.push(Property {
            name: property.name().to_owned(),
            value: property.value().to_vec(),
            form: Form::Numbers,
            comments: Vec::new(),
            place: None,
        });
    }
    for child in from.children() {
        to.children.push(read(child, depth + 1)?);
    }
    Ok(to)
}
