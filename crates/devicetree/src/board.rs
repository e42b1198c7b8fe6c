//! What a device tree says about a machine.

use crate::Error;
use crate::tree::{Node, Region};

/// UARTs that the hypervisor drives, and their names in platform files.
const UARTS: [(&str, &str); 3] = [
    ("arm,pl011", "arm,pl011"),
    ("xlnx,zynqmp-uart", "xlnx,zynqmp-uart"),
    ("cdns,uart-r1p12", "xlnx,zynqmp-uart"),
];
/// GICs of version 2 with virtual interfaces.
const SECOND: [&str; 4] =
    ["arm,gic-400", "arm,cortex-a15-gic", "arm,cortex-a7-gic", "arm,eb11mp-gic"];
/// The first number of shared interrupts.
const SHARED: u32 = 32;
const PAGE: u64 = 4096;

/// A machine.
pub struct Board {
    /// `compatible` and `model` of the root.
    pub name: Option<String>,
    pub model: Option<String>,
    pub cpus: Vec<Cpu>,
    /// RAM without what is reserved.
    pub memory: Vec<Region>,
    pub reserved: Vec<Region>,
    /// Version, and names with places of frames.
    pub gic: Option<(u32, Vec<(&'static str, Region)>)>,
    /// Kind, registers, and interrupt.
    pub console: Option<(&'static str, Region, Option<u32>)>,
    pub counter: Option<u32>,
    pub caches: Vec<Cache>,
}

/// A CPU.
pub struct Cpu {
    pub model: String,
    pub mpidr: u64,
    /// Where it waits, if it waits in memory.
    pub release: Option<u64>,
}

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

impl Board {
    /// Reads a tree.
    pub fn of(root: &Node) -> Result<Self, Error> {
        let all = root.all();
        let cpus_node = root.child("cpus").ok_or(Error::Lacks("CPUs (/cpus)"))?;
        let cpu_nodes: Vec<&Node> =
            cpus_node.children.iter().filter(|it| it.texts("device_type") == ["cpu"]).collect();
        if cpu_nodes.is_empty() {
            return Err(Error::Lacks("CPUs (/cpus/cpu@...)"));
        }
        let banks = all.iter().filter(|it| it.texts("device_type") == ["memory"]);
        let banks: Vec<Region> = banks.flat_map(|it| it.regions.clone()).collect();
        let reserved = root.child("reserved-memory").into_iter().flat_map(|it| &it.children);
        let reserved = reserved.flat_map(|it| it.regions.clone());
        let reserved: Vec<Region> = reserved.chain(root.regions.iter().copied()).collect();
        let memory = reserved.iter().fold(banks, |banks, hole| without(&banks, *hole));
        let memory: Vec<Region> = memory.into_iter().filter_map(pages).collect();
        if memory.is_empty() {
            return Err(Error::Lacks("memory"));
        }
        Ok(Self {
            name: root.texts("compatible").first().map(|it| (*it).to_owned()),
            model: root.texts("model").first().map(|it| (*it).to_owned()),
            cpus: cpu_nodes.iter().map(|it| cpu(it)).collect(),
            memory,
            reserved,
            gic: all.iter().find_map(|it| gic(it)),
            console: console(root, &all),
            counter: all
                .iter()
                .filter(|it| it.is_any(&["arm,armv8-timer"]))
                .find_map(|it| it.number("clock-frequency")),
            caches: caches(&cpu_nodes, &all),
        })
    }
}

fn cpu(node: &Node) -> Cpu {
    let compatible = node.texts("compatible").first().copied().unwrap_or("unknown").to_owned();
    let model = compatible.strip_prefix("arm,").unwrap_or(&compatible);
    let model = match model.strip_prefix("cortex-") {
        Some(rest) => format!("Cortex-{}", rest.to_uppercase()),
        None => model.to_owned(),
    };
    let waits = node.texts("enable-method") == ["spin-table"];
    let release = node.long("cpu-release-addr").filter(|_| waits);
    Cpu { model, mpidr: node.long("reg").unwrap_or(0), release }
}

fn gic(node: &Node) -> Option<(u32, Vec<(&'static str, Region)>)> {
    let (version, names): (u32, &[&str]) = match () {
        () if node.is_any(&["arm,gic-v3"]) => (3, &["gicd", "gicr"]),
        () if node.is_any(&SECOND) => (2, &["gicd", "gicc", "gich", "gicv"]),
        () => return None,
    };
    Some((version, names.iter().copied().zip(node.regions.iter().copied()).collect()))
}

/// The UART that Linux' console is on, or the first one.
fn console(root: &Node, all: &[&Node]) -> Option<(&'static str, Region, Option<u32>)> {
    let kind = |node: &Node| UARTS.iter().find(|(name, _)| node.is_any(&[name])).map(|it| it.1);
    let path = root.child("chosen").and_then(|it| Some(*it.texts("stdout-path").first()?));
    let path = path.and_then(|it| it.split(':').next()).map(|path| {
        let alias = root.child("aliases").and_then(|it| it.texts(path).first().copied());
        alias.unwrap_or(path)
    });
    let chosen = path.and_then(|path| {
        path.split('/').filter(|it| !it.is_empty()).try_fold(root, |node, name| node.child(name))
    });
    let nodes = chosen.into_iter().chain(all.iter().copied());
    let (kind, node) = nodes.filter_map(|it| Some((kind(it)?, it))).next()?;
    let interrupt = match node.words("interrupts")[..] {
        [0, number, _, ..] => number.checked_add(SHARED).filter(|it| *it < 1020),
        _ => None,
    };
    Some((kind, *node.regions.first()?, interrupt))
}

/// The caches of the first CPU, each with the number of CPUs that have it.
fn caches(cpus: &[&Node], all: &[&Node]) -> Vec<Cache> {
    let Some(first) = cpus.first() else { return Vec::new() };
    let read = |node: &Node, level, kind, prefix: &str, shared_by| Cache {
        level,
        kind,
        size: node.number(&format!("{prefix}cache-size")),
        line: node.number(&format!("{prefix}cache-line-size")),
        sets: node.number(&format!("{prefix}cache-sets")),
        shared_by,
    };
    let mut caches = vec![read(first, 1, "instruction", "i-", 1), read(first, 1, "data", "d-", 1)];
    caches.retain(|it| it.size.is_some());
    let next = |node: &Node| {
        let handle = node.number("next-level-cache")?;
        all.iter().copied().find(|it| it.number("phandle") == Some(handle))
    };
    // The chain of a tree that is broken may be a ring.
    let chain = |cpu: &Node| {
        let mut chain: Vec<&Node> = next(cpu).into_iter().collect();
        while let Some(more) = chain.last().and_then(|it| next(it)).filter(|_| chain.len() < 4) {
            chain.push(more);
        }
        chain
    };
    for (index, node) in chain(first).into_iter().enumerate() {
        let has = |cpu: &&&Node| chain(cpu).iter().any(|it| std::ptr::eq(*it, node));
        let shared_by = cpus.iter().filter(has).count();
        let level = node.number("cache-level").unwrap_or(index as u32 + 2);
        caches.push(read(node, level, "unified", "", shared_by));
    }
    caches
}

/// Returns the banks without a hole.
fn without(banks: &[Region], hole: Region) -> Vec<Region> {
    let end = |it: &Region| it.start.saturating_add(it.size);
    let part = |start: u64, end: u64| (start < end).then(|| Region { start, size: end - start });
    let cut = |bank: &Region| {
        let before = part(bank.start, end(bank).min(hole.start));
        let after = part(bank.start.max(end(&hole)), end(bank));
        [before, after].into_iter().flatten()
    };
    if hole.size == 0 { banks.to_vec() } else { banks.iter().flat_map(cut).collect() }
}

/// Returns the whole pages of a range.
fn pages(region: Region) -> Option<Region> {
    let start = region.start.checked_next_multiple_of(PAGE)?;
    let end = region.start.checked_add(region.size)? / PAGE * PAGE;
    (start < end).then(|| Region { start, size: end - start })
}
