//! The parts of a plan as types.

mod bandwidth;
mod locks;
mod memory;
mod server;

use std::cmp::Reverse;
use std::fmt;

pub use bandwidth::{BandwidthCounter, Compensation, CounterSource, MemoryBudget};
pub use locks::{Entries, Locks, Resource};
pub use memory::{Area, Coloring, Frames, Llc, Memory, Pool};
use policy::color::ColorSet;
pub use server::{Budget, Class, Server};
use units::{Bytes, Duration};

use crate::address::{IntId, Ipa, Mpidr, Pcpu, PhysicalAddress, Region};

/// A plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// Name of the system.
    pub name: String,
    /// The machine.
    pub platform: Platform,
    /// What is done for VCPUs in global critical sections.
    pub locks: Locks,
    /// The resources whose mutexes the hypervisor keeps, in the order of their indices.
    pub resources: Vec<Resource>,
    /// The VMs, in the order of their indices.
    pub vms: Vec<Vm>,
}

/// The machine that the plan is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Platform {
    /// Name of the platform file.
    pub board: String,
    /// Banks of RAM.
    pub memory: Vec<Region<PhysicalAddress>>,
    /// RAM of the hypervisor: image, blobs, heap.
    pub hypervisor: Region<PhysicalAddress>,
    /// Where its own code and data lie while VMs run, if they have colours.
    pub hypervisor_area: Option<Area>,
    /// How long going over from one VCPU of a PCPU to another one takes, if VCPUs share one and it is known:
    /// a VCPU that stops is charged for so long.
    pub switch: Option<Duration>,
    /// What a VCPU pays of its budget at most each time that it wakes, for interrupts that came because of it while
    /// others ran.
    pub wait: Option<Duration>,
    /// The PCPUs, in the order of their indices.
    pub cpus: Vec<Mpidr>,
    /// Where each PCPU waits for the address at which it is to start; empty if PSCI starts them.
    pub spin_table: Vec<PhysicalAddress>,
    /// What turns the machine off, if not PSCI does.
    pub power_off: Option<PowerOff>,
    /// The interrupt controller.
    pub gic: Gic,
    /// The UART of the console.
    pub serial: Serial,
    /// The last-level cache, if somebody has colours of it.
    pub llc: Option<Llc>,
    /// What counts memory accesses, if some VM or VCPU has a budget of them or is critical.
    pub bandwidth_counter: Option<BandwidthCounter>,
}

/// A device that turns the machine off: the power management of the BCM2835 family
/// (`brcm,bcm2835-pm`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PowerOff {
    /// Its registers.
    pub registers: Region<PhysicalAddress>,
}

impl PowerOff {
    /// The `compatible` strings.
    pub const KINDS: [&'static str; 1] = ["brcm,bcm2835-pm"];
}

/// The interrupt controller of the machine and its register frames.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Gic {
    /// GICv2 with virtualisation extensions, as the GIC-400 (`arm,gic-400`).
    V2 {
        /// Distributor.
        gicd: Region<PhysicalAddress>,
        /// CPU interface.
        gicc: Region<PhysicalAddress>,
        /// Virtual interface control.
        gich: Region<PhysicalAddress>,
        /// Virtual CPU interface.
        gicv: Region<PhysicalAddress>,
    },
    /// GICv3 (`arm,gic-v3`).
    V3 {
        /// Distributor.
        gicd: Region<PhysicalAddress>,
        /// Redistributors of all CPUs.
        gicr: Region<PhysicalAddress>,
    },
}

impl Gic {
    /// The version: 2 or 3.
    pub fn version(&self) -> u32 {
        match self {
            Self::V2 { .. } => 2,
            Self::V3 { .. } => 3,
        }
    }

    /// The `compatible` string.
    pub fn compatible(&self) -> &'static str {
        match self {
            Self::V2 { .. } => "arm,gic-400",
            Self::V3 { .. } => "arm,gic-v3",
        }
    }

    /// The register frames with their names, in the order of `reg`.
    pub fn frames(&self) -> Vec<(&'static str, Region<PhysicalAddress>)> {
        match *self {
            Self::V2 { gicd, gicc, gich, gicv } => {
                vec![("GICD", gicd), ("GICC", gicc), ("GICH", gich), ("GICV", gicv)]
            }
            Self::V3 { gicd, gicr } => vec![("GICD", gicd), ("GICR", gicr)],
        }
    }
}

/// The UART of the console.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Serial {
    /// What it is.
    pub kind: SerialKind,
    /// Its registers.
    pub registers: Region<PhysicalAddress>,
    /// Its interrupt.
    pub interrupt: IntId,
    /// PCPU that serves the console.
    pub pcpu: Pcpu,
}

/// UARTs that the hypervisor can drive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SerialKind {
    /// Arm PL011.
    Pl011,
    /// Cadence UART of the Zynq UltraScale+.
    Cadence,
    /// Auxiliary mini UART of the BCM2835 family.
    Bcm2835Aux,
}

impl SerialKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Pl011, Self::Cadence, Self::Bcm2835Aux];

    /// The `compatible` string.
    pub fn compatible(self) -> &'static str {
        match self {
            Self::Pl011 => "arm,pl011",
            Self::Cadence => "xlnx,zynqmp-uart",
            Self::Bcm2835Aux => "brcm,bcm2835-aux-uart",
        }
    }
}

/// What happens to a VM after a crash or a reset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnEvent {
    /// It stays stopped.
    Stop,
    /// It is started again.
    Restart,
}

impl OnEvent {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stop, Self::Restart];

    /// The word in description and plan.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Restart => "restart",
        }
    }
}

