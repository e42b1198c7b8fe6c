//! The description of a system: what its author wrote, checked and typed.
//!
//! `docs/reference/description.md` describes the file.

mod bandwidth;
pub(crate) mod colors;
mod locks;
mod order;
mod read;
mod servers;
mod task;
mod vcpu;
mod vm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use bandwidth::{Amount, Bandwidth, Credits};
pub use locks::{Resource, Section};
use policy::color::ColorSet;
use units::{Bytes, Duration};

use crate::address::{IntId, Ipa, PhysicalAddress};
use crate::diagnostic::{Diagnostic, Errors, Place};
pub use crate::document::Located;
use crate::plan::{Class, Locks, OnEvent};
use crate::platform::Platform;

/// A system: a platform and the VMs on it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct System {
    /// Name: as given, or the name of the file without its ending.
    pub name: String,
    /// Folder of the description; relative paths in it start here.
    pub folder: PathBuf,
    /// The machine.
    pub platform: Located<Platform>,
    /// RAM for the hypervisor, if it was given.
    pub hypervisor_memory: Option<Located<Bytes>>,
    /// The colours of the hypervisor's own code and data, if they are limited.
    pub hypervisor_colors: Option<Located<ColorSet>>,
    /// Longest time in which a task loads what it had in one colour of the cache, if that is to
    /// be counted for each preemption (vCache, section 5.1: delta).
    pub color_reload: Option<Located<Duration>>,
    /// By which part all execution times and accesses may grow, in millionths, where budgets and limits are planned.
    pub margin_ppm: u64,
    /// How critical sections of VCPUs are ordered.
    pub locks: Locks,
    /// What the hypervisor may take in each global critical section, beside its length: calls, interrupts, turns of other
    /// VCPUs.
    pub section_overhead: Duration,
    /// What tasks share, in its order.
    pub resources: Vec<Resource>,
    /// The VMs, in their order.
    pub vms: Vec<Vm>,
}

/// A VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vm {
    /// Name.
    pub name: Located<String>,
    /// The VCPUs, in their order.
    pub vcpus: Vec<Vcpu>,
    /// Amount of RAM.
    pub memory: Located<Bytes>,
    /// Where in the machine its RAM starts, or the area of its colours, if it was
    /// given.
    pub memory_at: Option<Located<PhysicalAddress>>,
    /// The colours of the last-level cache that it has, if they are limited.
    pub colors: Option<Located<ColorSet>>,
    /// Where it says that they are to be planned, if it does; then it has none yet.
    pub colors_open: Option<Place>,
    /// Whether other VMs that say so too may have some of these colours.
    pub share_colors: bool,
    /// Whether it sees a last-level cache that consists of its colours only.
    pub vllc: bool,
    /// What its tasks can ask for beyond its colours (vColoring), if anything.
    pub extra: Option<Extra>,
    /// Whether all of its RAM is mapped before it starts, instead of page by page
    /// when it is first touched.
    pub warm_up: bool,
    /// Memory accesses of all of its VCPUs together, if they are limited.
    pub bandwidth: Option<Bandwidth>,
    /// What it gets of interference that critical VMs did not have, if anything.
    pub compensation: Option<Credits>,
    /// Where it says that it is critical, if it does: its accesses count for the compensation of
    /// others.
    pub critical: Option<Place>,
    /// What runs in it.
    pub boot: Boot,
    /// Whether it has a console.
    pub console: bool,
    /// What happens after a crash.
    pub on_crash: OnEvent,
    /// What happens after the VM has reset itself.
    pub on_reset: OnEvent,
    /// Number of restarts after which the VM stays stopped.
    pub restart_limit: u32,
    /// Assigned devices.
    pub devices: Vec<Device>,
    /// The tasks that run in it.
    pub tasks: Vec<Task>,
}

/// Colours that tasks of a guest can ask for (vCache, section 4.2).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Extra {
    /// The colours; some may be colours of the VM itself.
    pub colors: Located<ColorSet>,
    /// Size of the pool of frames of these colours: whole pages, at least one.
    pub memory: Located<Bytes>,
    /// Whether the VM has a serial port on which closed guests ask.
    pub serial: bool,
}

/// A VCPU.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Vcpu {
    /// PCPU that it shall run on, if it was given.
    pub pcpu: Option<Located<u64>>,
    /// How it shares the PCPU with others; none: it has the PCPU for itself.
    pub server: Option<Server>,
    /// Memory accesses of its own, if they are limited.
    pub bandwidth: Option<Bandwidth>,
}

