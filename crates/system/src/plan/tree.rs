//! A device tree between its forms: text, bytes and [`Plan`](super::Plan).

use std::fmt::LowerHex;

use crate::diagnostic::{Errors, Place};

/// Deepest nesting that is read; a plan needs six levels.
pub(super) const DEPTH_MAX: usize = 16;

/// A node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Node {
    /// Name with unit address; empty for the root.
    pub name: String,
    /// Comment for the text form.
    pub comment: String,
    /// Properties in their order.
    pub properties: Vec<Property>,
    /// Nodes in it, in their order.
    pub children: Vec<Node>,
    /// Place of its name, if it was read from text.
    pub place: Option<Place>,
}

/// A property.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Property {
    /// Name.
    pub name: String,
    /// Value as bytes.
    pub value: Vec<u8>,
    /// Form of the value in text.
    pub form: Form,
    /// Comments for the text form: one, or one for each row.
    pub comments: Vec<String>,
    /// Place of the property, if it was read from text.
    pub place: Option<Place>,
}

/// Forms of a value in text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// Strings in quotes.
    Strings,
    /// Cells in decimal.
    Numbers,
    /// Pairs of cells in hexadecimal, this many pairs in a row.
    Longs(usize),
}

impl Node {
    /// Returns an empty node.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds strings.
    pub fn strings(&mut self, name: &str, values: &[impl AsRef<str>]) -> &mut Property {
        let value = values.iter().flat_map(|text| text.as_ref().bytes().chain([0])).collect();
        self.push(name, value, Form::Strings)
    }

    /// Adds cells in decimal.
    pub fn numbers(&mut self, name: &str, values: &[u32]) -> &mut Property {
        let value = values.iter().flat_map(|cell| cell.to_be_bytes()).collect();
        self.push(name, value, Form::Numbers)
    }

    /// Adds 64-bit numbers, `row` of them in each row.
    pub fn longs(&mut self, name: &str, values: &[u64], row: usize) -> &mut Property {
        let value = values.iter().flat_map(|long| long.to_be_bytes()).collect();
        self.push(name, value, Form::Longs(row))
    }

    /// Adds a property without a value.
    pub fn flag(&mut self, name: &str) -> &mut Property {
        self.push(name, Vec::new(), Form::Numbers)
    }

    fn push(&mut self, name: &str, value: Vec<u8>, form: Form) -> &mut Property {
        self.properties.push(Property {
            name: name.to_owned(),
            value,
            form,
            comments: Vec::new(),
            place: None,
        });
        let last = self.properties.len() - 1;
        &mut self.properties[last]
    }

    /// Gives each mistake the place of the node or property that it names.
    pub fn locate(&self, errors: Errors) -> Errors {
        errors.map(|mistake| match mistake.node.as_deref().and_then(|node| self.place_of(node)) {
            Some(place) => mistake.at(place, ""),
            None => mistake,
        })
    }

    /// Returns the place of `/path: property` or of `/path`; of the closest node around it if it
    /// does not exist.
    fn place_of(&self, path: &str) -> Option<&Place> {
        let (path, property) = match path.split_once(": ") {
            Some((path, property)) => (path, Some(property)),
            None => (path, None),
        };
        let mut node = self;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match node.children.iter().find(|child| child.name == name) {
                Some(child) => node = child,
                None => return node.place.as_ref(),
            }
        }
        property
            .and_then(|name| node.properties.iter().find(|property| property.name == name))
            .and_then(|property| property.place.as_ref())
            .or(node.place.as_ref())
    }
}

impl Property {
    /// Sets the comment.
    pub fn comment(&mut self, comment: impl Into<String>) {
        self.comments = vec![comment.into()];
    }
}

/// `memory@40000000`.
pub(super) fn unit(name: &str, address: impl LowerHex) -> String {
    format!("{name}@{address:x}")
}
