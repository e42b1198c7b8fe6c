//! A description in simple values, which can be changed and written as TOML.

use std::fmt::Write as _;

use system::plan::COUNT_MAX;

/// A whole description. Times are in microseconds, execution times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Draft {
    pub pcpus: u64,
    /// Colours of the shared cache.
    pub colors: u64,
    /// True if the platform states what the hypervisor takes.
    pub overheads: bool,
    pub reload_us: Option<u64>,
    /// `vmpcp` or `mpcp`.
    pub locks: &'static str,
    pub section_overhead_us: u64,
    pub resources: Vec<Resource>,
    pub vms: Vec<Vm>,
    pub chains: Vec<Chain>,
}

/// Tasks through which data goes.
#[derive(Clone, Debug)]
pub struct Chain {
    /// VM and task, in the order of the data.
    pub steps: Vec<(usize, usize)>,
    /// Longest time until a change shows.
    pub reaction_us: u64,
}

#[derive(Clone, Debug)]
pub struct Resource {
    pub vms: Vec<usize>,
    /// True if the hypervisor keeps its mutex.
    pub between_vms: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Colors {
    All,
    Planned,
    /// The first colour, and the number of colours.
    Given(u64, u64),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    None,
    /// The period in microseconds.
    Planned(u64),
    /// Accesses, and the period in microseconds.
    Given(u64, u64),
}

#[derive(Clone, Debug)]
pub struct Vm {
    pub colors: Colors,
    pub vllc: bool,
    pub limit: Limit,
    pub vcpus: Vec<Vcpu>,
    pub tasks: Vec<Task>,
}

#[derive(Clone, Debug)]
pub struct Vcpu {
    /// `None`: it has a PCPU of its own.
    pub server: Option<&'static str>,
    pub period_us: Option<u64>,
    pub budget_us: Option<u64>,
    pub pcpu: Option<u64>,
    pub priority: Option<u64>,
    pub overrun: bool,
    pub limit: Limit,
}

#[derive(Clone, Debug)]
pub struct Task {
    pub vcpu: Option<usize>,
    pub period_us: u64,
    pub deadline_us: u64,
    pub jitter_us: u64,
    pub suspension_us: u64,
    pub exits: u64,
    /// By number of colours, with falling times; only one entry, with 0, if colours do not matter.
    pub wcet_ns: Vec<(u64, u64)>,
    pub accesses: Option<u64>,
    /// Resource, execution before the section, and its length, in nanoseconds.
    pub sections: Vec<(usize, u64, u64)>,
}

/// QEMU's board with a GICv3, but for the number of CPUs, the RAM and the size of the cache.
const BOARD: &str = r#"
name = "grid"
about = "a board for tests"
architecture = "aarch64"
counter = "62.5MHz"
bandwidth = { counter = "cachescope", access_latency = "20ns" }
memory = [{ start = 0x4000_0000, size = "4GiB" }]
"#;
/// What a machine has on which the hypervisor runs.
const DEVICES: &str = r#"gic = { version = 3, gicd = { start = 0x0800_0000, size = "64KiB" }, gicr = { start = 0x080a_0000, size = "15744KiB" } }
console = { kind = "arm,pl011", start = 0x0900_0000, size = "4KiB", interrupt = 33 }
"#;
const OVERHEADS: &str = r#"overheads = { switch = "1.5us", tick = "1us", kick = "1.6us", interrupt = "0.9us", exit = "5us", console = "8us", lock = "5us", chunk = "30us" }"#;
/// Kibibytes of the cache for each colour: 16 ways of a page.
const KIB_OF_COLOR: u64 = 64;

impl Draft {
    /// Returns the description as a file.
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "locks = \"{}\"\nsection_overhead = \"{}us\"\n[platform]{BOARD}",
            self.locks, self.section_overhead_us
        );
        // Only so is there room for more than the hypervisor has.
        text.push_str(match self.is_large() {
            true => "analysis_only = \"it is large\"\n",
            false => DEVICES,
        });
        if let Some(reload) = self.reload_us {
            let _ = writeln!(text, "color_reload = \"{reload}us\"");
        }
        if self.overheads {
            let _ = writeln!(text, "{OVERHEADS}");
        }
        let _ = writeln!(
            text,
            "cpu = [{{ model = \"Cortex-A53\", count = {} }}]\ncache = [{{ level = 2, kind = \"unified\", \
             size = \"{}KiB\", ways = 16, line = \"64B\", shared_by = {} }}]",
            self.pcpus,
            self.colors * KIB_OF_COLOR,
            self.pcpus
        );
        for (index, resource) in self.resources.iter().enumerate() {
            resource.write(&mut text, index);
        }
        for (index, chain) in self.chains.iter().enumerate() {
            chain.write(&mut text, index);
        }
        for (index, vm) in self.vms.iter().enumerate() {
            vm.write(&mut text, index);
        }
        text
    }

    /// Returns true if the hypervisor has no room for so many VMs or PCPUs.
    pub fn is_large(&self) -> bool {
        self.vms.len() > COUNT_MAX || self.pcpus > COUNT_MAX as u64
    }

    pub fn tasks(&self) -> usize {
        self.vms.iter().map(|vm| vm.tasks.len()).sum()
    }

    /// Returns true if the periods of some VCPUs are open.
    pub fn has_open_periods(&self) -> bool {
        let mut vcpus = self.vms.iter().flat_map(|vm| &vm.vcpus);
        vcpus.any(|vcpu| vcpu.server.is_some() && vcpu.period_us.is_none())
    }
}