/// How a VCPU shares its PCPU with others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    /// How much of the PCPU it gets; the place is that of the budget if it has one.
    pub class: Located<Class>,
    /// Where its period stands, if it has one.
    pub period: Option<Place>,
    /// Priority on its PCPU: a larger number goes first.
    pub priority: Option<Located<u64>>,
    /// Whether its budget is to be planned; until then it is the whole period.
    pub open: bool,
    /// Whether its period is to be planned, too; until then it is some time.
    pub period_open: bool,
    /// Where it says that the VCPU may go beyond its budget in global critical sections, if it
    /// does: by how much says [`System::overrun`].
    pub overrun: Option<Place>,
}

/// How a guest is started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// As Linux wants it: an arm64 `Image`, loaded at 2 MiB boundaries.
    Linux,
    /// A memory image whose first byte is the first instruction.
    Raw,
}

impl Protocol {
    /// All, with their names in descriptions.
    pub const ALL: [(&'static str, Self); 2] = [("linux", Self::Linux), ("raw", Self::Raw)];
}

/// What runs in a VM. Paths start in the folder of the description; addresses
/// are planned where they are not given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Boot {
    /// How it is started.
    pub protocol: Protocol,
    /// The kernel, or the whole guest.
    pub kernel: Located<String>,
    /// Where the kernel is loaded.
    pub load: Option<Located<Ipa>>,
    /// The first instruction; that of the kernel if not given.
    pub entry: Option<Located<Ipa>>,
    /// The initial RAM disk.
    pub initrd: Option<Located<String>>,
    /// Where the initial RAM disk is loaded.
    pub initrd_load: Option<Located<Ipa>>,
    /// Whether the guest gets a device tree.
    pub device_tree: bool,
    /// Where the device tree is loaded.
    pub device_tree_load: Option<Located<Ipa>>,
    /// Command line.
    pub bootargs: Option<Located<String>>,
}

/// A device of the machine that is given to a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Device {
    /// Where it is described.
    pub place: Place,
    /// `compatible` strings for the device tree of the guest.
    pub compatible: Vec<String>,
    /// Where its registers lie in the machine.
    pub address: PhysicalAddress,
    /// Where the VM sees them.
    pub guest_address: Ipa,
    /// Bytes of registers.
    pub size: Bytes,
    /// Its interrupt: INTID of the machine and INTID in the VM.
    pub interrupt: Option<(IntId, IntId)>,
}

/// A task of a guest that releases jobs again and again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Task {
    /// Name, unique in its VM.
    pub name: Located<String>,
    /// Index of its VCPU in the VM.
    pub vcpu: usize,
    /// Whether its VCPU is to be planned; until then it is the first one.
    pub vcpu_open: bool,
    /// Time of the first release.
    pub offset: Duration,
    /// Time between two releases; more than zero.
    pub period: Duration,
    /// Whether the period is only the least time between two releases.
    pub sporadic: bool,
    /// Time from release to deadline; at most the period.
    pub deadline: Duration,
    /// Longest time from arrival to release. The deadline counts from the arrival.
    pub jitter: Duration,
    /// Worst-case execution time; at most the deadline.
    pub wcet: Wcet,
    /// Whether execution times with few colours were given shorter than with more, and raised.
    pub wcet_raised: bool,
    /// For how long tasks of lower priority of its VCPU can keep the processor from a job.
    pub blocking: Duration,
    /// For how long a job waits for something that is no processor.
    pub self_suspension: Duration,
    /// Its critical sections, in the order of execution: a part of the execution time.
    pub sections: Vec<Section>,
    /// How often a job comes to the hypervisor by itself: calls, and accesses to virtual devices.
    pub exits: u64,
    /// The most memory accesses of one job, if they are known.
    pub accesses: Option<Located<u64>>,
    /// The colours that its memory has, if they are not all that its VM has.
    pub colors: Option<Located<ColorSet>>,
    /// Best-case execution time, if it was given; more than zero, and at most the
    /// shortest worst case.
    pub bcet: Option<Duration>,
    /// Priority on its VCPU: a larger number goes first.
    pub priority: Option<Located<u64>>,
}

/// Worst-case execution time, which may depend on the cache.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wcet {
    /// The same for any number of colours.
    Fixed(Duration),
    /// By number of cache colours: more colours never take longer. Not empty.
    ByColors(BTreeMap<u64, Duration>),
}

impl Wcet {
    /// With as few colours as are described: the longest.
    pub fn longest(&self) -> Duration {
        match self {
            Self::Fixed(wcet) => *wcet,
            Self::ByColors(by_colors) => by_colors.values().max().copied().unwrap_or_default(),
        }
    }

    /// With so many colours: that of the largest number that is described and not
    /// above; the longest if all are above.
    pub fn with_colors(&self, colors: u64) -> Duration {
        match self {
            Self::Fixed(wcet) => *wcet,
            Self::ByColors(by_colors) => {
                let known = by_colors.range(..=colors).next_back();
                known.map_or(self.longest(), |(_, wcet)| *wcet)
            }
        }
    }

