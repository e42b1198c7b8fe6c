//! Machines, as platform files describe them.
//!
//! Files of known boards are part of the tools ([`NAMES`], [`Platform::named`]);
//! `systems/platforms/` shows them.

mod bandwidth;
mod bundled;
mod cache;
mod colors;
mod overheads;
mod read;

use std::fmt;

pub use bandwidth::Bandwidth;
pub use bundled::NAMES;
pub use cache::{Cache, CacheKind};
pub use colors::NoColors;
pub(crate) use colors::division;
pub use overheads::Overheads;
pub(crate) use read::{bandwidth as read_bandwidth, overheads as read_overheads, read};

use units::{Bytes, Frequency};

use crate::address::{IntId, Mpidr, PhysicalAddress, Region};
use crate::diagnostic::{Errors, Source};
use crate::document::Document;
use crate::plan::{Gic, PowerOff, SerialKind};

/// A machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Platform {
    /// Name of the platform file.
    pub name: String,
    /// Description of the machine in one line.
    pub about: String,
    /// Instruction set of the CPUs.
    pub architecture: Architecture,
    /// The CPUs, in the order in which a plan numbers them.
    pub cpus: Vec<Cpu>,
    /// Banks of RAM.
    pub memory: Vec<Region<PhysicalAddress>>,
    /// The caches, those nearest to the CPU first.
    pub caches: Vec<Cache>,
    /// Frequency of the system counter, which is the hypervisor's clock, if it is known.
    pub counter: Option<Frequency>,
    /// The counter of memory accesses, if there is one.
    pub bandwidth: Option<Bandwidth>,
    /// Time that the hypervisor takes, if it was measured on this machine.
    pub overheads: Option<Overheads>,
    /// Facts that the hypervisor needs, or the reason why it cannot run on this machine.
    pub boot: Result<BootSupport, AnalysisOnly>,
    /// True if it has Linux and KVM, under which VMs run in the place of the hypervisor; [`Platform::boot`] then says so.
    pub kvm: bool,
    /// Arguments that make QEMU emulate this machine, if it can.
    pub qemu: Option<Qemu>,
}

/// Facts about a machine that the hypervisor needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BootSupport {
    /// Interrupt controller.
    pub gic: Gic,
    /// UART of the console.
    pub console: Console,
    /// The device that turns the machine off, if PSCI does not.
    pub power_off: Option<PowerOff>,
    /// Load address of the image: the start of the hypervisor's RAM.
    pub image_base: PhysicalAddress,
}

/// The reason why a machine can be analysed, but not booted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AnalysisOnly(pub String);

/// UART of the console.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Console {
    /// Type of the UART.
    pub kind: SerialKind,
    /// Its registers.
    pub registers: Region<PhysicalAddress>,
    /// Its interrupt.
    pub interrupt: IntId,
}

/// A CPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cpu {
    /// Name that its maker gives it.
    pub model: String,
    /// Affinity as `MPIDR_EL1` shows it; the index on other architectures.
    pub mpidr: Mpidr,
    /// Word of memory in which it waits for the address at which it starts, if PSCI does not start
    /// it.
    pub release: Option<PhysicalAddress>,
}

/// Instruction sets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Architecture {
    /// 64-bit Arm.
    Aarch64,
    /// 32-bit Arm.
    Armv7,
    /// 64-bit x86.
    X86_64,
}

impl Architecture {
    /// All, with their names in platform files.
    pub const ALL: [(&'static str, Self); 3] =
        [("aarch64", Self::Aarch64), ("armv7", Self::Armv7), ("x86-64", Self::X86_64)];
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, other)| other == self).map(|(name, _)| *name);
        f.pad(name.unwrap_or_default())
    }
}

/// Arguments of QEMU (`qemu-system-aarch64`) for a machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Qemu {
    /// `-machine`
    pub machine: String,
    /// `-cpu`, if the machine leaves a choice.
    pub cpu: Option<String>,
    /// `-smp`, if the machine leaves a choice.
    pub cpus: Option<u64>,
    /// `-m`, if the machine leaves a choice.
    pub memory: Option<Bytes>,
}

impl Qemu {
    /// Returns the arguments for QEMU.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["-machine".to_owned(), self.machine.clone()];
        let optional = [
            ("-cpu", self.cpu.clone()),
            ("-smp", self.cpus.map(|cpus| cpus.to_string())),
            ("-m", self.memory.map(|memory| format!("{}M", memory.0 >> 20))),
        ];
        for (name, value) in optional {
            arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        }
        arguments
    }
}

impl Platform {
    /// Returns the board of this name ([`NAMES`]).
    ///
    /// # Errors
    ///
    /// There is no such board; the message names those that there are.
    pub fn named(name: &str) -> Result<Self, Errors> {
        bundled::named(name)
    }

    /// Reads a platform file; `file` is what messages call it.
    ///
    /// # Errors
    ///
    /// All mistakes in the file.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, Errors> {
        let source = Source::new(file, text);
        let document = Document::parse(&source);
        let root = document.root();
        let platform = read(&root);
        root.finish();
        document.finish(platform)
    }

    /// Returns true if VMs can run on it: under the hypervisor or under KVM.
    pub fn runs(&self) -> bool {
        self.boot.is_ok() || self.kvm
    }

    /// Returns the shared cache farthest from the CPUs, if there is one: the one that page colours
    /// divide ([`Platform::colors`]).
    pub fn last_level_cache(&self) -> Option<&Cache> {
        self.caches.iter().filter(|cache| cache.shared_by > 1).max_by_key(|cache| cache.level)
    }
}
