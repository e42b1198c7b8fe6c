//! Parts of a tree that have no place in a platform file.

use crate::amount;
use crate::tree::Node;

/// A part that the tree has and the file has not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Left {
    pub what: String,
    pub why: String,
}

impl Left {
    /// Names a device: its node, kind, and registers.
    pub fn of(node: &Node) -> String {
        let registers = node.regions.first().map(|it| format!(": {}", amount::region(it)));
        format!("{}{}", described(node), registers.unwrap_or_default())
    }
}

/// Returns the name of a node, and what it is.
pub fn described(node: &Node) -> String {
    let compatible = node.texts("compatible");
    format!("{} ({})", node.name, compatible.first().unwrap_or(&"no `compatible`"))
}
