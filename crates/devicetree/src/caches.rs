//! The caches of the first CPU, and those of the others.

use crate::left::Left;
use crate::tree::Node;

/// A cache; what is `None` is not stated.
#[derive(Clone, PartialEq)]
pub struct Cache {
    pub level: u32,
    pub kind: &'static str,
    pub size: Option<u32>,
    pub line: Option<u32>,
    pub sets: Option<u32>,
    pub shared_by: usize,
}

impl Cache {
    /// Returns the number of ways.
    pub fn ways(&self) -> Option<u32> {
        let way = self.line?.checked_mul(self.sets?)?;
        self.size?.checked_div(way).filter(|ways| *ways > 0)
    }
}

/// Returns the caches of the first CPU, each with the number of CPUs that have it, and those that only others have: a
/// platform file has the caches of one CPU. `model` names a CPU.
pub fn find(
    cpus: &[&Node],
    all: &[&Node],
    model: impl Fn(&Node) -> String,
) -> (Vec<Cache>, Vec<Left>) {
    let Some(first) = cpus.first() else { return (Vec::new(), Vec::new()) };
    let own = first_level(first);
    let mut left: Vec<Left> = Vec::new();
    for cpu in cpus {
        for cache in first_level(cpu).iter().filter(|it| !own.contains(it)) {
            left.push(other(cache, &format!("of {}", model(cpu)), &model(first)));
        }
    }
    let mut caches = own;
    let mut seen: Vec<&Node> = Vec::new();
    for cpu in cpus {
        for (index, node) in chain(cpu, all).into_iter().enumerate() {
            if seen.iter().any(|it| std::ptr::eq(*it, node)) {
                continue;
            }
            seen.push(node);
            let has = |cpu: &&&Node| chain(cpu, all).iter().any(|it| std::ptr::eq(*it, node));
            let shared_by = cpus.iter().filter(has).count();
            let level = node.number("cache-level").unwrap_or(index as u32 + 2);
            let cache = read(node, level, "unified", "", shared_by);
            if std::ptr::eq(*cpu, *first) {
                caches.push(cache);
            } else {
                let of = format!("of {shared_by} x {}", model(cpu));
                left.push(other(&cache, &of, &model(first)));
            }
        }
    }
    left.dedup();
    (caches, left)
}

/// The caches that are in the node of the CPU.
fn first_level(cpu: &Node) -> Vec<Cache> {
    let kinds = [("instruction", "i-"), ("data", "d-")];
    let caches = kinds.map(|(kind, prefix)| read(cpu, 1, kind, prefix, 1));
    caches.into_iter().filter(|it| it.size.is_some()).collect()
}

fn read(node: &Node, level: u32, kind: &'static str, prefix: &str, shared_by: usize) -> Cache {
    Cache {
        level,
        kind,
        size: node.number(&format!("{prefix}cache-size")),
        line: node.number(&format!("{prefix}cache-line-size")),
        sets: node.number(&format!("{prefix}cache-sets")),
        shared_by,
    }
}

/// The caches behind those of a CPU, the nearest first. The chain of a tree that is broken may be a ring.
fn chain<'n>(cpu: &'n Node, all: &[&'n Node]) -> Vec<&'n Node> {
    let next = |node: &Node| {
        let handle = node.number("next-level-cache")?;
        all.iter().copied().find(|it| it.number("phandle") == Some(handle))
    };
    let mut chain: Vec<&Node> = next(cpu).into_iter().collect();
    while let Some(more) = chain.last().and_then(|it| next(it)).filter(|_| chain.len() < 4) {
        chain.push(more);
    }
    chain
}

fn other(cache: &Cache, of: &str, first: &str) -> Left {
    let size = cache.size.map_or("size not stated".into(), |it| format!("{} KiB", it >> 10));
    Left {
        what: format!("the {} cache of level {} {of} ({size})", cache.kind, cache.level),
        why: format!("the file has the caches of the first CPU only, {first}"),
    }
}
