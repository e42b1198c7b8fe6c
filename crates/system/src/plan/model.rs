//! The parts of a plan as types.

mod bandwidth;
mod channel;
mod link;
mod locks;
mod mapping;
mod memory;
mod serial_line;
mod server;

use std::cmp::Reverse;

use abi::plan::words;
pub use bandwidth::{BandwidthCounter, Compensation, CounterSource, MemoryBudget};
pub use channel::{Channel, Rings};
pub use link::{Link, Mac};
pub use locks::{Entries, Locks, Resource};
pub use mapping::Mapping;
pub use memory::{Area, Coloring, Frames, Llc, Memory, Pool};
use policy::color::ColorSet;
pub use serial_line::SerialLine;
pub use server::{Budget, Class, Server};
use units::{Bytes, Duration};

use super::Lifecycle;
use crate::address::{IntId, Ipa, Mpidr, Pcpu, PhysicalAddress, Region};

/// A plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// Name of the system.
    pub name: String,
    /// The machine.
    pub platform: Platform,
    /// The protocol for VCPUs in global critical sections.
    pub locks: Locks,
    /// The resources whose mutexes the hypervisor keeps, in the order of their indices.
    pub resources: Vec<Resource>,
    /// The channels between VMs.
    pub channels: Vec<Channel>,
    /// The serial lines between VMs.
    pub serial_lines: Vec<SerialLine>,
    /// The links between VMs.
    pub links: Vec<Link>,
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
    /// Area of its own code and data while VMs run, if they have colours.
    pub hypervisor_area: Option<Area>,
    /// Time of a switch from one VCPU of a PCPU to another, if VCPUs share one and it is known: a
    /// VCPU that stops is charged this time.
    pub switch: Option<Duration>,
    /// Time of an interrupt for a VCPU that waits, while another one executes: a VCPU that waits is
    /// charged this time for each interrupt that does not wake it.
    pub kick: Option<Duration>,
    /// The PCPUs, in the order of their indices.
    pub cpus: Vec<Mpidr>,
    /// Words of memory in which the PCPUs wait for the address at which they start; empty if PSCI
    /// starts them.
    pub spin_table: Vec<PhysicalAddress>,
    /// The device that turns the machine off, if PSCI does not.
    pub power_off: Option<PowerOff>,
    /// The interrupt controller.
    pub gic: Gic,
    /// The UART of the console.
    pub serial: Serial,
    /// The last-level cache, if a VM or the hypervisor has colours of it.
    pub llc: Option<Llc>,
    /// The counter of memory accesses, if a VM or VCPU has a budget of them or is critical.
    pub bandwidth_counter: Option<BandwidthCounter>,
}

/// A device that turns the machine off: the power management of the BCM2835 family
/// (`brcm,bcm2835-pm`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PowerOff {
    /// Its registers.
    pub registers: Region<PhysicalAddress>,
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
    /// Returns the version: 2 or 3.
    pub fn version(&self) -> u32 {
        match self {
            Self::V2 { .. } => 2,
            Self::V3 { .. } => 3,
        }
    }

    /// Returns the `compatible` string.
    pub fn compatible(&self) -> &'static str {
        match self {
            Self::V2 { .. } => words::GIC_V2,
            Self::V3 { .. } => words::GIC_V3,
        }
    }

    /// Returns the register frames with their names, in the order of `reg`.
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
    /// Type of the UART.
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
}

impl SerialKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Pl011, Self::Cadence];

    /// Returns the `compatible` string.
    pub fn compatible(self) -> &'static str {
        let [pl011, cadence] = words::UARTS;
        match self {
            Self::Pl011 => pl011,
            Self::Cadence => cadence,
        }
    }
}

/// A virtual machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vm {
    /// Name: 1..15 characters out of `a-z 0-9 - _`.
    pub name: String,
    /// Its start, and the actions when it ends.
    pub lifecycle: Lifecycle,
    /// True if it sees a last-level cache that consists of its colours only.
    pub vllc: bool,
    /// Memory accesses of all of its VCPUs together, if they are limited.
    pub memory_budget: Option<MemoryBudget>,
    /// Compensation for interference that critical VMs did not have, if there is any.
    pub compensation: Option<Compensation>,
    /// True if its accesses are counted for the compensation of others.
    pub critical: bool,
    /// The VCPUs, in the order of their indices.
    pub vcpus: Vec<Vcpu>,
    /// RAM.
    pub memory: Vec<Memory>,
    /// The virtual interrupt controller.
    pub gic: VirtualGic,
    /// The virtual PL011, if the VM has a console.
    pub serial: Option<VirtualDevice>,
    /// Colours that its tasks can request, if there are some.
    pub pool: Option<Pool>,
    /// The virtual PL011 on which closed guests request colours.
    pub color_serial: Option<VirtualDevice>,
    /// The bell, if one of the channels has rings.
    pub bell: Option<VirtualDevice>,
    /// Assigned devices.
    pub devices: Vec<Device>,
    /// The guest.
    pub boot: Boot,
}

impl Vm {
    /// Bytes of RAM.
    pub fn memory_size(&self) -> Bytes {
        Bytes(self.memory.iter().fold(0, |sum, memory| sum.saturating_add(memory.size.get())))
    }

    /// Returns the colours of its RAM, if it has some.
    pub fn colors(&self) -> Option<ColorSet> {
        self.memory.iter().find_map(Memory::colors)
    }
}

/// A virtual CPU.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Vcpu {
    /// PCPU on which it runs.
    pub pcpu: Pcpu,
    /// The server under which it shares a PCPU; `None`: it has a PCPU of its own.
    pub server: Option<Server>,
    /// Memory accesses of its own, if they are limited.
    pub memory_budget: Option<MemoryBudget>,
    /// Time that it may execute in global critical sections before it executes outside of them.
    /// Zero: it may enter none.
    pub hold: Duration,
    /// The limit on its entries into these sections.
    pub entries: Entries,
}

impl Vcpu {
    /// Orders the VCPUs of a PCPU, the one with the highest priority first.
    pub fn order(&self) -> Reverse<Option<u32>> {
        Reverse(self.server.map(|server| server.priority))
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
    /// Returns the version: 2 or 3.
    pub fn version(&self) -> u32 {
        match self {
            Self::V2 { .. } => 2,
            Self::V3 { .. } => 3,
        }
    }

    /// Returns the `compatible` string.
    pub fn compatible(&self) -> &'static str {
        match self {
            Self::V2 { .. } => words::GIC_V2,
            Self::V3 { .. } => words::GIC_V3,
        }
    }

    /// Returns the register frames with their names, in the order of `reg`.
    pub fn frames(&self) -> [(&'static str, Region<Ipa>); 2] {
        match *self {
            Self::V2 { gicd, gicc } => [("GICD", gicd), ("GICC", gicc)],
            Self::V3 { gicd, gicr } => [("GICD", gicd), ("GICR", gicr)],
        }
    }
}

/// A device of a VM that the hypervisor emulates: a PL011, the bell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VirtualDevice {
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

/// The guest of a VM, and its start.
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
    /// Load address of the generated device tree, if the guest gets one.
    pub device_tree: Option<Ipa>,
}

/// A file that is loaded into the RAM of a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct File {
    /// Path, relative to the folder of the plan; `/` separates folders.
    pub file: String,
    /// Load address.
    pub load: Ipa,
}
