//! Checks of nodes against the binding. Every refusal names node and property.

use alloc::boxed::Box;

use abi::limits::SHARED_INTERRUPTS;
use abi::plan::names;

use super::tree::{self, Node};
use super::{Mapping, PlanError, Problem, Range, Refusal};
use crate::arch::page_table::PAGE_BYTES;
use crate::arch::text::ascii;

impl<'a> Node<'a> {
    /// An error about a property of this node.
    #[cold]
    #[inline(never)]
    pub fn error(self, property: &'static str, problem: Problem<'a>) -> Refusal<'a> {
        Box::new(PlanError { node: self, property: Some(property), problem })
    }

    /// An error about this node.
    #[cold]
    #[inline(never)]
    pub fn node_error(self, problem: Problem<'a>) -> Refusal<'a> {
        Box::new(PlanError { node: self, property: None, problem })
    }

    /// Refuses properties and children that the binding does not have.
    #[inline(never)]
    pub fn only(self, properties: &[&str], children: &[&str]) -> Result<(), Refusal<'a>> {
        for property in self.properties() {
            if !properties.iter().any(|name| property.is(name)) {
                return Err(self.node_error(Problem::UnknownProperty(property.name())));
            }
        }
        for child in self.children() {
            if !children.iter().any(|name| child.is(name)) {
                return Err(self.node_error(Problem::UnknownNode(child.name())));
            }
        }
        Ok(())
    }

    /// The `index`-th child with this name; this node if there is none. For
    /// messages about a child that was read.
    #[inline(never)]
    pub fn nth(self, name: &str, mut index: usize) -> Self {
        for child in self.children() {
            if child.is(name) {
                if index == 0 {
                    return child;
                }
                index -= 1;
            }
        }
        self
    }

    /// The one child with this name.
    pub fn child(self, name: &'static str) -> Result<Self, Refusal<'a>> {
        match self.optional_child(name)? {
            Some(child) => Ok(child),
            None => Err(self.node_error(Problem::MissingNode(name))),
        }
    }

    /// The child with this name, if there is one; two are an error.
    #[inline(never)]
    pub fn optional_child(self, name: &'static str) -> Result<Option<Self>, Refusal<'a>> {
        let mut found = None;
        for child in self.children() {
            if child.is(name) {
                if found.is_some() {
                    return Err(self.node_error(Problem::NodeTwice(name)));
                }
                found = Some(child);
            }
        }
        Ok(found)
    }

    fn required(self, property: &'static str) -> Result<&'a [u8], Refusal<'a>> {
        match self.value(property) {
            Some(value) => Ok(value),
            None => Err(self.error(property, Problem::Text("is missing"))),
        }
    }

    /// Returns a property that is one string, in any encoding.
    #[inline(never)]
    pub fn string(self, property: &'static str) -> Result<&'a [u8], Refusal<'a>> {
        match self.required(property)? {
            [text @ .., 0] if text.iter().all(|&byte| byte != 0) => Ok(text),
            _ => Err(self.error(property, Problem::Text("must be one string"))),
        }
    }

    /// A property that is one string of ASCII.
    #[inline(never)]
    pub fn text(self, property: &'static str) -> Result<&'a str, Refusal<'a>> {
        let text = ascii(self.string(property)?);
        text.ok_or_else(|| self.error(property, Problem::Text("must be ASCII")))
    }

    /// A property that must have one of these strings, first of its list; returns
    /// the index.
    #[inline(never)]
    pub fn expect_text(
        self,
        property: &'static str,
        expected: &'static [&'static str],
    ) -> Result<usize, Refusal<'a>> {
        let value = self.required(property)?;
        let Some(found) = tree::string(value, 0) else {
            return Err(self.error(property, Problem::Text("must be a string")));
        };
        for (index, text) in expected.iter().enumerate() {
            if found == *text {
                return Ok(index);
            }
        }
        Err(self.error(property, Problem::Expected(found, expected)))
    }

    /// The cells of a property; their number must be a multiple of `group`.
    #[inline(never)]
    pub fn cells(self, property: &'static str, group: usize) -> Result<&'a [u8], Refusal<'a>> {
        let value = self.required(property)?;
        if value.is_empty() || value.len() % (4 * group) != 0 {
            return Err(self.error(property, Problem::Groups(group)));
        }
        Ok(value)
    }

    /// A property that is one cell.
    #[inline(never)]
    pub fn number(self, property: &'static str) -> Result<u32, Refusal<'a>> {
        match *self.cells(property, 1)? {
            [a, b, c, d] => Ok(u32::from_be_bytes([a, b, c, d])),
            _ => Err(self.error(property, Problem::Text("must be one cell"))),
        }
    }

    /// A property that is one 64-bit number in two cells.
    #[inline(never)]
    pub fn long(self, property: &'static str) -> Result<u64, Refusal<'a>> {
        let value = self.cells(property, 2)?;
        match tree::number(value, 0, 2) {
            Some(number) if value.len() == 8 => Ok(number),
            _ => Err(self.error(property, Problem::Text("must be one number of two cells"))),
        }
    }

    /// The `index`-th of `count` ranges in a property.
    #[inline(never)]
    pub fn range_of(
        self,
        property: &'static str,
        index: usize,
        count: usize,
    ) -> Result<Range, Refusal<'a>> {
        let value = self.cells(property, 4)?;
        if value.len() != 16 * count {
            return Err(self.error(property, Problem::Ranges(count)));
        }
        match range(value, index) {
            Ok(range) => Ok(range),
            Err(problem) => Err(self.error(property, Problem::Text(problem))),
        }
    }

    /// A property that is one range.
    pub fn range(self, property: &'static str) -> Result<Range, Refusal<'a>> {
        self.range_of(property, 0, 1)
    }
}

/// The `index`-th range of address and size, two cells each.
#[inline(never)]
pub fn range(cells: &[u8], index: usize) -> Result<Range, &'static str> {
    let start = tree::number(cells, 4 * index, 2).ok_or("is missing")?;
    let bytes = tree::number(cells, 4 * index + 2, 2).ok_or("is missing")?;
    if bytes == 0 {
        Err("is empty")
    } else if !(start | bytes).is_multiple_of(PAGE_BYTES) {
        Err("is not aligned to 4 KiB")
    } else if start.checked_add(bytes).is_none() {
        Err("wraps around")
    } else {
        Ok(Range { start, bytes })
    }
}

/// Reads registers of the machine and where the guest has them.
#[inline(never)]
pub fn mapping(node: Node<'_>) -> Result<Mapping, Refusal<'_>> {
    let guest = node.range(names::REG)?;
    let host = node.range(names::HOST_REG)?;
    if guest.bytes != host.bytes {
        return Err(node.error(names::HOST_REG, Problem::Sizes(host.bytes, guest.bytes)));
    }
    Ok(Mapping { guest, host: host.start })
}

/// Refuses a number that is not the INTID of a shared interrupt.
pub fn shared_interrupt<'a>(
    node: Node<'a>,
    property: &'static str,
    number: u32,
) -> Result<u32, Refusal<'a>> {
    if SHARED_INTERRUPTS.contains(&number) {
        return Ok(number);
    }
    Err(node.error(property, Problem::Interrupt(number.into())))
}
