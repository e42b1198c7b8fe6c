//! A flattened device tree, read where it lies (Devicetree Specification 0.4,
//! chapter 5). [`Tree::new`] checks the whole structure once; walking it
//! afterwards cannot fail, allocates nothing and copies nothing.

use core::fmt;

use super::Range;
use crate::arch::text::ascii;

const MAGIC: u32 = 0xd00d_feed;
/// The version of the format that a reader must understand.
const COMPATIBLE: u32 = 17;

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

/// A tree whose structure is intact.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    blob: &'a [u8],
}

/// A node of a tree.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    tree: Tree<'a>,
    /// The word at which it begins.
    at: usize,
}

/// A property of a node.
#[derive(Clone, Copy, Debug)]
pub struct Property<'a> {
    tree: Tree<'a>,
    /// The word at which it begins.
    at: usize,
}

/// The big-endian word at an offset.
#[inline]
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    // One load: reading the plan is a large part of the time to boot.
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number in one or two cells, from this cell on.
pub fn number(bytes: &[u8], cell: usize, cells: usize) -> Option<u64> {
    let first = u64::from(word(bytes, 4 * cell)?);
    if cells == 1 {
        return Some(first);
    }
    Some(first << 32 | u64::from(word(bytes, 4 * cell + 4)?))
}

/// The zero-terminated string at an offset.
pub fn string(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let length = rest.iter().position(|&byte| byte == 0)?;
    ascii(rest.get(..length)?)
}

impl<'a> Tree<'a> {
    /// The tree that `blob` starts with; `None` unless all of it is well formed.
    pub fn new(blob: &'a [u8]) -> Option<Self> {
        let header = |index: usize| word(blob, 4 * index);
        if header(0)? != MAGIC || header(5)? < COMPATIBLE || header(6)? > COMPATIBLE {
            return None;
        }
        let tree = Self { blob: blob.get(..header(1)? as usize)? };
        tree.is_well_formed().then_some(tree)
    }

    /// The word at an index; no token of a node, and no length of anything, beyond the end.
    #[inline(always)]
    fn word(self, at: usize) -> u32 {
        self.blob.as_chunks().0.get(at).map_or(u32::MAX, |word| u32::from_be_bytes(*word))
    }

    /// Returns where the structure starts: a word.
    fn structure(self) -> usize {
        self.word(2) as usize / 4
    }

