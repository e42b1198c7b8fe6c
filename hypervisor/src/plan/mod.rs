//! The plan, read from its device tree and checked before any VM starts.
//!
//! The binding is described in `docs/reference/plan.md`. [`read`] turns a tree
//! into these types and refuses what it does not know; [`check`] refuses what
//! cannot hold. Neither panics, whatever the tree contains.

mod binding;
mod check;
mod error;
mod locks;
mod memory;
mod platform;
mod server;
mod ticks;
mod tree;
mod vm;

use alloc::vec::Vec;
use core::fmt;

pub use bulkhead_abi::limits::COUNT_MAX as MAX_CPUS;
pub use check::check;
pub use error::{PlanError, Problem, Refusal};
pub use memory::{Compensation, Counter, MemoryBudget, Source, VmBudget};
pub use server::Server;
pub use tree::{Node, Property, Tree};

use ticks::Clock;

use bulkhead_abi::plan::{self as abi, names};

use policy::bandwidth::Account;
use policy::color::{Area, ColorSet, Stripe};
use policy::lock::rate::Rate;
use policy::time::Instant;

use crate::arch::page_table::PAGE_BYTES;
use crate::payload::BlobName;

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
pub enum Gic {
    /// GICv2.
    V2 {
        /// GICD: distributor.
        distributor: Range,
        /// GICC: CPU interface.
        cpu: Range,
        /// GICH: control of the virtual CPU interface.
        control: Range,
        /// GICV: virtual CPU interface, for guests.
        guest: Range,
    },
    /// GICv3.
    V3 {
        /// Distributor.
        distributor: Range,
        /// Redistributors of all CPUs.
        redistributors: Range,
    },
}

impl Gic {
    /// Version of the architecture.
    pub fn version(&self) -> u32 {
        match self {
            Self::V2 { .. } => 2,
            Self::V3 { .. } => 3,
        }
    }

    /// All its registers. `own`: only those that the hypervisor itself uses.
    pub fn frames(&self, own: bool) -> impl Iterator<Item = Range> {
        let frames = match *self {
            Self::V2 { distributor, cpu, control, guest } => {
                [Some(distributor), Some(cpu), Some(control), Some(guest).filter(|_| !own)]
            }
            Self::V3 { distributor, redistributors } => {
                [Some(distributor), Some(redistributors), None, None]
            }
        };
        frames.into_iter().flatten()
    }
}

/// Addresses of a VM's interrupt controller (IPA), which has the version of the machine's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct GuestGic {
    /// Distributor.
    pub distributor: Range,
    /// Redistributors of a GICv3; of a GICv2 an empty range at 0.
    pub redistributors: Range,
    /// CPU interface of a GICv2, where the guest finds the machine's virtual one.
    pub cpu: Option<Mapping>,
}

impl GuestGic {
    /// Its registers: the distributor, then the redistributors or the CPU interface.
    pub fn frames(&self) -> [Range; 2] {
        [self.distributor, self.cpu.map_or(self.redistributors, |cpu| cpu.guest)]
    }
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
pub struct Platform<'a> {
    /// Name of the board.
    pub board: &'a [u8],
    /// RAM banks.
    pub memory: Vec<Range>,
    /// RAM of the hypervisor: where it is loaded.
    pub hypervisor: Range,
    /// The frames in which it runs instead, if it has colours.
    pub own: Option<Ram>,
    /// MPIDR affinity of each PCPU.
    pub cpus: Vec<u64>,
    /// Where each PCPU waits for the address at which it is to start; empty if PSCI starts them.
    pub spin_table: Vec<u64>,
    /// Power management of the BCM2835 family, if it turns the machine off in place of PSCI.
    pub power_off: Option<Range>,
    /// Interrupt controller.
    pub gic: Gic,
    /// Console.
    pub serial: Serial,
    /// Last-level cache, if VMs have colours.
    pub llc: Option<Llc>,
    /// What counts memory accesses, if some are to be counted.
    pub counter: Option<Counter>,
    /// How many ticks of its budget a VCPU pays where VCPUs share a PCPU: when it blocks; and when it wakes, for
    /// interrupts that came because of it while it waited.
    pub prices: [u64; 2],
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

/// RAM of a VM, or of the hypervisor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ram {
    /// As the guest sees it (IPA).
    pub guest: Range,
    /// The area of the machine in which it lies (PA).
    pub host: Range,
    /// Its colours; without any it has all frames of the area.
    pub colors: Option<ColorSet>,
    /// Which frame of the machine is page i of the guest.
    pub stripe: Stripe,
}

