//! A device tree that can be changed, and its changes.

use std::collections::HashMap;

/// A node of a tree.
#[derive(Clone, Debug)]
pub struct Node {
    name: String,
    properties: Vec<(String, Vec<u8>)>,
    children: Vec<Node>,
}

/// Changes of a value.
type Change = (&'static str, fn(&mut Vec<u8>));

const CHANGES: [Change; 11] = [
    ("a byte shorter", |value| value.truncate(value.len().saturating_sub(1))),
    ("a cell shorter", |value| value.truncate(value.len().saturating_sub(4))),
    ("a cell longer", |value| value.extend([0, 0, 0, 1])),
    ("empty", Vec::clear),
    ("all bits 0", |value| value.fill(0)),
    ("all bits 1", |value| value.fill(0xff)),
    ("one more", |value| add(value, 1)),
    ("one less", |value| add(value, -1)),
    ("half", |value| {
        if let Some(last) = value.last_chunk_mut() {
            *last = (u32::from_be_bytes(*last) / 2).to_be_bytes();
        }
    }),
    ("above 2^39", |value| {
        if let Some(first) = value.first_chunk_mut::<8>() {
            first[3] |= 0x80;
        }
    }),
    ("half a page further", |value| {
        if let Some(first) = value.first_chunk_mut::<8>() {
            first[6] ^= 8;
        }
    }),
];

fn add(value: &mut [u8], number: i32) {
    if let Some(last) = value.last_chunk_mut() {
        *last = u32::from_be_bytes(*last).wrapping_add_signed(number).to_be_bytes();
    }
}

impl Node {
    /// The tree below a node that was read.
    pub fn of(node: hypervisor::plan::Node<'_>) -> Self {
        let property =
            |it: hypervisor::plan::Property<'_>| (it.name().to_owned(), it.value().to_owned());
        Self {
            name: node.name().to_owned(),
            properties: node.properties().map(property).collect(),
            children: node.children().map(Self::of).collect(),
        }
    }

    /// The flattened tree (Devicetree Specification 0.4, chapter 5).
    pub fn to_dtb(&self) -> Vec<u8> {
        let (mut structure, mut strings) = (Vec::new(), Vec::new());
        self.flatten(&mut structure, &mut strings);
        structure.extend(9u32.to_be_bytes());
        let (at, end) = (56, 56 + structure.len() as u32);
        let total = end + strings.len() as u32;
        let header = [0xd00d_feed, total, at, end, 40, 17, 16, 0, strings.len() as u32, end - at];
        let mut bytes: Vec<u8> = header.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
        bytes.extend([0; 16]);
        bytes.extend(structure);
        bytes.extend(strings);
        bytes
    }

    fn flatten(&self, structure: &mut Vec<u8>, strings: &mut Vec<u8>) {
        let pad =
            |structure: &mut Vec<u8>| structure.resize(structure.len().next_multiple_of(4), 0);
        structure.extend(1u32.to_be_bytes());
        structure.extend(self.name.bytes().chain([0]));
        pad(structure);
        for (name, value) in &self.properties {
            for word in [3, value.len() as u32, strings.len() as u32] {
                structure.extend(word.to_be_bytes());
            }
            structure.extend(value);
            pad(structure);
            strings.extend(name.bytes().chain([0]));
        }
        for child in &self.children {
            child.flatten(structure, strings);
        }
        structure.extend(2u32.to_be_bytes());
    }

    fn base(&self) -> &str {
        self.name.split('@').next().unwrap_or_default()
    }

    /// Names the node after its `reg`.
    fn rename(&mut self) {
        let reg = self.properties.iter().find(|(name, _)| name == "reg");
        let Some((_, value)) = reg.filter(|_| self.name.contains('@')) else { return };
        let address = match (value.first_chunk(), value.first_chunk()) {
            (Some(long), _) => u64::from_be_bytes(*long),
            (None, Some(cell)) => u32::from_be_bytes(*cell).into(),
            (None, None) => return,
        };
        self.name = format!("{}@{address:x}", self.base());
    }

    fn at(&mut self, path: &[usize]) -> &mut Self {
        path.iter().fold(self, |node, index| &mut node.children[*index])
    }

    /// All nodes: what leads there, and the names on the way.
    fn walk(&self, path: &[usize], kind: &str, nodes: &mut Vec<(Vec<usize>, String, Self)>) {
        nodes.push((path.to_vec(), kind.to_owned(), self.clone()));
        for (index, child) in self.children.iter().enumerate() {
            let kind = format!("{}/{}", kind.trim_end_matches('/'), child.base());
            child.walk(&[path, &[index]].concat(), &kind, nodes);
        }
    }

    /// This tree, flattened, with one change each, and what was changed; `counts` knows what was changed in other trees.
    pub fn broken(
        &self,
        times: usize,
        counts: &mut HashMap<String, usize>,
    ) -> Vec<(String, Vec<u8>)> {
        let mut nodes = Vec::new();
        self.walk(&[], "/", &mut nodes);
        let mut all = Vec::new();
        let mut add = |what: String, path: &[usize], change: &dyn Fn(&mut Self)| {
            let count = counts.entry(what.clone()).or_default();
            if *count < times {
                *count += 1;
                let mut tree = self.clone();
                change(tree.at(path));
                all.push((what, tree.to_dtb()));
            }
        };
        for (path, kind, node) in &nodes {
            add(format!("{kind}: unknown property"), path, &|node| {
                node.properties.push(("secret".into(), Vec::new()));
            });
            add(format!("{kind}: unknown node"), path, &|node| {
                node.children.push(Self { name: "secret".into(), ..Self::empty() });
            });
            if let Some((last, parent)) = path.split_last() {
                add(format!("{kind}: removed"), parent, &|node| drop(node.children.remove(*last)));
                add(format!("{kind}: twice"), parent, &|node| {
                    node.children.insert(*last, node.children[*last].clone());
                });
                add(format!("{kind}: twice, in other places"), parent, &|node| {
                    let mut other = node.children[*last].clone();
                    if let Some((_, reg)) = other.properties.iter_mut().find(|it| it.0 == "reg") {
                        if let [_, _, _, _, _, address, ..] = reg.as_mut_slice() {
                            *address ^= 0x80;
                        }
                        other.rename();
                    }
                    node.children.push(other);
                });
                add(format!("{kind}: other unit address"), path, &|node| {
                    node.name = format!("{}@bad", node.base())
                });
            }
            for (index, (name, value)) in node.properties.iter().enumerate() {
                let what = format!("{kind}: {name}");
                add(format!("{what}: removed"), path, &|node| drop(node.properties.remove(index)));
                add(format!("{what}: twice"), path, &|node| {
                    node.properties.insert(index, node.properties[index].clone());
                });
                add(format!("{what}: twice, first all bits 0"), path, &|node| {
                    node.properties.insert(index, (name.clone(), vec![0; value.len()]));
                });
                for (text, change) in CHANGES {
                    let mut changed = value.clone();
                    change(&mut changed);
                    if changed != *value {
                        add(format!("{what}: {text}"), path, &|node| {
                            node.properties[index].1.clone_from(&changed);
                            node.rename();
                        });
                    }
                }
                // Overlaps, and what belongs to two.
                let mut others: Vec<&Vec<u8>> = Vec::new();
                for (_, _, node) in &nodes {
                    let same = |other: &&(String, Vec<u8>)| {
                        let regions = ["reg", "host-reg"];
                        let alike = other.0 == *name
                            || regions.contains(&name.as_str()) && regions.contains(&&*other.0);
                        alike && other.1 != *value && other.1.len() == value.len()
                    };
                    others.extend(node.properties.iter().filter(same).map(|(_, value)| value));
                }
                others.sort();
                others.dedup();
                for other in others {
                    add(format!("{what}: that of another node"), path, &|node| {
                        node.properties[index].1.clone_from(other);
                        node.rename();
                    });
                }
            }
        }
        all
    }

    fn empty() -> Self {
        Self { name: String::new(), properties: Vec::new(), children: Vec::new() }
    }
}
