//! The description of a system: the file of its author, checked and typed.
//!
//! `docs/reference/description.md` describes the file.

mod bandwidth;
mod chain;
mod channel;
pub(crate) mod colors;
mod inputs;
mod limits;
mod link;
mod locks;
mod names;
mod objective;
mod order;
mod read;
mod serial_line;
mod servers;
mod shares;
mod task;
mod trigger;
mod vcpu;
mod vm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use bandwidth::{Amount, Bandwidth, Credits};
pub use chain::{Chain, ChainStep};
pub use channel::Channel;
pub use inputs::inputs;
pub use link::Link;
pub use locks::{Resource, Section};
pub use objective::{Aim, Objective};
use policy::color::ColorSet;
pub use read::{default_name, folder_name};
pub use serial_line::SerialLine;
use units::{Bytes, Duration};

use crate::address::{IntId, Ipa, PhysicalAddress};
use crate::diagnostic::{Diagnostic, Errors, Place};
pub use crate::document::Located;
use crate::plan::{Class, Lifecycle, Locks, Rings};
use crate::platform::Platform;

/// The value of keys that leave a choice to the planner.
pub(crate) const PLANNED: &str = "planned";

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
    /// Longest time in which a task loads its lines in one colour of the cache again; if given, it
    /// counts for each preemption (vCache, section 5.1: delta).
    pub color_reload: Option<Located<Duration>>,
    /// Share by which all execution times and accesses may grow, in millionths, where budgets and
    /// limits are planned.
    pub margin_ppm: u64,
    /// The objective of a plan, if it was given.
    pub objective: Option<Located<Objective>>,
    /// The protocol that orders critical sections of VCPUs.
    pub locks: Locks,
    /// Place of the key that leaves the protocol to the planner, if there is one; until then it is
    /// the default.
    pub locks_open: Option<Place>,
    /// Time that the hypervisor may take in each global critical section, beside its length: calls,
    /// interrupts, switches to other VCPUs.
    pub section_overhead: Duration,
    /// The resources that tasks share, in the order of the description.
    pub resources: Vec<Resource>,
    /// The channels between VMs, in the order of the description.
    pub channels: Vec<Channel>,
    /// The serial lines between VMs, in the order of the description.
    pub serial_lines: Vec<SerialLine>,
    /// The links between VMs, in the order of the description.
    pub links: Vec<Link>,
    /// The chains, in the order of the description.
    pub chains: Vec<Chain>,
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
    /// Place of the key that leaves the number of VCPUs to the planner, if there is one. Until then
    /// there are as many as the tasks name, at least one, and all are alike.
    pub vcpus_open: Option<Place>,
    /// Amount of RAM.
    pub memory: Located<Bytes>,
    /// Start of its RAM in the machine, or of the area of its colours, if given.
    pub memory_at: Option<Located<PhysicalAddress>>,
    /// The colours of the last-level cache that it has, if they are limited.
    pub colors: Option<Located<ColorSet>>,
    /// Place of the key that leaves the colours to the planner, if there is one; the VM then has no
    /// colours yet.
    pub colors_open: Option<Place>,
    /// True if it may share colours with other VMs that have the same key.
    pub share_colors: bool,
    /// True if it sees a last-level cache that consists of its colours only.
    pub vllc: bool,
    /// Colours that its tasks can request beyond its own (vColoring), if there are any.
    pub extra: Option<Extra>,
    /// Parts of the last-level cache and of the memory bandwidth, under KVM.
    pub shares: Shares,
    /// Memory accesses of all of its VCPUs together, if they are limited.
    pub bandwidth: Option<Bandwidth>,
    /// Compensation for interference that critical VMs did not have, if there is any.
    pub compensation: Option<Credits>,
    /// Place of the key that makes the VM critical, if there is one: its accesses count for the
    /// compensation of other VMs.
    pub critical: Option<Place>,
    /// The guest.
    pub boot: Boot,
    /// True if it has a console.
    pub console: bool,
    /// Its start, and the actions when it ends.
    pub lifecycle: Lifecycle,
    /// Assigned devices.
    pub devices: Vec<Device>,
    /// The tasks that run in it.
    pub tasks: Vec<Task>,
}

/// Colours that tasks of a guest can request (vCache, section 4.2).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Extra {
    /// The colours; some may be colours of the VM itself.
    pub colors: Located<ColorSet>,
    /// Size of the pool of frames of these colours: whole pages, at least one.
    pub memory: Located<Bytes>,
    /// True if the VM has a serial port on which closed guests request colours.
    pub serial: bool,
}