impl Ram {
    /// Whether the two may share a frame.
    pub fn overlaps(&self, other: &Self) -> bool {
        let disjoint = match (self.colors, other.colors) {
            (Some(colors), Some(others)) => colors.is_disjoint(others),
            _ => false,
        };
        self.host.overlaps(other.host) && !disjoint
    }

    /// Pages of the guest.
    pub fn pages(&self) -> u64 {
        self.guest.bytes / PAGE_BYTES
    }

    /// Frames of the stripe in the area.
    pub fn frames(&self) -> u64 {
        self.stripe.count(self.host.bytes)
    }
}

/// The shared last-level cache.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Llc {
    /// Bytes, ways, bytes of a line, slices.
    pub shape: [u32; 4],
    /// Address bits that are the colour.
    pub color_mask: u64,
    /// Whether the cache registers of the CPUs describe it.
    pub in_registers: bool,
}

/// Colours besides its own that tasks of a VM can ask for (vCache, section 4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Coloring {
    /// The page on which the guest asks (IPA).
    pub doorbell: Range,
    /// The frames: as if they were RAM from address 0 on.
    pub pool: Ram,
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
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// Its node, for messages.
    pub node: Node<'a>,
    /// Its name in the image.
    pub blob: BlobName<'a>,
    /// IPA of its first byte.
    pub address: u64,
}

/// How a VM starts.
#[derive(Debug)]
pub struct Boot<'a> {
    /// Its node, for messages.
    pub node: Node<'a>,
    /// IPA of the first instruction.
    pub entry: u64,
    /// Kernel, initial RAM disk, device tree.
    pub loads: Vec<Load<'a>>,
    /// IPA of the device tree, passed in `x0`; 0 without one.
    pub device_tree: u64,
}

/// A virtual CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Vcpu {
    /// Index of the PCPU that runs it.
    pub pcpu: usize,
    /// How it shares the PCPU with others; none: it has the PCPU for itself.
    pub server: Option<Server>,
    /// How many memory accesses it may make; none: as many as it likes, or its VM may.
    pub memory: Option<MemoryBudget>,
    /// For how many ticks it may execute in global critical sections until it executes outside; 0: it may
    /// be in none.
    pub hold: u64,
    /// How often it may enter them, in ticks; none: never.
    pub rate: Option<Rate>,
}

/// A virtual machine.
#[derive(Debug)]
pub struct Vm<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its node, for messages.
    pub node: Node<'a>,
    /// What happens after a crash.
    pub on_crash: Policy,
    /// What happens after a reset.
    pub on_reset: Policy,
    /// Most restarts before the VM stays stopped.
    pub restart_limit: u32,
    /// With a virtual last-level cache: it has `2^share` times fewer sets than the machine's.
    pub cache_share: Option<u8>,
    /// Whether all RAM is mapped at the start; otherwise a page is when it is first touched.
    pub warm_up: bool,
    /// How many memory accesses its VCPUs may make together, if that is limited.
    pub memory_budget: Option<VmBudget>,
    /// Whether its accesses count for the compensation of others.
    pub critical: bool,
    /// The machine's last-level cache, if the plan names it.
    pub llc: Option<Llc>,
    /// Colours that its tasks can ask for.
    pub coloring: Option<Coloring>,
    /// Its VCPUs.
    pub vcpus: Vec<Vcpu>,
    /// RAM.
    pub memory: Vec<Ram>,
    /// Virtual interrupt controller.
    pub gic: GuestGic,
    /// Virtual PL011: registers (IPA) and INTID.
    pub serial: Option<(Range, u32)>,
    /// Virtual PL011 on which closed guests ask for colours: registers (IPA) and INTID.
    pub color_serial: Option<(Range, u32)>,
    /// Assigned devices.
    pub devices: Vec<Device>,
    /// How it starts.
    pub boot: Boot<'a>,
}

