//! Takes a node apart and notes the mistakes in it.

use std::cell::RefCell;

use abi::plan::names;

use crate::address::{Address, Region};
use crate::diagnostic::Diagnostic;
use crate::plan::Mapping;
use crate::plan::tree::{Node, Property, unit};
use crate::suggest;

/// A node that is being read.
///
/// Each method remembers the name that it reads; [`Cursor::finish`] reports the properties and
/// nodes that no method has read.
pub(in crate::plan) struct Cursor<'t> {
    node: &'t Node,
    path: String,
    mistakes: &'t RefCell<Vec<Diagnostic>>,
    known_properties: RefCell<Vec<String>>,
    known_children: RefCell<Vec<String>>,
}

impl<'t> Cursor<'t> {
    /// Starts with a node whose parent has the path `parent`.
    pub fn new(node: &'t Node, parent: &str, mistakes: &'t RefCell<Vec<Diagnostic>>) -> Self {
        let path = match parent {
            "/" => format!("/{}", node.name),
            _ => format!("{parent}/{}", node.name),
        };
        Self {
            node,
            path,
            mistakes,
            known_properties: RefCell::default(),
            known_children: RefCell::default(),
        }
    }

    // ---- mistakes

    /// Notes a mistake in a property, or in its absence.
    pub fn wrong(&self, property: &str, message: impl Into<String>, help: &str) {
        let found = self.node.properties.iter().find(|other| other.name == property);
        let place = found.and_then(|found| found.place.as_ref()).or(self.node.place.as_ref());
        self.note("plan-property", format!("{}: {property}", self.path), message, help, place);
    }

    /// Reports a mistake of the whole node.
    pub fn wrong_node(&self, message: impl Into<String>, help: &str) {
        self.note("plan-node", self.path.clone(), message, help, self.node.place.as_ref());
    }

    fn note(
        &self,
        code: &'static str,
        node: String,
        message: impl Into<String>,
        help: &str,
        place: Option<&crate::diagnostic::Place>,
    ) {
        let mistake = Diagnostic::new(code, message).node(node).help(help);
        self.mistakes.borrow_mut().push(match place {
            Some(place) => mistake.at(place, ""),
            None => mistake,
        });
    }

    /// Reports names that no method has read, and names that are given twice.
    pub fn finish(&self) {
        let known = self.known_properties.borrow();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        for (index, property) in self.node.properties.iter().enumerate() {
            let before = &self.node.properties[..index];
            if before.iter().any(|other| other.name == property.name) {
                self.wrong(&property.name, "is given twice", "remove one of the two");
            } else if !known.contains(&property.name.as_str()) {
                let help = suggest::help(&property.name, &known);
                self.wrong(&property.name, "is not a property of this node", &help);
            }
        }
        let known = self.known_children.borrow();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        for (index, child) in self.node.children.iter().enumerate() {
            let at = Self::new(child, &self.path, self.mistakes);
            if self.node.children[..index].iter().any(|other| other.name == child.name) {
                at.wrong_node("this node is given twice", "remove one of the two");
            } else if !known.contains(&base_name(child)) {
                let help = suggest::help(base_name(child), &known);
                at.wrong_node("this node has no place here", &help);
            }
        }
    }

    // ---- properties

    /// Returns true if the property is there.
    pub fn has(&self, name: &str) -> bool {
        self.node.properties.iter().any(|property| property.name == name)
    }

    /// Accepts a property that may be there. Returns true if it is.
    pub fn optional(&self, name: &str) -> bool {
        self.known_properties.borrow_mut().push(name.to_owned());
        self.has(name)
    }

    /// Accepts a property that cannot be judged.
    pub fn skip<T>(&self, name: &str) -> Option<T> {
        self.optional(name);
        None
    }

