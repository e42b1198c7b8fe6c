//! The machine that a device tree describes.

use crate::Error;
use crate::amount;
use crate::caches::{self, Cache};
use crate::console::{self, Console};
use crate::left::Left;
use crate::tree::{Node, Region};

/// GICs of version 2 with virtual interfaces.
const SECOND: [&str; 4] =
    ["arm,gic-400", "arm,cortex-a15-gic", "arm,cortex-a7-gic", "arm,eb11mp-gic"];
/// Names of units that keep devices to memory of their own, as SMMUs do, where they have no `#iommu-cells`.
const SMMUS: [&str; 5] =
    ["arm,smmu-v3", "arm,mmu-500", "arm,mmu-401", "arm,smmu-v2", "arm,smmu-v1"];
const PAGE: u64 = 4096;

/// A machine.
pub struct Board {
    /// `compatible` and `model` of the root.
    pub name: Option<String>,
    pub model: Option<String>,
    pub cpus: Vec<Cpu>,
    /// RAM without what is reserved.
    pub memory: Vec<Region>,
    /// Version, and names with places of frames.
    pub gic: Option<(u32, Vec<(&'static str, Region)>)>,
    /// `Err`: why the console is to be chosen by hand.
    pub console: Result<Console, String>,
    pub counter: Option<u32>,
    pub caches: Vec<Cache>,
    pub left: Vec<Left>,
}

/// A CPU.
pub struct Cpu {
    pub model: String,
    pub mpidr: u64,
    /// The address at which it waits, if it waits in memory.
    pub release: Option<u64>,
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
        let hole = |it: &Region| Left { what: amount::region(it), why: "it is reserved".into() };
        let holes: Vec<Left> = reserved.iter().map(hole).collect();
        let (console, uarts) = console::find(root, &all);
        let (caches, others) = caches::find(&cpu_nodes, &all, model);
        Ok(Self {
            name: root.texts("compatible").first().map(|it| (*it).to_owned()),
            model: root.texts("model").first().map(|it| (*it).to_owned()),
            cpus: cpu_nodes.iter().map(|it| cpu(it)).collect(),
            memory,
            gic: all.iter().find_map(|it| gic(it)),
            console,
            counter: all
                .iter()
                .filter(|it| it.is_any(&["arm,armv8-timer"]))
                .find_map(|it| it.number("clock-frequency")),
            caches,
            left: [holes, uarts, others, iommus(&all)].concat(),
        })
    }
}

/// The name of a CPU, such as `Cortex-A53`.
fn model(node: &Node) -> String {
    let compatible = node.texts("compatible").first().copied().unwrap_or("unknown").to_owned();
    let model = compatible.strip_prefix("arm,").unwrap_or(&compatible);
    match model.strip_prefix("cortex-") {
        Some(rest) => format!("Cortex-{}", rest.to_uppercase()),
        None => model.to_owned(),
    }
}

fn cpu(node: &Node) -> Cpu {
    let waits = node.texts("enable-method") == ["spin-table"];
    let release = node.long("cpu-release-addr").filter(|_| waits);
    Cpu { model: model(node), mpidr: node.long("reg").unwrap_or(0), release }
}

fn gic(node: &Node) -> Option<(u32, Vec<(&'static str, Region)>)> {
    let (version, names): (u32, &[&str]) = match () {
        () if node.is_any(&["arm,gic-v3"]) => (3, &["gicd", "gicr"]),
        () if node.is_any(&SECOND) => (2, &["gicd", "gicc", "gich", "gicv"]),
        () => return None,
    };
    Some((version, names.iter().copied().zip(node.regions.iter().copied()).collect()))
}

/// SMMUs and the like.
fn iommus(all: &[&Node]) -> Vec<Left> {
    let is_iommu =
        |it: &&&Node| it.is_on() && it.number("#iommu-cells").is_some() || it.is_any(&SMMUS);
    let left = |it: &&Node| Left {
        what: Left::of(it),
        why: "the hypervisor programs no SMMU: a device of a VM reaches all memory by DMA".into(),
    };
    all.iter().filter(is_iommu).map(left).collect()
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