/// Parts of the last-level cache and of the memory bandwidth that Linux gives a VM under KVM (resctrl).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Shares {
    /// Ways of the last-level cache, if they are limited.
    pub ways: Option<Located<ColorSet>>,
    /// Percentage of the memory bandwidth, if it is limited.
    pub percent: Option<Located<u8>>,
}

/// A VCPU.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Vcpu {
    /// PCPU that it shall run on, if it was given.
    pub pcpu: Option<Located<u64>>,
    /// The server under which it shares a PCPU; `None`: it has a PCPU of its own.
    pub server: Option<Server>,
    /// Memory accesses of its own, if they are limited.
    pub bandwidth: Option<Bandwidth>,
}

/// The server of a VCPU that shares its PCPU with others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    /// The class, with its budget; the place is that of the budget if it has one.
    pub class: Located<Class>,
    /// Place of the period, if it has one.
    pub period: Option<Place>,
    /// Priority on its PCPU; a larger number is a higher priority.
    pub priority: Option<Located<u64>>,
    /// True if its budget is to be planned; until then the budget is the whole period.
    pub open: bool,
    /// True if its period is to be planned, too; until then the period has no meaning.
    pub period_open: bool,
    /// Place of the key that leaves the kind to the planner, if there is one; until then the class
    /// is that of a deferrable server.
    pub kind_open: Option<Place>,
    /// Place of the key that lets the VCPU exceed its budget in global critical sections, if there
    /// is one; [`System::overrun`] has the limit.
    pub overrun: Option<Place>,
    /// Place of the key that leaves it to the planner whether the VCPU may do so, if there is one;
    /// until then it may not.
    pub overrun_open: Option<Place>,
}

/// Start protocols of guests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// The protocol of Linux: an arm64 `Image`, loaded at 2 MiB boundaries.
    Linux,
    /// A memory image whose first byte is the first instruction.
    Raw,
}

impl Protocol {
    /// All, with their names in descriptions.
    pub const ALL: [(&'static str, Self); 2] = [("linux", Self::Linux), ("raw", Self::Raw)];
}

/// The guest of a VM. Paths start in the folder of the description; addresses that are not given
/// are planned.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Boot {
    /// The start protocol.
    pub protocol: Protocol,
    /// The kernel, or the whole guest.
    pub kernel: Located<String>,
    /// Load address of the kernel.
    pub load: Option<Located<Ipa>>,
    /// The first instruction; that of the kernel if not given.
    pub entry: Option<Located<Ipa>>,
    /// The initial RAM disk.
    pub initrd: Option<Located<String>>,
    /// Load address of the initial RAM disk.
    pub initrd_load: Option<Located<Ipa>>,
    /// True if the guest gets a device tree.
    pub device_tree: bool,
    /// Load address of the device tree.
    pub device_tree_load: Option<Located<Ipa>>,
    /// Command line.
    pub bootargs: Option<Located<String>>,
}

/// A device of the machine that is given to a VM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Device {
    /// Place of its description.
    pub place: Place,
    /// `compatible` strings for the device tree of the guest.
    pub compatible: Vec<String>,
    /// Address of its registers in the machine.
    pub address: PhysicalAddress,
    /// Address of its registers in the VM.
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
    /// True if its VCPU is to be planned; until then it is the first one.
    pub vcpu_open: bool,
    /// Time of the first release.
    pub offset: Duration,
    /// Time between two releases; more than zero. That between two rings if rings release jobs.
    pub period: Duration,
    /// True if the period is only the least time between two releases.
    pub sporadic: bool,
    /// Index of the channel whose rings release jobs, if they do: no period does then. In any time
    /// `t` there are at most `1 + floor((t + jitter) / period)` of them.
    pub triggered_by: Option<Located<usize>>,
    /// Index of the channel for which each job rings when it is done, if it does.
    pub rings: Option<Located<usize>>,
    /// Time from release to deadline; at most the period.
    pub deadline: Duration,
    /// Longest time from arrival to release. The deadline counts from the arrival; from the ring if
    /// rings release jobs.
    pub jitter: Duration,
    /// Worst-case execution time; at most the deadline.
    pub wcet: Wcet,
    /// True if the description has shorter execution times for fewer colours, which were then
    /// raised.
    pub wcet_raised: bool,
    /// Longest time for which tasks of lower priority on its VCPU can delay a job.
    pub blocking: Duration,
    /// Longest time for which a job waits for events instead of executing.
    pub self_suspension: Duration,
    /// Its critical sections, in the order of execution: a part of the execution time.
    pub sections: Vec<Section>,
    /// Most exits to the hypervisor that a job causes by itself: calls, and accesses to virtual
    /// devices.
    pub exits: u64,
    /// The most memory accesses of one job, if they are known.
    pub accesses: Option<Located<u64>>,
    /// The colours that its memory has, if they are not all that its VM has.
    pub colors: Option<Located<ColorSet>>,
    /// Best-case execution time, if it was given; more than zero, and at most the
    /// shortest worst case.
    pub bcet: Option<Duration>,
    /// Priority on its VCPU; a larger number is a higher priority.
    pub priority: Option<Located<u64>>,
}