impl Vm<'_> {
    /// Memory of the machine that belongs to it: RAM, then the pool of extra colours.
    pub fn areas(&self) -> impl Iterator<Item = &Ram> {
        self.memory.iter().chain(self.coloring.iter().map(|coloring| &coloring.pool))
    }

    /// With colours: its RAM, and what the frames of that area are for.
    #[inline(never)]
    pub fn colored(&self) -> Option<(&Ram, Area)> {
        let ram = self.memory.first().filter(|ram| ram.colors.is_some())?;
        let pool_frames = self.coloring.map_or(0, |coloring| coloring.pool.pages());
        Some((ram, Area::new(ram.pages(), pool_frames)))
    }

    /// Where VCPUs that share PCPUs or have budgets read how much time was stolen from them (IPA): behind all
    /// that the plan gives to the guest.
    pub fn time_page(&self) -> Option<u64> {
        let waits = |vcpu: &Vcpu| vcpu.server.is_some() || vcpu.memory.is_some();
        if self.memory_budget.is_none() && !self.vcpus.iter().any(waits) {
            return None;
        }
        let serial = self.serial.iter().chain(&self.color_serial).map(|(range, _)| *range);
        let ranges = self.memory.iter().map(|ram| ram.guest);
        let ranges = ranges.chain(self.devices.iter().map(|device| device.registers.guest));
        let ranges = ranges.chain(self.gic.frames()).chain(serial);
        let ranges = ranges.chain(self.coloring.iter().map(|coloring| coloring.doorbell));
        ranges.map(Range::end).max().map(|end| end.next_multiple_of(PAGE_BYTES))
    }

    /// Whether its memory accesses, or those of one of its VCPUs, are limited.
    pub fn is_limited(&self) -> bool {
        self.memory_budget.is_some() || self.vcpus.iter().any(|vcpu| vcpu.memory.is_some())
    }

    /// Whether the accesses of one of its VCPUs are counted. `compensates`: some VM gets credits
    /// for those of critical ones.
    pub fn counts(&self, vcpu: &Vcpu, compensates: bool) -> bool {
        vcpu.memory.is_some() || self.memory_budget.is_some() || self.critical && compensates
    }

    /// The account of the accesses of one of its VCPUs, if they are limited; periods are counted
    /// from `start`.
    pub fn account(&self, vcpu: &Vcpu, start: Instant) -> Option<Account> {
        match vcpu.memory {
            Some(own) => own.account(start),
            None => self.memory_budget.map(|_| Account::shared()),
        }
    }

    /// Whether it gets credits for what critical VMs do not access.
    pub fn is_compensated(&self) -> bool {
        self.memory_budget.is_some_and(|budget| budget.compensation.is_some())
    }

    /// The PCPUs of some of its VCPUs, one bit each.
    pub fn cpus(&self, of: impl Fn(&Vcpu) -> bool) -> u64 {
        let vcpus = self.vcpus.iter().filter(|vcpu| of(vcpu));
        vcpus.fold(0, |cpus, vcpu| cpus | 1 << vcpu.pcpu)
    }

    /// INTIDs of its virtual UARTs.
    pub fn serial_interrupts(&self) -> impl Iterator<Item = u32> {
        self.serial.iter().chain(&self.color_serial).map(|&(_, interrupt)| interrupt)
    }
}

/// What VMs share.
#[derive(Debug)]
pub struct Locks<'a> {
    /// Whether VCPUs in global critical sections go before all others.
    pub ceilings: bool,
    /// The resources.
    pub resources: Vec<Resource<'a>>,
}

/// A resource that VMs share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Resource<'a> {
    /// Its name.
    pub name: &'a str,
    /// The VMs that may open it, one bit each.
    pub vms: u8,
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
    /// What VMs share.
    pub locks: Locks<'a>,
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
        &[names::PLATFORM, names::RESOURCES, names::VMS],
    )?;
    root.expect_text(names::COMPATIBLE, &[abi::COMPATIBLE])?;
    // One walk for all of them: the way over a node is long.
    let [mut platform, mut resources, mut vms] = [None; 3];
    for child in root.children() {
        let (name, place) = match () {
            () if child.is(names::PLATFORM) => (names::PLATFORM, &mut platform),
            () if child.is(names::RESOURCES) => (names::RESOURCES, &mut resources),
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
    Ok(Plan { root, model: root.string(names::MODEL)?, platform, locks, vms })
}