impl fmt::Display for OnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A virtual machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vm {
    /// Name: 1..15 characters out of `a-z 0-9 - _`.
    pub name: String,
    /// What happens after a crash.
    pub on_crash: OnEvent,
    /// What happens after the VM has reset itself.
    pub on_reset: OnEvent,
    /// Number of restarts after which the VM stays stopped.
    pub restart_limit: u32,
    /// Whether it sees a last-level cache that consists of its colours only.
    pub vllc: bool,
    /// Whether all of its RAM is mapped before it starts, instead of page by page
    /// when it is first touched.
    pub warm_up: bool,
    /// Memory accesses of all of its VCPUs together, if they are limited.
    pub memory_budget: Option<MemoryBudget>,
    /// What it gets of interference that critical VMs did not have, if anything.
    pub compensation: Option<Compensation>,
    /// Whether its accesses are counted for the compensation of others.
    pub critical: bool,
    /// The VCPUs, in the order of their indices.
    pub vcpus: Vec<Vcpu>,
    /// RAM.
    pub memory: Vec<Memory>,
    /// The virtual interrupt controller.
    pub gic: VirtualGic,
    /// The virtual PL011, if the VM has a console.
    pub serial: Option<VirtualSerial>,
    /// Colours that its tasks can ask for, if there are some.
    pub pool: Option<Pool>,
    /// The virtual PL011 on which closed guests ask for them.
    pub color_serial: Option<VirtualSerial>,
    /// Assigned devices.
    pub devices: Vec<Device>,
    /// What runs in it.
    pub boot: Boot,
}

impl Vm {
    /// Bytes of RAM.
    pub fn memory_size(&self) -> Bytes {
        Bytes(self.memory.iter().fold(0, |sum, memory| sum.saturating_add(memory.size.get())))
    }

    /// The colours of its RAM, if it has some.
    pub fn colors(&self) -> Option<ColorSet> {
        self.memory.iter().find_map(Memory::colors)
    }
}

/// A virtual CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Vcpu {
    /// PCPU on which it runs.
    pub pcpu: Pcpu,
    /// How it shares the PCPU with others; none: it has the PCPU for itself.
    pub server: Option<Server>,
    /// Memory accesses of its own, if they are limited.
    pub memory_budget: Option<MemoryBudget>,
    /// How long it may execute in global critical sections until it executes outside of them. Zero: it may
    /// be in none.
    pub hold: Duration,
    /// How often it may enter them, if it may.
    pub entries: Entries,
}

impl Vcpu {
    /// Orders the VCPUs of a PCPU, the one with the highest priority first.
    pub fn order(&self) -> Reverse<Option<u32>> {
        Reverse(self.server.map(|server| server.priority))
    }
}

/// A part of the address space of a VM and the memory or registers behind it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mapping {
    /// Where the VM sees it.
    pub ipa: Ipa,
    /// Where it lies in the machine.
    pub host: PhysicalAddress,
    /// Number of bytes.
    pub size: Bytes,
}

impl Mapping {
    /// The region as the VM sees it.
    pub fn ipa_region(&self) -> Region<Ipa> {
        Region { start: self.ipa, size: self.size }
    }

    /// The region of the machine.
    pub fn host_region(&self) -> Region<PhysicalAddress> {
        Region { start: self.host, size: self.size }
    }
}

/// The interrupt controller that a VM sees.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VirtualGic {
    /// GICv2 (`arm,gic-400`), on machines with a GICv2.
    V2 {
        /// Distributor.
        gicd: Region<Ipa>,
        /// CPU interface.
        gicc: Region<Ipa>,
    },
    /// GICv3 (`arm,gic-v3`).
    V3 {
        /// Distributor.
        gicd: Region<Ipa>,
        /// Redistributors, 128 KiB for each VCPU.
        gicr: Region<Ipa>,
    },
}

impl VirtualGic {
    /// The version: 2 or 3.
    pub fn version(&self) -> u32 {
        match self {
            Self::V2 { .. } => 2,
            Self::V3 { .. } => 3,
        }
    }

    /// The `compatible` string.
    pub fn compatible(&self) -> &'static str {
        match self {
            Self::V2 { .. } => "arm,gic-400",
            Self::V3 { .. } => "arm,gic-v3",
        }
    }

    /// The register frames with their names, in the order of `reg`.
    pub fn frames(&self) -> [(&'static str, Region<Ipa>); 2] {
        match *self {
            Self::V2 { gicd, gicc } => [("GICD", gicd), ("GICC", gicc)],
            Self::V3 { gicd, gicr } => [("GICD", gicd), ("GICR", gicr)],
        }
    }
}

/// The virtual PL011 of a VM.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VirtualSerial {
    /// Its registers.
    pub registers: Region<Ipa>,
    /// Its interrupt in the VM.
    pub interrupt: IntId,
}

/// A device of the machine that belongs to a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Device {
    /// `compatible` strings for the device tree of the guest, at least one.
    pub compatible: Vec<String>,
    /// Its registers.
    pub registers: Mapping,
    /// Its interrupt, if it has one.
    pub interrupts: Option<DeviceInterrupts>,
}

/// The interrupt of an assigned device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DeviceInterrupts {
    /// INTID in the VM.
    pub guest: IntId,
    /// INTID of the machine.
    pub host: IntId,
}

/// What runs in a VM, and how it starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Boot {
    /// Address of the first instruction.
    pub entry: Ipa,
    /// Command line for the device tree of the guest.
    pub bootargs: Option<String>,
    /// The kernel, or the whole guest.
    pub kernel: File,
    /// The initial RAM disk.
    pub initrd: Option<File>,
    /// Where the generated device tree is loaded, if the guest gets one.
    pub device_tree: Option<Ipa>,
}

/// A file that is loaded into the RAM of a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct File {
    /// Path, relative to the folder in which the plan lies; `/` separates.
    pub file: String,
    /// Where it is loaded.
    pub load: Ipa,
}