    fn property(&self, name: &str) -> Option<&'t Property> {
        self.known_properties.borrow_mut().push(name.to_owned());
        let found = self.node.properties.iter().find(|property| property.name == name);
        if found.is_none() {
            self.wrong(name, "is missing", &format!("add `{name}` to this node"));
        }
        found
    }

    /// Strings: at least one, none of them empty.
    pub fn strings(&self, name: &str) -> Option<Vec<String>> {
        let value = &self.property(name)?.value;
        let texts = value.strip_suffix(&[0]).and_then(|value| {
            value
                .split(|&byte| byte == 0)
                .map(|text| String::from_utf8(text.to_vec()).ok())
                .collect::<Option<Vec<_>>>()
        });
        if texts.is_none() {
            self.wrong(name, "is not a string", &format!("write `{name} = \"text\";`"));
        }
        texts
    }

    /// One string.
    pub fn string(&self, name: &str) -> Option<String> {
        let mut texts = self.strings(name)?;
        if texts.len() != 1 {
            let message = format!("has {} strings, but one is expected", texts.len());
            self.wrong(name, message, "keep one of them");
            return None;
        }
        texts.pop()
    }

    /// One out of some words.
    pub fn word<'w>(&self, name: &str, words: &[&'w str]) -> Option<&'w str> {
        let text = self.string(name)?;
        let word = words.iter().find(|word| **word == text);
        if word.is_none() {
            let help = format!("write {}", suggest::list(words, "or"));
            self.wrong(name, format!("`{}` is not known here", text.escape_debug()), &help);
        }
        word.copied()
    }

    fn cells(&self, name: &str, count: usize, form: &str) -> Option<Vec<u32>> {
        let value = &self.property(name)?.value;
        let (cells, rest) = value.as_chunks();
        if cells.len() != count || !rest.is_empty() {
            let message = match rest {
                [] => format!("has {} cells, but {count} are expected", cells.len()),
                _ => format!("has {} bytes, but {} are expected", value.len(), 4 * count),
            };
            self.wrong(name, message, &format!("write `{name} = {form};`"));
            return None;
        }
        Some(cells.iter().map(|cell| u32::from_be_bytes(*cell)).collect())
    }

    /// Returns true if a property is there; it has no value.
    pub fn flag(&self, name: &str) -> bool {
        let is_there = self.optional(name);
        if is_there && self.property(name).is_some_and(|property| !property.value.is_empty()) {
            self.wrong(name, "has a value", &format!("write `{name};`"));
        }
        is_there
    }

    /// Returns true if a property is `<1>`, false if it is absent.
    pub fn one_or_absent(&self, name: &str) -> bool {
        if !self.optional(name) {
            return false;
        }
        if let Some(number) = self.number(name).filter(|number| *number != 1) {
            self.wrong(name, format!("is {number}"), "write <1>, or remove the property");
        }
        true
    }

    /// Returns a number of 32 bits.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.cells(name, 1, "<number>").map(|cells| cells[0])
    }

    /// Numbers of 32 bits: at least one.
    pub fn numbers(&self, name: &str) -> Option<Vec<u32>> {
        let count = (self.property(name)?.value.len() / 4).max(1);
        self.cells(name, count, "<number ...>")
    }

    fn longs(&self, name: &str, count: usize, form: &str) -> Option<Vec<u64>> {
        let cells = self.cells(name, 2 * count, form)?;
        Some(cells.chunks(2).map(|pair| u64::from(pair[0]) << 32 | u64::from(pair[1])).collect())
    }

    /// Returns a number of 64 bits.
    pub fn long(&self, name: &str) -> Option<u64> {
        self.longs(name, 1, "<high low>").map(|longs| longs[0])
    }

    /// Several regions, one for each frame.
    pub fn regions<A: Address>(&self, name: &str, frames: &[&str]) -> Option<Vec<Region<A>>> {
        let one = "address-high address-low size-high size-low";
        let form = match frames {
            [_] => format!("<{one}>"),
            _ => format!("<{one}> for each of {}", suggest::list(frames, "and")),
        };
        let longs = self.longs(name, 2 * frames.len(), &form)?;
        Some(longs.chunks(2).map(|pair| Region::new(pair[0], pair[1])).collect())
    }

    /// One region.
    pub fn region<A: Address>(&self, name: &str) -> Option<Region<A>> {
        self.regions(name, &["region"]).map(|regions| regions[0])
    }

    /// `reg` and `host-reg`.
    pub fn mapping(&self) -> Option<Mapping> {
        let (ipa, host) = (self.region(names::REG), self.region(names::HOST_REG));
        self.named_after(ipa);
        let (ipa, host): (_, Region<_>) = (ipa?, host?);
        if ipa.size != host.size {
            let message = format!("has {}, but `reg` has {}", host.size, ipa.size);
            self.wrong(names::HOST_REG, message, "make the two sizes equal");
            return None;
        }
        Some(Mapping { ipa: ipa.start, host: host.start, size: ipa.size })
    }

    /// `#address-cells` and `#size-cells`, which the binding fixes.
    pub fn cell_counts(&self, address: u32, size: u32) {
        for (name, expected) in [(names::ADDRESS_CELLS, address), (names::SIZE_CELLS, size)] {
            if self.number(name).is_some_and(|found| found != expected) {
                let message = format!("must be {expected} in this node");
                self.wrong(name, message, &format!("write `{name} = <{expected}>;`"));
            }
        }
    }

    // ---- names

    /// The unit address must be this number.
    pub fn named(&self, address: Option<u64>) {
        let Some(address) = address else { return };
        let expected = unit(base_name(self.node), address);
        if self.node.name != expected {
            let help = format!("call the node `{expected}`, or correct `reg`");
            self.wrong_node("the name of the node does not fit its `reg`", &help);
        }
    }

    /// The unit address must be the start of this region.
    pub fn named_after<A: Address>(&self, region: Option<Region<A>>) {
        self.named(region.map(|region| region.start.get()));
    }

    /// `reg` must be this number: nodes are numbered in their order.
    pub fn index(&self, index: usize) {
        let Some(found) = self.number(names::REG) else { return };
        if found as usize != index {
            let message = format!("is {found}, but this is number {index} of its kind");
            self.wrong(names::REG, message, "number these nodes 0, 1, 2, ... in their order");
        } else {
            self.named(Some(index as u64));
        }
    }

    // ---- nodes

    /// Returns the node with this name.
    pub fn child(&self, name: &str) -> Option<Self> {
        let child = self.optional_child(name);
        if child.is_none() {
            self.wrong_node(
                format!("node `{name}` is missing"),
                &format!("add `{name} {{ ... }};`"),
            );
        }
        child
    }

    /// Returns the node with this name, if there is one.
    pub fn optional_child(&self, name: &str) -> Option<Self> {
        self.known_children.borrow_mut().push(name.to_owned());
        let child = self.node.children.iter().find(|child| child.name == name)?;
        Some(Self::new(child, &self.path, self.mistakes))
    }

    /// Returns all nodes `name@...`.
    pub fn units(&self, name: &str) -> Vec<Self> {
        self.known_children.borrow_mut().push(name.to_owned());
        let children = self.node.children.iter().filter(|child| base_name(child) == name);
        children.map(|child| Self::new(child, &self.path, self.mistakes)).collect()
    }

    /// Returns the nodes `name@...`, of which there may be one.
    pub fn at_most_one(&self, name: &str) -> Vec<Self> {
        let units = self.units(name);
        for more in units.iter().skip(1) {
            more.wrong_node(format!("there can be only one `{name}` here"), "remove this node");
        }
        units
    }

    /// Returns the one node `name@...`.
    pub fn unit(&self, name: &str) -> Option<Self> {
        let units = self.at_most_one(name);
        if units.is_empty() {
            let message = format!("node `{name}@...` is missing");
            self.wrong_node(message, &format!("add `{name}@address {{ ... }};`"));
        }
        units.into_iter().next()
    }
}

/// Returns the name without its unit address.
fn base_name(node: &Node) -> &str {
    node.name.split('@').next().unwrap_or_default()
}
