//! A node of the plan with its path, and what can be asked of it. Every refusal
//! names node and property.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dtoolkit::fdt::FdtNode;
use dtoolkit::{Node, Property};

use super::{PlanError, Range};
use crate::arch::page_table::PAGE_BYTES;

/// A node of the plan.
pub struct Reader<'a> {
    node: FdtNode<'a>,
    path: String,
}

impl<'a> Reader<'a> {
    pub fn root(node: FdtNode<'a>) -> Self {
        Self { node, path: "/".into() }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// An error about a property of this node.
    pub fn error(&self, property: &'static str, problem: impl Into<String>) -> PlanError {
        PlanError { node: self.path.clone(), property: Some(property), problem: problem.into() }
    }

    /// An error about this node.
    pub fn node_error(&self, problem: impl Into<String>) -> PlanError {
        PlanError { node: self.path.clone(), property: None, problem: problem.into() }
    }

    /// Refuses properties and children that the binding does not have.
    pub fn only(&self, properties: &[&str], children: &[&str]) -> Result<(), PlanError> {
        for property in self.node.properties() {
            if !properties.contains(&property.name()) {
                return Err(self.node_error(format!("unknown property {}", property.name())));
            }
        }
        for child in self.node.children() {
            if !children.contains(&child.name_without_address()) {
                return Err(self.node_error(format!("unknown node {}", child.name())));
            }
        }
        Ok(())
    }

    fn enter(&self, child: FdtNode<'a>) -> Self {
        let separator = if self.path == "/" { "" } else { "/" };
        Self { node: child, path: format!("{}{separator}{}", self.path, child.name()) }
    }

    /// The children with this name, in order.
    pub fn children(&self, name: &str) -> Result<Vec<Self>, PlanError> {
        Ok(self
            .node
            .children()
            .filter(|child| child.name_without_address() == name)
            .map(|child| self.enter(child))
            .collect())
    }

    /// The one child with this name.
    pub fn child(&self, name: &str) -> Result<Self, PlanError> {
        self.optional_child(name)?.ok_or_else(|| self.node_error(format!("node {name} is missing")))
    }

    /// The child with this name, if there is one; two are an error.
    pub fn optional_child(&self, name: &str) -> Result<Option<Self>, PlanError> {
        // `fuse`: the tree's own iterator must not be asked again after its end.
        let mut found =
            self.node.children().fuse().filter(|child| child.name_without_address() == name);
        let first = found.next().map(|child| self.enter(child));
        if found.next().is_some() {
            return Err(self.node_error(format!("node {name} stands here twice")));
        }
        Ok(first)
    }

    /// Value of a property, if it is there.
    pub fn value(&self, property: &str) -> Option<&'a [u8]> {
        self.node.properties().find(|found| found.name() == property)?.value_as().ok()
    }

    fn required(&self, property: &'static str) -> Result<&'a [u8], PlanError> {
        self.value(property).ok_or_else(|| self.error(property, "is missing"))
    }

    /// A property that is one string.
    pub fn text(&self, property: &'static str) -> Result<&'a str, PlanError> {
        let value = self.required(property)?;
        value
            .strip_suffix(&[0])
            .filter(|text| !text.contains(&0))
            .and_then(|text| core::str::from_utf8(text).ok())
            .ok_or_else(|| self.error(property, "must be one string"))
    }

    /// A property that must have this string, first of its list.
    pub fn expect_text(&self, property: &'static str, expected: &str) -> Result<(), PlanError> {
        let value = self.required(property)?;
        let first = value.split(|&byte| byte == 0).next().unwrap_or_default();
        if first == expected.as_bytes() {
            return Ok(());
        }
        let found = String::from_utf8_lossy(first).to_string();
        Err(self.error(property, format!("is \"{found}\", expected \"{expected}\"")))
    }

    /// A property that is one of these strings; returns its index.
    pub fn choice(&self, property: &'static str, choices: &[&str]) -> Result<usize, PlanError> {
        let text = self.text(property)?;
        choices.iter().position(|&choice| choice == text).ok_or_else(|| {
            self.error(
                property,
                format!("is \"{text}\", expected \"{}\"", choices.join("\" or \"")),
            )
        })
    }

    /// The cells of a property; their number must be a multiple of `group`.
    fn cells(&self, property: &'static str, group: usize) -> Result<Vec<u32>, PlanError> {
        let value = self.required(property)?;
        if value.is_empty() || value.len() % (4 * group) != 0 {
            return Err(self.error(property, format!("must have cells in groups of {group}")));
        }
        Ok(value
            .chunks_exact(4)
            .map(|cell| cell.iter().fold(0, |word, &byte| word << 8 | u32::from(byte)))
            .collect())
    }

    /// A property that is a list of cells.
    pub fn list(&self, property: &'static str) -> Result<Vec<u32>, PlanError> {
        self.cells(property, 1)
    }

    /// A property that is one cell.
    pub fn number(&self, property: &'static str) -> Result<u32, PlanError> {
        match self.cells(property, 1)?[..] {
            [number] => Ok(number),
            _ => Err(self.error(property, "must be one cell")),
        }
    }

    /// A property that is one 64-bit number in two cells.
    pub fn long(&self, property: &'static str) -> Result<u64, PlanError> {
        match self.cells(property, 2)?[..] {
            [high, low] => Ok(u64::from(high) << 32 | u64::from(low)),
            _ => Err(self.error(property, "must be one number of two cells")),
        }
    }

    /// A property that is `count` ranges.
    pub fn ranges<const COUNT: usize>(
        &self,
        property: &'static str,
    ) -> Result<[Range; COUNT], PlanError> {
        let cells = self.cells(property, 4)?;
        let mut ranges = [Range { start: 0, bytes: 0 }; COUNT];
        if cells.len() != 4 * COUNT {
            return Err(self.error(property, format!("must be {COUNT} ranges of address and size")));
        }
        for (range, cells) in ranges.iter_mut().zip(cells.chunks_exact(4)) {
            range.start = u64::from(cells[0]) << 32 | u64::from(cells[1]);
            range.bytes = u64::from(cells[2]) << 32 | u64::from(cells[3]);
            if range.bytes == 0 {
                return Err(self.error(property, "is empty"));
            }
            if (range.start | range.bytes) % PAGE_BYTES != 0 {
                return Err(self.error(property, "is not aligned to 4 KiB"));
            }
            if range.start.checked_add(range.bytes).is_none() {
                return Err(self.error(property, "wraps around"));
            }
        }
        Ok(ranges)
    }

    /// A property that is one range.
    pub fn range(&self, property: &'static str) -> Result<Range, PlanError> {
        self.ranges::<1>(property).map(|[range]| range)
    }
}