    /// Names of properties, and the bytes that may stand behind them.
    fn strings(self) -> &'a [u8] {
        self.blob.get(self.word(3) as usize..).unwrap_or_default()
    }

    /// Bytes of the names of properties; 0 unless the last name ends.
    fn strings_bytes(self) -> usize {
        let bytes = self.word(8) as usize;
        match self.strings().get(..bytes) {
            Some([.., 0]) => bytes,
            _ => 0,
        }
    }

    /// Returns true if nodes are closed, properties stand before children, the root is
    /// alone, and names end.
    fn is_well_formed(self) -> bool {
        let end = self.behind_node(self.root().at, self.strings_bytes() as u32);
        self.word(2).is_multiple_of(4)
            && end.is_some_and(|at| self.word(self.behind_nops(at)) == END)
    }

    /// Its root.
    pub fn root(self) -> Node<'a> {
        Node { tree: self, at: self.behind_nops(self.structure()) }
    }

    /// Visits the RAM of a machine as its firmware describes it.
    pub fn for_each_memory(self, visit: &mut dyn FnMut(Range)) {
        let root = self.root();
        let cells = |name, default| match root.value(name) {
            Some(value) => word(value, 0).map_or(0, |cells| cells as usize),
            None => default,
        };
        // The defaults of the specification, section 2.3.5.
        let (address, size) = (cells("#address-cells", 2), cells("#size-cells", 1));
        if !matches!((address, size), (1..=2, 1..=2)) {
            return;
        }
        for node in root.children() {
            if !node.is("memory") {
                continue;
            }
            let mut reg = node.value("reg").unwrap_or_default();
            while let (Some(start), Some(bytes)) =
                (number(reg, 0, address), number(reg, address, size))
            {
                if start.checked_add(bytes).is_some() {
                    visit(Range { start, bytes });
                }
                reg = reg.get(4 * (address + size)..).unwrap_or_default();
            }
        }
    }

    fn behind_nops(self, mut at: usize) -> usize {
        while self.word(at) == NOP {
            at += 1;
        }
        at
    }

    /// The word behind the name of the node that begins at a word.
    #[inline(always)]
    fn behind_name(self, mut at: usize) -> usize {
        // It is padded to whole words with at least one zero; what does not end here is beyond the end next.
        loop {
            at += 1;
            let word = self.word(at);
            if word & 0xff == 0 || word == u32::MAX {
                return at + 1;
            }
        }
    }

    /// The word behind the property that begins at a word.
    #[inline(always)]
    fn behind_property(self, at: usize) -> usize {
        at + 3 + (self.word(at + 1) as usize).div_ceil(4)
    }

    /// The word behind the node that begins at a word; `None` unless it is well formed and the names of its
    /// properties start before `strings_bytes`. All walks come here: no token becomes a value of its own.
    #[inline(never)]
    fn behind_node(self, mut at: usize, strings_bytes: u32) -> Option<usize> {
        let (mut depth, mut properties_allowed) = (0, false);
        loop {
            match self.word(at) {
                BEGIN_NODE => {
                    (depth, properties_allowed) = (depth + 1, true);
                    at = self.behind_name(at);
                }
                PROPERTY if properties_allowed && self.word(at + 2) < strings_bytes => {
                    at = self.behind_property(at);
                }
                END_NODE if depth > 1 => {
                    (depth, properties_allowed) = (depth - 1, false);
                    at += 1;
                }
                END_NODE if depth == 1 => return Some(at + 1),
                NOP => at += 1,
                _ => return None,
            }
        }
    }

    /// The first token of this kind from a word on with only properties before it, if there is one.
    #[inline(never)]
    fn find(self, kind: u32, mut at: usize) -> Option<usize> {
        loop {
            match self.word(at) {
                found if found == kind => return Some(at),
                PROPERTY => at = self.behind_property(at),
                NOP => at += 1,
                _ => return None,
            }
        }
    }

    /// Returns true if this name stands at an offset, and one of these bytes behind it.
    #[inline(never)]
    fn has_name(self, at: usize, name: &str, ends: &[u8]) -> bool {
        let mut rest = self.blob.get(at..).unwrap_or_default().iter();
        name.as_bytes().iter().all(|byte| rest.next() == Some(byte))
            && rest.next().is_some_and(|end| ends.contains(end))
    }
}

impl<'a> Property<'a> {
    /// Returns true if this is the name of the property.
    pub fn is(&self, name: &str) -> bool {
        let at = self.tree.word(3) as usize + self.tree.word(self.at + 2) as usize;
        self.tree.has_name(at, name, b"\0")
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        string(self.tree.strings(), self.tree.word(self.at + 2) as usize).unwrap_or("?")
    }

    /// Its value.
    pub fn value(&self) -> &'a [u8] {
        let rest = self.tree.blob.get(4 * (self.at + 3)..).unwrap_or_default();
        rest.get(..self.tree.word(self.at + 1) as usize).unwrap_or_default()
    }
}

impl<'a> Node<'a> {
    /// Returns true if this is the name of the node, without the unit address.
    pub fn is(self, name: &str) -> bool {
        self.tree.has_name(4 * (self.at + 1), name, b"@\0")
    }

    /// Its name, with the unit address.
    pub fn name(self) -> &'a str {
        string(self.tree.blob, 4 * (self.at + 1)).unwrap_or("?")
    }

    /// Its properties.
    pub fn properties(self) -> Properties<'a> {
        let Self { tree, at } = self;
        Properties { tree, at: tree.behind_name(at) }
    }

    /// Its children.
    pub fn children(self) -> Children<'a> {
        let Properties { tree, at } = self.properties();
        Children { tree, at }
    }

    /// Value of the property with this name.
    #[inline(never)]
    pub fn value(self, name: &str) -> Option<&'a [u8]> {
        for property in self.properties() {
            if property.is(name) {
                return Some(property.value());
            }
        }
        None
    }
}

