//! The plan, read from its device tree and checked before any VM starts.
//!
//! The binding is described in `docs/reference/plan.md`. [`read`] turns the tree
//! into these types and refuses what it does not know; [`check`] refuses what
//! cannot hold. Neither panics, whatever the tree contains.

mod check;
mod node;
mod platform;
mod vm;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use dtoolkit::fdt::Fdt;
use dtoolkit::{Node, Property};

pub use check::check;
use node::Reader;

/// Most PCPUs, VMs, and VCPUs of a VM.
pub const MAX_CPUS: usize = 8;

/// What is wrong with a plan, and where.
#[derive(Debug, Eq, PartialEq)]
pub struct PlanError {
    /// Path of the node, as `/vms/vm@0/boot`.
    pub node: String,
    /// Name of the property, if one is to blame.
    pub property: Option<&'static str>,
    /// What is wrong and what was expected.
    pub problem: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plan: ")?;
        f.write_str(&self.node)?;
        if let Some(property) = self.property {
            f.write_str(": ")?;
            f.write_str(property)?;
        }
        f.write_str(": ")?;
        f.write_str(&self.problem)
    }
}

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

    /// Whether the two share a byte.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }

    /// Whether the other lies completely in this one.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start, self.end())
    }
}

/// Addresses of the machine's interrupt controller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct GicV3 {
    /// Distributor.
    pub distributor: Range,
    /// Redistributors of all CPUs.
    pub redistributors: Range,
}

/// The UART of the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Serial {
    /// Registers.
    pub registers: Range,
    /// INTID.
    pub interrupt: u32,
    /// Index of the PCPU that serves it.
    pub pcpu: usize,
}

/// The machine.
#[derive(Debug)]
pub struct Platform {
    /// Name of the board.
    pub board: String,
    /// RAM banks.
    pub memory: Vec<Range>,
    /// RAM of the hypervisor.
    pub hypervisor: Range,
    /// MPIDR affinity of each PCPU.
    pub cpus: Vec<u64>,
    /// Interrupt controller.
    pub gic: GicV3,
    /// Console.
    pub serial: Serial,
}

/// Where something of a guest lies in the machine.
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

/// A device that a VM owns.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Device {
    /// Its registers.
    pub registers: Mapping,
    /// `(INTID in the guest, INTID of the machine)` of its interrupts.
    pub interrupts: Vec<(u32, u32)>,
}

/// What happens to a VM that crashes or resets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// It stays stopped.
    Stop,
    /// It starts again from its images.
    Restart,
}

/// Something that is copied into a VM before it starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Load {
    /// Name of the blob in the image.
    pub blob: String,
    /// IPA of its first byte.
    pub address: u64,
}

/// How a VM starts.
#[derive(Debug)]
pub struct Boot {
    /// IPA of the first instruction.
    pub entry: u64,
    /// Kernel, initial RAM disk, device tree.
    pub loads: Vec<Load>,
    /// IPA of the device tree, passed in `x0`; 0 without one.
    pub device_tree: u64,
}

/// A virtual machine.
#[derive(Debug)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// Its node, for messages.
    pub node: String,
    /// What happens after a crash.
    pub on_crash: Policy,
    /// What happens after a reset.
    pub on_reset: Policy,
    /// Most restarts before the VM stays stopped.
    pub restart_limit: u32,
    /// PCPU of each VCPU.
    pub vcpus: Vec<usize>,
    /// RAM.
    pub memory: Vec<Mapping>,
    /// Virtual distributor and redistributors (IPA).
    pub gic: GicV3,
    /// Virtual PL011: registers (IPA) and INTID.
    pub serial: Option<(Range, u32)>,
    /// Assigned devices.
    pub devices: Vec<Device>,
    /// How it starts.
    pub boot: Boot,
}

/// The whole plan.
#[derive(Debug)]
pub struct Plan {
    /// Name of the system.
    pub model: String,
    /// The machine.
    pub platform: Platform,
    /// The VMs.
    pub vms: Vec<Vm>,
}

/// Reads a plan from a flattened device tree.
pub fn read(blob: &[u8]) -> Result<Plan, PlanError> {
    let fdt = Fdt::new(blob).map_err(|error| PlanError {
        node: "/".into(),
        property: None,
        problem: alloc::format!("this is not a device tree: {error}"),
    })?;
    let root = Reader::root(fdt.root());
    root.only(&["compatible", "model", "#address-cells", "#size-cells"], &["platform", "vms"])?;
    root.expect_text("compatible", "bulkhead,plan-v1")?;
    let model = root.text("model")?.into();
    let platform = platform::read(&root.child("platform")?)?;
    let vms = root.child("vms")?;
    vms.only(&["#address-cells", "#size-cells"], &["vm"])?;
    let vms: Vec<Vm> = vms.children("vm")?.iter().map(vm::read).collect::<Result<_, _>>()?;
    Ok(Plan { model, platform, vms })
}

/// Reads only the range of the hypervisor's own memory: the first thing that is
/// needed, because reading the rest allocates, and the heap lies there.
pub fn hypervisor_memory(blob: &[u8]) -> Option<Range> {
    let fdt = Fdt::new(blob).ok()?;
    let property = fdt.root().child("platform")?.child("hypervisor")?.property("reg")?;
    let value = property.value();
    let long = |at: usize| Some(u64::from_be_bytes(value.get(at..at + 8)?.try_into().ok()?));
    let range = Range { start: long(0)?, bytes: long(8)? };
    range.start.checked_add(range.bytes)?;
    Some(range)
}