/// Worst-case execution time, which may depend on the cache.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wcet {
    /// The same for any number of colours.
    Fixed(Duration),
    /// By number of cache colours: more colours never take longer. The map is not empty.
    ByColors(BTreeMap<u64, Duration>),
}

impl Wcet {
    /// Returns the time with the least described number of colours: the longest.
    pub fn longest(&self) -> Duration {
        match self {
            Self::Fixed(wcet) => *wcet,
            Self::ByColors(by_colors) => by_colors.values().max().copied().unwrap_or_default(),
        }
    }

    /// Returns the time with this number of colours: that of the largest described number that is
    /// not above; the longest time if all are above.
    pub fn with_colors(&self, colors: u64) -> Duration {
        match self {
            Self::Fixed(wcet) => *wcet,
            Self::ByColors(by_colors) => {
                let known = by_colors.range(..=colors).next_back();
                known.map_or(self.longest(), |(_, wcet)| *wcet)
            }
        }
    }

    /// Returns the time with the largest described number of colours: the shortest.
    pub fn shortest(&self) -> Duration {
        match self {
            Self::Fixed(wcet) => *wcet,
            Self::ByColors(by_colors) => by_colors.values().min().copied().unwrap_or_default(),
        }
    }
}

impl Task {
    /// Returns the most exits to the hypervisor that a job causes, its ring included.
    pub fn all_exits(&self) -> u64 {
        self.exits.saturating_add(self.rings.is_some().into())
    }
}

impl Server {
    /// Returns true if something of it is left to the planner.
    pub fn is_open(&self) -> bool {
        self.open || self.kind_open.is_some() || self.overrun_open.is_some()
    }
}

impl Vm {
    /// Returns true if something other than limits of memory accesses is left to the planner.
    pub fn processor_open(&self) -> bool {
        let mut servers = self.vcpus.iter().filter_map(|vcpu| vcpu.server.as_ref());
        self.colors_open.is_some()
            || self.vcpus_open.is_some()
            || servers.any(Server::is_open)
            || self.tasks.iter().any(|task| task.vcpu_open)
    }

    /// Returns true if the VM has more than one VCPU, or the planner may give it more.
    pub fn may_have_several_vcpus(&self) -> bool {
        self.vcpus.len() > 1 || self.vcpus_open.is_some()
    }

    /// Returns all colours that frames of the VM can have.
    pub fn all_colors(&self) -> ColorSet {
        let own = self.colors.as_ref().map_or(ColorSet::EMPTY, |colors| colors.value);
        own | self.extra.as_ref().map_or(ColorSet::EMPTY, |extra| extra.colors.value)
    }

    /// Returns the most interrupts for a VCPU between two of its executions ([`policy::pace`]).
    pub fn interrupts_max(&self) -> u32 {
        let devices = self.devices.iter().filter(|it| it.interrupt.is_some()).count();
        policy::pace::interrupts_max(devices as u32)
    }

    /// Returns the most times that a VCPU waits for its siblings, each time as long as `lock` of
    /// [`crate::platform::Overheads`]: once for each of them on other PCPUs, each time that the
    /// lock is taken, and again for each 32 shared interrupts beyond the 64 that every VM has,
    /// because the holder of the lock visits all of them.
    ///
    /// The interrupt of a device takes the lock to find its VCPU among those of the PCPU, to get into
    /// the virtual controller, and once for each of these VCPUs to be masked for it.
    pub fn lock_waits(&self) -> u64 {
        let interrupts = self.devices.iter().filter_map(|it| Some(it.interrupt?.1.0));
        let last = interrupts.max();
        let taken = |here: u64| match last {
            Some(_) => 1 + here + u64::from(here > 1),
            None => 1,
        };
        let vcpus = self.vcpus.len() as u64;
        let waits = (1..vcpus).map(|here| (vcpus - here).saturating_mul(taken(here))).max();
        waits.unwrap_or(0).saturating_mul(u64::from(last.unwrap_or(0).max(95)) / 32 - 1)
    }
}

impl System {
    /// Returns true if something is left to the planner: budgets, periods and kinds of VCPUs and
    /// whether they overrun, the protocol of locks, numbers of VCPUs, colours, VCPUs of tasks,
    /// limits of memory accesses.
    pub fn is_open(&self) -> bool {
        self.limits_open() || self.processor_open()
    }