/// The path, as `/vms/vm@0/boot`.
impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut node = self.tree.root();
        if self.at == node.at {
            return f.write_str("/");
        }
        // The way to a node leads through the last child at each level that does not
        // start behind it.
        while node.at < self.at {
            let mut next = None;
            for child in node.children() {
                if child.at <= self.at {
                    next = Some(child);
                }
            }
            let Some(child) = next else { break };
            f.write_str("/")?;
            f.write_str(child.name())?;
            node = child;
        }
        Ok(())
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The properties of a node.
#[derive(Debug)]
pub struct Properties<'a> {
    tree: Tree<'a>,
    at: usize,
}

impl<'a> Iterator for Properties<'a> {
    type Item = Property<'a>;

    fn next(&mut self) -> Option<Property<'a>> {
        let Self { tree, at } = *self;
        let at = tree.find(PROPERTY, at)?;
        self.at = tree.behind_property(at);
        Some(Property { tree, at })
    }
}

/// The children of a node.
#[derive(Debug)]
pub struct Children<'a> {
    tree: Tree<'a>,
    at: usize,
}

impl<'a> Iterator for Children<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        let Self { tree, at } = *self;
        let at = tree.find(BEGIN_NODE, at)?;
        self.at = tree.behind_node(at, u32::MAX)?;
        Some(Node { tree, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: u32 = BEGIN_NODE;
    const NAME_A: u32 = u32::from_be_bytes(*b"a\0\0\0");
    const NAME_B: u32 = u32::from_be_bytes(*b"b@1\0");

    /// A tree of these words, with the one property name "p".
    fn blob(structure: &[u32]) -> Vec<u8> {
        let end = 40 + 4 * structure.len() as u32;
        let header = [MAGIC, end + 2, 40, end, 0, 17, 16, 0, 2, end - 40];
        let words = header.iter().chain(structure);
        words.flat_map(|word| word.to_be_bytes()).chain(*b"p\0").collect()
    }

    #[test]
    fn nodes_are_found_between_other_tokens() {
        let blob = blob(&[
            NOP, BEGIN, 0, PROPERTY, 4, 0, 7, NOP, BEGIN, NAME_A, END_NODE, NOP, BEGIN, NAME_B,
            PROPERTY, 0, 0, END_NODE, END_NODE, END,
        ]);
        let root = Tree::new(&blob).unwrap().root();
        assert_eq!(root.value("p"), Some(&[0, 0, 0, 7][..]));
        let paths: Vec<String> = root.children().map(|child| child.to_string()).collect();
        assert_eq!(paths, ["/a", "/b@1"]);
        let counts = root.children().map(|child| (child.is("b"), child.properties().count()));
        assert_eq!(counts.collect::<Vec<_>>(), [(false, 0), (true, 1)]);
        assert!(root.children().all(|child| child.children().count() == 0));
        assert_eq!(root.to_string(), "/");
    }

    #[test]
    fn what_is_not_a_tree_is_refused() {
        let refused: &[&[u32]] = &[
            &[],
            &[END],
            &[BEGIN, 0, END_NODE],
            &[BEGIN, 0, END],
            &[BEGIN, 0, END_NODE, BEGIN, 0, END_NODE, END],
            &[PROPERTY, 0, 0, BEGIN, 0, END_NODE, END],
            &[BEGIN, 0, BEGIN, 0, END_NODE, PROPERTY, 0, 0, END_NODE, END],
            &[BEGIN, 0, PROPERTY, 0, 2, END_NODE, END],
            &[BEGIN, 0, PROPERTY, 1000, 0, END_NODE, END],
            &[BEGIN, 0, 5, END_NODE, END],
            &[BEGIN, NAME_A + 1, NAME_A + 1],
        ];
        for structure in refused {
            assert!(Tree::new(&blob(structure)).is_none(), "{structure:?}");
        }
        let good = blob(&[BEGIN, 0, END_NODE, END]);
        assert!(Tree::new(&good).is_some());
        for length in 0..good.len() {
            assert!(Tree::new(&good[..length]).is_none(), "{length} bytes");
        }
        for (at, byte) in [(3, 0), (23, 16), (27, 18)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert!(Tree::new(&bad).is_none(), "byte {at}");
        }
    }
}