impl Resource {
    fn write(&self, text: &mut String, index: usize) {
        let names: Vec<String> = self.vms.iter().map(|vm| format!("\"v{vm}\"")).collect();
        let owner = match self.between_vms {
            true => format!("vms = [{}]", names.join(", ")),
            false => format!("vm = {}", names[0]),
        };
        let _ = writeln!(text, "[[resource]]\nname = \"r{index}\"\n{owner}");
    }
}

impl Chain {
    fn write(&self, text: &mut String, index: usize) {
        let steps = self.steps.iter().map(|(vm, task)| format!("\"v{vm}.t{task}\""));
        let _ = writeln!(
            text,
            "[[chain]]\nname = \"c{index}\"\nsteps = [{}]\nmax_reaction = \"{}us\"",
            steps.collect::<Vec<_>>().join(", "),
            self.reaction_us
        );
    }
}

impl Limit {
    fn write(self, text: &mut String) {
        let _ = match self {
            Self::None => Ok(()),
            Self::Planned(1_000) => writeln!(text, "bandwidth = \"planned\""),
            Self::Planned(period) => writeln!(text, "bandwidth = {{ period = \"{period}us\" }}"),
            Self::Given(accesses, period) => {
                writeln!(text, "bandwidth = {{ accesses = {accesses}, period = \"{period}us\" }}")
            }
        };
    }
}

impl Vm {
    fn write(&self, text: &mut String, index: usize) {
        let _ = writeln!(
            text,
            "[[vm]]\nname = \"v{index}\"\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = \"rt.bin\""
        );
        let _ = match self.colors {
            Colors::All => Ok(()),
            Colors::Planned => writeln!(text, "colors = \"planned\""),
            Colors::Given(first, count) => {
                writeln!(text, "colors = \"{first}-{}\"", first + count - 1)
            }
        };
        if self.vllc {
            text.push_str("vllc = true\n");
        }
        self.limit.write(text);
        for vcpu in &self.vcpus {
            vcpu.write(text);
        }
        for (index, task) in self.tasks.iter().enumerate() {
            task.write(text, index);
        }
    }
}

impl Vcpu {
    fn write(&self, text: &mut String) {
        text.push_str("[[vm.vcpu]]\n");
        if let Some(server) = self.server {
            let _ = writeln!(text, "server = \"{server}\"");
        }
        for (key, value) in [("period", self.period_us), ("budget", self.budget_us)] {
            if let Some(value) = value {
                let _ = writeln!(text, "{key} = \"{value}us\"");
            }
        }
        for (key, value) in [("pcpu", self.pcpu), ("priority", self.priority)] {
            if let Some(value) = value {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        if self.overrun {
            text.push_str("overrun = true\n");
        }
        self.limit.write(text);
    }
}

impl Task {
    /// Returns the execution time with this number of colours.
    pub fn wcet(&self, colors: u64) -> u64 {
        let known = self.wcet_ns.iter().rev().find(|(count, _)| *count <= colors);
        known.unwrap_or(&self.wcet_ns[0]).1
    }

    fn write(&self, text: &mut String, index: usize) {
        let wcet = match &self.wcet_ns[..] {
            [(0, time)] => format!("\"{time}ns\""),
            times => {
                let times = times.iter().map(|(colors, time)| format!("{colors} = \"{time}ns\""));
                format!("{{ {} }}", times.collect::<Vec<_>>().join(", "))
            }
        };
        let _ = writeln!(
            text,
            "[[vm.task]]\nname = \"t{index}\"\nperiod = \"{}us\"\ndeadline = \"{}us\"\nwcet = {wcet}",
            self.period_us, self.deadline_us
        );
        for (key, value) in [("jitter", self.jitter_us), ("self_suspension", self.suspension_us)] {
            if value > 0 {
                let _ = writeln!(text, "{key} = \"{value}us\"");
            }
        }
        if self.exits > 0 {
            let _ = writeln!(text, "exits = {}", self.exits);
        }
        if let Some(vcpu) = self.vcpu {
            let _ = writeln!(text, "vcpu = {vcpu}");
        }
        if let Some(accesses) = self.accesses {
            let _ = writeln!(text, "accesses = {accesses}");
        }
        if !self.sections.is_empty() {
            let sections = self.sections.iter().map(|(resource, after, length)| {
                format!("{{ resource = \"r{resource}\", after = \"{after}ns\", length = \"{length}ns\" }}")
            });
            let _ = writeln!(text, "sections = [{}]", sections.collect::<Vec<_>>().join(", "));
        }
    }
}
