//! The plan, read from its device tree and checked before any VM starts.
//!
//! The binding is described in `docs/reference/plan.md`. [`read`] turns a tree
//! into types, which stand with their readers, and refuses what it does not know;
//! [`check`] refuses what cannot hold. Neither panics, whatever the tree contains.

mod binding;
mod channels;
mod check;
mod ends;
mod error;
mod links;
mod locks;
mod memory;
mod missing;
mod platform;
mod ram;
mod serial_lines;
mod server;
mod ticks;
mod tree;
mod two_ended;
mod vm;

use alloc::vec::Vec;
use core::fmt;

pub use ::abi::limits::COUNT_MAX as MAX_CPUS;
pub use channels::Channel;
pub use check::check;
pub use ends::{End, LinkEnd, Ring, SerialEnd};
pub use error::{PlanError, Problem, Refusal};
pub use links::Link;
pub use locks::{Locks, Resource};
pub use memory::{Compensation, Counter, MemoryBudget, Source, VmBudget};
pub use missing::Missing;
pub use platform::{Gic, GuestGic, Llc, Platform, Serial};
pub use ram::Ram;
pub use server::Server;
pub use tree::{Node, Property, Tree};
pub use vm::{Boot, Coloring, Device, Load, Vcpu, Vm};

use ::abi::plan::{self as abi, names};
use ticks::Clock;

/// A range of addresses: not empty, page aligned, without wrap-around.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Range {
    /// First address behind the range.
    pub fn end(self) -> u64 {
        self.start + self.bytes
    }

    /// Returns true if this address lies in it.
    pub fn has(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }

    /// Returns true if the two share a byte.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }

    /// Returns true if the other lies completely in this one.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start, self.end())
    }
}

/// The place of a part of a guest in the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mapping {
    /// As the guest sees it (IPA).
    pub guest: Range,
    /// Address in the machine of its first byte (PA).
    pub host: u64,
}

impl Mapping {
    /// The range in the machine.
    pub fn host_range(self) -> Range {
        Range { start: self.host, bytes: self.guest.bytes }
    }
}

/// The whole plan.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Its tree, for messages.
    pub root: Node<'a>,
    /// Name of the system.
    pub model: &'a [u8],
    /// The machine.
    pub platform: Platform<'a>,
    /// The locks on the resources that VMs share.
    pub locks: Locks<'a>,
    /// The channels between VMs.
    pub channels: Vec<Channel<'a>>,
    /// Number of serial lines between VMs.
    pub serial_lines: usize,
    /// The links between VMs.
    pub links: Vec<Link<'a>>,
    /// The VMs.
    pub vms: Vec<Vm<'a>>,
}

impl Plan<'_> {
    /// The PCPUs on which accesses are counted, one bit each.
    pub fn counting_cpus(&self) -> u64 {
        let compensates = self.vms.iter().any(Vm::is_compensated);
        self.vms.iter().fold(0, |cpus, vm| cpus | vm.cpus(|vcpu| vm.counts(vcpu, compensates)))
    }

    /// The PCPUs of critical VCPUs, one bit each.
    pub fn critical_cpus(&self) -> u64 {
        self.vms.iter().fold(0, |cpus, vm| cpus | vm.cpus(|_| vm.critical))
    }
}

/// Reads only the range of the hypervisor's own memory: the first thing that is
/// needed, because reading the rest allocates, and the heap lies there. Says what is
/// wrong with it.
pub fn hypervisor_memory(tree: Tree<'_>) -> Result<Range, &'static str> {
    let node = tree.root().nth(names::PLATFORM, 0).nth(names::HYPERVISOR, 0);
    binding::range(node.value(names::REG).unwrap_or_default(), 0)
}

/// Reads a plan for a machine whose system counter makes `frequency` ticks in a second.
#[inline(never)]
pub fn read(tree: Tree<'_>, frequency: u32) -> Result<Plan<'_>, Refusal<'_>> {
    let root = tree.root();
    root.only(
        &[names::COMPATIBLE, names::MODEL, names::ADDRESS_CELLS, names::SIZE_CELLS, names::LOCKS],
        &[
            names::PLATFORM,
            names::RESOURCES,
            names::CHANNELS,
            names::SERIAL_LINES,
            names::LINKS,
            names::VMS,
        ],
    )?;
    root.expect_text(names::COMPATIBLE, &[abi::COMPATIBLE])?;
    // One walk for all of them: the way over a node is long.
    let [mut platform, mut resources, mut channels, mut lines, mut links, mut vms] = [None; 6];
    for child in root.children() {
        let (name, place) = match () {
            () if child.is(names::PLATFORM) => (names::PLATFORM, &mut platform),
            () if child.is(names::RESOURCES) => (names::RESOURCES, &mut resources),
            () if child.is(names::CHANNELS) => (names::CHANNELS, &mut channels),
            () if child.is(names::SERIAL_LINES) => (names::SERIAL_LINES, &mut lines),
            () if child.is(names::LINKS) => (names::LINKS, &mut links),
            () => (names::VMS, &mut vms),
        };
        if place.replace(child).is_some() {
            return Err(root.node_error(Problem::NodeTwice(name)));
        }
    }
    let missing = |name| root.node_error(Problem::MissingNode(name));
    let clock = Clock::new(frequency);
    let platform = platform::read(platform.ok_or_else(|| missing(names::PLATFORM))?, clock)?;
    let node = vms.ok_or_else(|| missing(names::VMS))?;
    node.only(&[names::ADDRESS_CELLS, names::SIZE_CELLS], &[names::VM])?;
    let mut vms = Vec::new();
    for vm in node.children() {
        vms.push(vm::read(vm, &platform, clock)?);
    }
    let locks = locks::read(root, resources, vms.len())?;
    let channels = channels::read(channels, &mut vms, clock)?;
    let serial_lines = serial_lines::read(lines, &mut vms, clock)?;
    let links = links::read(links, &mut vms, clock)?;
    let model = root.string(names::MODEL)?;
    Ok(Plan { root, model, platform, locks, channels, serial_lines, links, vms })
}
