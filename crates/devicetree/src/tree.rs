//! A device tree, with its addresses as the CPUs see them.

use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::{Node as _, Property as _};

use crate::Error;

/// Deepest nodes that are read.
const DEPTH_MAX: usize = 32;

/// A node.
#[derive(Debug)]
pub struct Node {
    pub name: String,
    properties: Vec<(String, Vec<u8>)>,
    pub children: Vec<Node>,
    /// Ranges of addresses in `reg`.
    pub regions: Vec<Region>,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Region {
    pub start: u64,
    pub size: u64,
}

/// The translation of addresses by a bus: from, to, size.
type Ranges = Vec<(u64, u64, u64)>;

/// Reads a flattened device tree.
pub fn read(bytes: &[u8]) -> Result<Node, Error> {
    let fdt = Fdt::new(bytes).map_err(|error| Error::NotATree(error.to_string()))?;
    let mut root = copy(fdt.root(), 0)?;
    for reserved in fdt.memory_reservations() {
        let region = Region { start: reserved.address(), size: reserved.size() };
        root.regions.push(region);
    }
    translate(&mut root, &[]);
    Ok(root)
}

fn copy(from: FdtNode<'_>, depth: usize) -> Result<Node, Error> {
    if depth > DEPTH_MAX {
        return Err(Error::NotATree(format!("nodes are nested deeper than {DEPTH_MAX} levels")));
    }
    let properties = from.properties().map(|it| (it.name().to_owned(), it.value().to_vec()));
    let children = from.children().map(|it| copy(it, depth + 1));
    Ok(Node {
        name: from.name().to_owned(),
        properties: properties.collect(),
        children: children.collect::<Result<_, _>>()?,
        regions: Vec::new(),
    })
}

/// Fills `regions` of the children; `buses` are those above, the nearest last.
fn translate(node: &mut Node, buses: &[Ranges]) {
    let cells = |name, default: u32| node.number(name).unwrap_or(default).min(4) as usize;
    let (address, size) = (cells("#address-cells", 2), cells("#size-cells", 1));
    for child in &mut node.children {
        let own = child.words("reg");
        let width = (address + size).max(1);
        for pair in own.chunks_exact(width) {
            let start = join(&pair[..address]);
            if let Some(start) = buses.iter().rev().try_fold(start, |at, bus| through(bus, at)) {
                child.regions.push(Region { start, size: join(&pair[address..]) });
            }
        }
        let mut inner = buses.to_vec();
        let ranges = child.words("ranges");
        let of_child = child.number("#address-cells").unwrap_or(2).min(4) as usize;
        let size_of_child = child.number("#size-cells").unwrap_or(1).min(4) as usize;
        let width = (of_child + address + size_of_child).max(1);
        let range = |it: &[u32]| {
            let (from, rest) = it.split_at(of_child);
            let (to, size) = rest.split_at(address);
            (join(from), join(to), join(size))
        };
        if !ranges.is_empty() {
            inner.push(ranges.chunks_exact(width).map(range).collect());
        }
        translate(child, &inner);
    }
}

/// Returns the address above a bus; `None` if the bus does not show it there.
fn through(bus: &Ranges, at: u64) -> Option<u64> {
    let (from, to, _) = bus.iter().find(|(from, _, size)| at.wrapping_sub(*from) < *size)?;
    Some(to.wrapping_add(at.wrapping_sub(*from)))
}

fn join(cells: &[u32]) -> u64 {
    cells.iter().fold(0, |number, cell| number << 32 | u64::from(*cell))
}

impl Node {
    fn value(&self, name: &str) -> Option<&[u8]> {
        Some(&self.properties.iter().find(|(it, _)| it == name)?.1)
    }

    /// Returns the cells of a property.
    pub fn words(&self, name: &str) -> Vec<u32> {
        let bytes = self.value(name).unwrap_or_default();
        let word = |it: &[u8]| u32::from_be_bytes([it[0], it[1], it[2], it[3]]);
        bytes.chunks_exact(4).map(word).collect()
    }

    /// Returns the first cell of a property.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.words(name).first().copied()
    }

    /// Returns all cells of a property as one number.
    pub fn long(&self, name: &str) -> Option<u64> {
        let words = self.words(name);
        (1..=2).contains(&words.len()).then(|| join(&words))
    }

    /// Returns the texts of a property.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let bytes = self.value(name).unwrap_or_default();
        let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        parts.filter_map(|part| std::str::from_utf8(part).ok()).collect()
    }

    /// Returns true if it is not switched off.
    pub fn is_on(&self) -> bool {
        self.texts("status").first().is_none_or(|it| ["okay", "ok"].contains(it))
    }

    /// Returns true if it is one of these devices, and not switched off.
    pub fn is_any(&self, names: &[&str]) -> bool {
        self.is_on() && self.texts("compatible").iter().any(|it| names.contains(it))
    }

    /// Returns the child of this name.
    pub fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns all nodes below, in their order.
    pub fn all(&self) -> Vec<&Node> {
        self.children.iter().flat_map(|it| [vec![it], it.all()].concat()).collect()
    }
}