    /// Returns true if limits of memory accesses are left to the planner.
    pub fn limits_open(&self) -> bool {
        self.limits().any(Bandwidth::is_open)
    }

    /// Returns the limits of memory accesses, of VMs as a whole and of VCPUs.
    pub fn limits(&self) -> impl Iterator<Item = &Bandwidth> {
        self.vms.iter().flat_map(|vm| {
            vm.bandwidth.iter().chain(vm.vcpus.iter().filter_map(|vcpu| vcpu.bandwidth.as_ref()))
        })
    }

    /// Returns true if something other than limits of memory accesses is left to the planner.
    pub fn processor_open(&self) -> bool {
        self.locks_open.is_some() || self.vms.iter().any(Vm::processor_open)
    }

    /// Returns the longest interrupt for a VCPU that shares its PCPU while another one runs there,
    /// if the platform says that; and how many come for one at most, from one time that it executes
    /// to the next.
    pub fn kicks(&self) -> Option<(Duration, u32)> {
        let overheads = self.platform.value.overheads?;
        let sharing = || self.vms.iter().filter(|vm| vm.vcpus.iter().any(|it| it.server.is_some()));
        let interrupts = sharing().map(Vm::interrupts_max).max().unwrap_or(policy::pace::KICKS_MAX);
        // A VCPU with a PCPU of its own is kicked for rings, too.
        let rung = self.vms.iter().enumerate().filter(|it| self.rings_for(it.0).next().is_some());
        let waits = sharing().chain(rung.map(|it| it.1)).map(Vm::lock_waits).max().unwrap_or(0);
        // A VCPU that is kicked takes the interrupt of a ring like that of a device: it takes the lock once more. `overhead-ring` has
        // that for each ring, so that only others on the PCPU pay for it here. Each end of a serial line or a link at which the other
        // one told something is brought up to date in any kick.
        let told = |(index, vm): (usize, &Vm)| {
            let waits = overheads.lock_waits(vm.lock_waits()).0;
            let shares = vm.vcpus.iter().any(|it| it.server.is_some());
            let rings = self.channels.iter().any(|it| it.to.contains(&index) && it.rings.is_some());
            let ring = overheads.interrupt.0.saturating_add(waits);
            let line = overheads.serial_end().0.saturating_add(waits);
            let rings = u64::from(shares && rings).saturating_mul(ring);
            rings.saturating_add(self.ends_of(index).saturating_mul(line))
        };
        let told = self.vms.iter().enumerate().map(told).max().unwrap_or(0);
        let kick = overheads.kick_with(waits).0.saturating_add(told);
        Some((Duration(kick), interrupts))
    }

    /// Returns the limits on interrupts that come for the VM with this index from others: rings for the channels that it
    /// reads; and for each of its serial lines and links those that the other end causes, of which the last one may come whenever that VM
    /// ends, and those that tell the VM itself that it may interrupt the other end now. If the VM has several VCPUs, each of
    /// them may have to know twice, because it finds another one at the end.
    pub fn rings_for(&self, vm: usize) -> impl Iterator<Item = Rings> {
        let channels = self.channels.iter().filter(move |it| it.to.contains(&vm));
        let lines = self.serial_lines.iter().map(|it| (it.between, it.tells));
        let lines = lines.chain(self.links.iter().map(|it| (it.between, it.tells)));
        let lines = lines.filter(move |(between, _)| between.contains(&vm));
        let times = if self.vms.get(vm).is_some_and(|vm| vm.vcpus.len() > 1) { 2 } else { 1 };
        let lines = lines.flat_map(move |(_, it)| {
            let last = Rings { early: Duration(it.early.0.saturating_add(it.interval.0)), ..it };
            [last, it, last, it].into_iter().take(2 * times)
        });
        channels.filter_map(|it| it.rings).chain(lines)
    }

    /// Returns the number of ends of serial lines and of links that the VM with this index has.
    pub fn ends_of(&self, vm: usize) -> u64 {
        let lines = self.serial_lines.iter().filter(|it| it.between.contains(&vm)).count();
        (lines + self.links_of(vm).count()) as u64
    }

    /// Returns the links of the VM with this index.
    pub fn links_of(&self, vm: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |it| it.between.contains(&vm))
    }

    /// Returns true if memory accesses have to be counted: some VM or VCPU has a budget of them, or
    /// is critical.
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

/// Returns the text of a file.
fn read_text(path: &Path) -> Result<String, Box<Diagnostic>> {
    std::fs::read_to_string(path).map_err(|error| {
        Diagnostic::new("cannot-read", format!("cannot read {}: {error}", path.display()))
            .help("check the path and that the file is text")
            .into()
    })
}