    /// With as many colours as are described: the shortest.
    pub fn shortest(&self) -> Duration {
        match self {
            Self::Fixed(wcet) => *wcet,
            Self::ByColors(by_colors) => by_colors.values().min().copied().unwrap_or_default(),
        }
    }
}

impl Vm {
    /// All colours that frames of the VM can have.
    pub fn all_colors(&self) -> ColorSet {
        let own = self.colors.as_ref().map_or(ColorSet::EMPTY, |colors| colors.value);
        own | self.extra.as_ref().map_or(ColorSet::EMPTY, |extra| extra.colors.value)
    }

    /// Most interrupts for a VCPU from one time that it executes to the next ([`policy::pace`]).
    pub fn interrupts_max(&self) -> u32 {
        let devices = self.devices.iter().filter(|it| it.interrupt.is_some()).count();
        policy::pace::interrupts_max(devices as u32)
    }

    /// How often `lock` of [`crate::platform::Overheads`] a VCPU waits for its siblings at most: once for each of them, and again for
    /// each 32 shared interrupts beyond the 64 that every VM has, because who has the lock looks at all of them.
    pub fn lock_waits(&self) -> u64 {
        let interrupts = self.devices.iter().filter_map(|it| Some(it.interrupt?.1.0));
        let last = interrupts.max().unwrap_or(0).max(95);
        let siblings = self.vcpus.len().saturating_sub(1) as u64;
        siblings.saturating_mul(u64::from(last) / 32 - 1)
    }
}

impl System {
    /// Whether something is left to the planner: budgets, periods of VCPUs, colours, VCPUs of
    /// tasks, limits of memory accesses.
    pub fn is_open(&self) -> bool {
        self.limits_open() || self.processor_open()
    }

    /// Whether limits of memory accesses are left to the planner.
    pub fn limits_open(&self) -> bool {
        self.limits().any(Bandwidth::is_open)
    }

    /// The limits of memory accesses, of VMs as a whole and of VCPUs.
    pub fn limits(&self) -> impl Iterator<Item = &Bandwidth> {
        self.vms.iter().flat_map(|vm| {
            vm.bandwidth.iter().chain(vm.vcpus.iter().filter_map(|vcpu| vcpu.bandwidth.as_ref()))
        })
    }

    /// Whether something other than limits of memory accesses is left to the planner.
    pub fn processor_open(&self) -> bool {
        let servers =
            |vm: &Vm| vm.vcpus.iter().filter_map(|vcpu| vcpu.server.as_ref()).any(|it| it.open);
        let tasks = |vm: &Vm| vm.tasks.iter().any(|task| task.vcpu_open);
        self.vms.iter().any(|vm| vm.colors_open.is_some() || servers(vm) || tasks(vm))
    }

    /// The longest interrupt for a VCPU that shares its PCPU while another one runs there, if the platform says that; and how
    /// many come for one at most, from one time that it executes to the next.
    pub fn kicks(&self) -> Option<(Duration, u32)> {
        let overheads = self.platform.value.overheads?;
        let sharing = || self.vms.iter().filter(|vm| vm.vcpus.iter().any(|it| it.server.is_some()));
        let interrupts = sharing().map(Vm::interrupts_max).max().unwrap_or(policy::pace::KICKS_MAX);
        let waits = sharing().map(Vm::lock_waits).max().unwrap_or(0);
        Some((overheads.kick_with(waits), interrupts))
    }

    /// What a VCPU pays for them when it wakes, if the platform says what they take.
    pub fn wait(&self) -> Option<Duration> {
        let (kick, most) = self.kicks()?;
        Some(Duration(kick.0.saturating_mul(most.into())))
    }

    /// Whether memory accesses have to be counted: some VM or VCPU has a budget of them, or is
    /// critical.
    pub fn counts_accesses(&self) -> bool {
        self.limits().next().is_some() || self.vms.iter().any(|vm| vm.critical.is_some())
    }

    /// Reads the description in a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or all mistakes in it.
    pub fn load(path: &Path) -> Result<Self, Errors> {
        let name = path.display().to_string();
        let text = read_text(path)?;
        Self::from_toml(&name, &text, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads a description; `file` is what messages call it, relative paths
    /// in it start in `folder`.
    ///
    /// # Errors
    ///
    /// All mistakes in it.
    pub fn from_toml(file: &str, text: &str, folder: &Path) -> Result<Self, Errors> {
        read::system(file, text, folder)
    }
}

/// The text of a file.
fn read_text(path: &Path) -> Result<String, Box<Diagnostic>> {
    std::fs::read_to_string(path).map_err(|error| {
        Diagnostic::new("cannot-read", format!("cannot read {}: {error}", path.display()))
            .help("check the path and that the file is text")
            .into()
    })
}
