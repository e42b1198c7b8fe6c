//! A victim with a guaranteed server, and a VM whose VCPUs make the hypervisor work on PCPUs of their own; one of them
//! shares the victim's PCPU.

use crate::real::project;

/// The PCPU of the victim and of one VCPU of the attacker.
pub const SHARED: usize = 3;
/// The others.
const OTHERS: [usize; 3] = [0, 1, 2];
/// Of all servers.
pub const PERIOD_MS: u64 = 10;
/// After this time the storm is under way: each VCPU has started.
const START_MS: u64 = 3 * PERIOD_MS;
/// Of a window in which the victim counts its work: whole periods, or what is in a window depends on where it begins.
const WINDOW_MS: u64 = 2 * PERIOD_MS;

/// A mode of `rt-storm`, and what its VM needs for that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Storm {
    pub mode: &'static str,
    pub needs: Needs,
    /// Instructions between two attacks. Interrupts without a pause keep the sibling from waiting for the next one:
    /// with one, each wakes it.
    pub pause: u64,
}

/// What makes systems with some storms differ from others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Needs {
    Nothing,
    /// The registers of a GICv3: a GICv2 shows nobody the private interrupts of others.
    GicV3,
    /// Resources that VMs share: the victim has one, and the attacker a right to none.
    NoRight,
    /// The attacker has the right to another one.
    Right,
    /// Colours, extra ones among them, and the serial port on which tasks ask for them.
    Colors,
    /// Both.
    ColorsAndGicV3,
    /// A device.
    Device,
    /// RAM that is mapped when it is touched.
    Ram,
    /// Accesses that fail where there is no memory.
    Aborts,
    /// A channel with rings, for the victim, and for a VM that shares its PCPU and waits.
    Rings,
    /// Serial lines to the victim, and to a VM that shares its PCPU and waits.
    Lines,
    /// Links to a VM that shares the victim's PCPU and waits, and to one that sends as well, and restarts again and again.
    Links,
    /// The same, and the first VM does what the second one does.
    LinksOfRestarts,
}

impl Needs {
    /// Returns true if the VM needs colours.
    pub fn colors(self) -> bool {
        matches!(self, Self::Colors | Self::ColorsAndGicV3)
    }

    /// Returns true if the VM has links.
    pub fn links(self) -> bool {
        matches!(self, Self::Links | Self::LinksOfRestarts)
    }
}

const fn storm(mode: &'static str, needs: Needs) -> Storm {
    Storm { mode, needs, pause: 0 }
}

const fn with_pause(mode: &'static str, needs: Needs, pause: u64) -> Storm {
    Storm { mode, needs, pause }
}

/// All storms.
pub const STORMS: [Storm; 55] = [
    storm("sgi-waiting", Needs::Nothing),
    storm("sgi-taking", Needs::Nothing),
    with_pause("sgi-taking", Needs::Nothing, 2_000),
    with_pause("sgi-taking", Needs::Nothing, 10_000),
    storm("sgi-busy", Needs::Nothing),
    storm("sgi-off", Needs::Nothing),
    storm("sgi-unstarted", Needs::Nothing),
    storm("ctlr", Needs::Nothing),
    storm("ctlr-unstarted", Needs::Nothing),
    storm("enable", Needs::GicV3),
    storm("enable-unstarted", Needs::GicV3),
    storm("pend", Needs::GicV3),
    with_pause("pend-dozing", Needs::GicV3, 3_000),
    with_pause("pend-dozing", Needs::GicV3, 6_000),
    storm("active", Needs::GicV3),
    storm("reads", Needs::GicV3),
    storm("group", Needs::GicV3),
    storm("many", Needs::Device),
    with_pause("many", Needs::Device, 2_000),
    storm("enable-spi", Needs::Nothing),
    storm("pend-spi", Needs::Nothing),
    storm("active-spi", Needs::Nothing),
    storm("reads-spi", Needs::Nothing),
    storm("router", Needs::Nothing),
    storm("device", Needs::Device),
    storm("device-taking", Needs::Device),
    with_pause("device-taking", Needs::Device, 3_000),
    with_pause("device-dozing", Needs::Device, 1_000),
    storm("device-off", Needs::Device),
    storm("device-nowhere", Needs::Device),
    storm("device-nowhere-off", Needs::Device),
    storm("device-leaving", Needs::Device),
    storm("device-router", Needs::Device),
    storm("timer", Needs::Nothing),
    storm("cpu-on-off", Needs::Nothing),
    storm("lock-refused", Needs::NoRight),
    storm("lock-granted", Needs::Right),
    storm("lock-opening", Needs::Right),
    storm("colors", Needs::Colors),
    storm("doorbell", Needs::Colors),
    storm("audit", Needs::Colors),
    storm("color-serial", Needs::Colors),
    with_pause("color-serial-dozing", Needs::ColorsAndGicV3, 3_000),
    storm("console-call", Needs::Nothing),
    storm("console-uart", Needs::Nothing),
    storm("touch", Needs::Ram),
    storm("mmio", Needs::Nothing),
    storm("absent", Needs::Aborts),
    storm("ring", Needs::Rings),
    storm("serial", Needs::Lines),
    storm("link-long", Needs::LinksOfRestarts),
    storm("link-short", Needs::Links),
    storm("link-kick", Needs::Links),
    storm("link-reset", Needs::LinksOfRestarts),
    storm("link-wrong", Needs::Links),
];

/// The storm with this name and pause.
pub fn named(mode: &str, pause: u64) -> Storm {
    let found = STORMS.into_iter().find(|storm| (storm.mode, storm.pause) == (mode, pause));
    found.unwrap_or_else(|| panic!("there is no storm {mode} with a pause of {pause}"))
}

/// What the victim does.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Victim {
    /// It counts its work in this number of windows.
    Works(u64),
    /// It has tasks, for 100 ms.
    HasTasks,
}

impl Victim {
    fn length_ms(self) -> u64 {
        match self {
            Self::Works(windows) => WINDOW_MS * windows,
            Self::HasTasks => 100,
        }
    }

    /// Its budget in each period. Tasks leave room for what the hypervisor takes.
    fn budget_ms(self) -> u64 {
        match self {
            Self::Works(_) => 8,
            Self::HasTasks => 7,
        }
    }

    fn arguments(self) -> String {
        match self {
            Self::Works(windows) => {
                format!("storm.mode=victim storm.windows={windows} storm.window_ms={WINDOW_MS}")
            }
            Self::HasTasks => "storm.mode=tasks".into(),
        }
    }
}

/// Where a storm takes place.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Place {
    /// Version of the interrupt controller: 2 or 3.
    pub gic: u32,
    /// PCPUs from which it comes, 1 to 3.
    pub attackers: usize,
    /// Whether the victim goes before the VCPU of the attacker.
    pub victim_first: bool,
    pub victim: Victim,
}

impl Place {
    /// Returns true if the storm can take place there.
    pub fn allows(self, storm: Storm) -> bool {
        let has_gic = self.gic == 3 || !matches!(storm.needs, Needs::GicV3 | Needs::ColorsAndGicV3);
        // The VM that restarts has a PCPU of its own.
        has_gic && (!storm.needs.links() || self.attackers < OTHERS.len())
    }

    /// From when until when, in microseconds after the start of the servers, the storm has to last.
    pub fn window_us(self) -> (i64, i64) {
        let end = START_MS + self.victim.length_ms();
        (START_MS as i64 * 1000, end as i64 * 1000)
    }

    /// The description of the system: with the storm, or, if it is quiet, without, and everything else as it is.
    pub fn system(self, storm: Storm, is_quiet: bool) -> String {
        let platform = if self.gic == 3 { "qemu-virt" } else { "qemu-virt-gicv2" };
        let kernel = project().join("build/guests/rt-storm.bin");
        let vm = |name: &str, memory: &str, arguments: &str| {
            format!(
                "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = {memory:?}\nkernel = {kernel:?}\n\
                 bootargs = \"storm.start_ms={START_MS} {arguments}\"\n"
            )
        };
        let needs = storm.needs;
        let colors = |lines| if needs.colors() { lines } else { "" };
        let (first, second) = if self.victim_first { (2, 1) } else { (1, 2) };
        let with_locks = [Needs::NoRight, Needs::Right].contains(&needs);

        let mut text = format!("name = \"storm\"\nplatform = {platform:?}\n");
        if with_locks {
            text += &resource("bus", "victim");
            text += &resource("own", if needs == Needs::Right { "attacker" } else { "victim" });
        }
        let arguments =
            self.victim.arguments() + if with_locks { " storm.resource=bus" } else { "" };
        text += match needs {
            Needs::Rings => BELL,
            Needs::Lines => LINES,
            _ if needs.links() => LINKS,
            _ => "",
        };
        text += &vm("victim", "4MiB", &arguments);
        text += colors("colors = \"8-11\"\n");
        text += &vcpu(SHARED, "periodic", self.victim.budget_ms(), first);
        text += &self.tasks(with_locks);

        let memory = match needs {
            Needs::Ram => "384MiB",
            _ if needs.colors() => "24MiB",
            _ => "4MiB",
        };
        let mode = if is_quiet { "none" } else { storm.mode };
        let end = START_MS + self.victim.length_ms() + PERIOD_MS / 2;
        let arguments = format!(
            "storm.mode={mode} storm.attackers={} storm.pause={} storm.ms={end}{}",
            self.attackers,
            storm.pause,
            colors(COLOR_PORT)
        );
        text += &vm("attacker", memory, &arguments);
        text += colors(
            "colors = \"0-3\"\nextra_colors = \"4-7\"\nextra_memory = \"8MiB\"\ncolor_serial = true\n",
        );
        text += match needs {
            Needs::Ram => "warm_up = false\n",
            Needs::Aborts => "on_bad_address = \"abort\"\n",
            _ => "",
        };
        for (number, pcpu) in self.pcpus().into_iter().enumerate() {
            text += &match pcpu {
                SHARED => vcpu(SHARED, "deferrable", 1, second),
                alone => format!("[[vm.vcpu]]\npcpu = {alone}\n"),
            };
            if needs == Needs::Right {
                let name = format!("locks-{number}");
                text += &task(&name, number, PERIOD_MS, "0.2ms", "own");
            }
        }
        match needs {
            Needs::Device => text + DEVICE,
            Needs::Rings => {
                text + &self.reader("rt-channel", "channel.receive=bell channel.beats=1 channel")
            }
            Needs::Lines => text + &self.reader("rt-channel", "channel.beats=1 channel"),
            Needs::Links => {
                text + &self.reader("rt-network", "network.hold=1 network.sleep=1 network")
                    + &self.peer()
            }
            Needs::LinksOfRestarts => {
                let vm = self.restarts("reader", READER_US);
                text + &vm + &self.vcpu_of_reader() + &self.peer()
            }
            _ => text,
        }
    }

    /// A VM that reads the channel or has a line or a link, and waits until the storm is over: before the others, where it
    /// pays for what it causes, or behind them. `arguments`: the last one is the start of that for its time.
    fn reader(self, program: &str, arguments: &str) -> String {
        let us = self.end_us();
        guest("reader", program, &format!("{arguments}.us={us}")) + &self.vcpu_of_reader()
    }

    fn vcpu_of_reader(self) -> String {
        let priority = if self.victim_first { 0 } else { 3 };
        format!(
            "[[vm.vcpu]]\npcpu = {SHARED}\nserver = \"deferrable\"\nbudget = \"200us\"\n\
             period = \"{PERIOD_MS}ms\"\npriority = {priority}\n"
        )
    }

    /// A VM on a PCPU of its own that floods a link while it does not restart.
    fn peer(self) -> String {
        let pcpu = OTHERS[OTHERS.len() - 1];
        format!("{}[[vm.vcpu]]\npcpu = {pcpu}\n", self.restarts("peer", PEER_US))
    }

    /// A VM that floods its link, and restarts after this time, until the storm is over.
    fn restarts(self, name: &str, us: u64) -> String {
        let end = self.end_us();
        let arguments = format!(
            "network.flood=1 network.parts=8 network.bytes=1500 network.end=reset network.reset_us={end} network.us={us}"
        );
        guest(name, "rt-network", &arguments) + "restart_limit = 1000\n"
    }

    /// The storm is over then, in microseconds.
    fn end_us(self) -> u64 {
        1000 * (START_MS + self.victim.length_ms() + PERIOD_MS)
    }

    /// Those of the attacker's VCPUs: the second one is the one on the shared PCPU.
    fn pcpus(self) -> Vec<usize> {
        let mut pcpus = OTHERS[..self.attackers].to_vec();
        pcpus.insert(1, SHARED);
        pcpus
    }

    /// The tasks of the victim: those of `rt-storm`; or that it uses a
    /// resource.
    fn tasks(self, with_locks: bool) -> String {
        match (self.victim, with_locks) {
            (Victim::HasTasks, _) => {
                [("short", 10, "1.02ms"), ("middle", 20, "3.02ms"), ("long", 50, "8.02ms")]
                    .map(|(name, period, wcet)| task(name, 0, period, wcet, ""))
                    .concat()
            }
            (Victim::Works(_), true) => task("locks", 0, 1, "0.5ms", "bus"),
            (Victim::Works(_), false) => String::new(),
        }
    }
}

/// A VM whose device goes to the second VCPU. That VCPU and the third one, which never starts, are on the shared PCPU.
pub fn device_of_siblings(mode: &str) -> String {
    let kernel = project().join("build/guests/rt-storm.bin");
    let arguments =
        format!("storm.start_ms={START_MS} storm.mode={mode} storm.pause=1000 storm.ms=60");
    let vm = format!(
        "name = \"siblings\"\nplatform = \"qemu-virt\"\n[[vm]]\nname = \"vm\"\nboot = \"raw\"\n\
         memory = \"4MiB\"\nkernel = {kernel:?}\nbootargs = {arguments:?}\n[[vm.vcpu]]\npcpu = 0\n"
    );
    vm + &vcpu(SHARED, "deferrable", 3, 1) + &vcpu(SHARED, "deferrable", 5, 2) + DEVICE
}

/// A VM without VCPUs.
fn guest(name: &str, program: &str, arguments: &str) -> String {
    let kernel = project().join(format!("build/guests/{program}.bin"));
    format!(
        "[[vm]]\nname = {name:?}\nboot = \"raw\"\nmemory = \"4MiB\"\nkernel = {kernel:?}\nbootargs = {arguments:?}\n"
    )
}

fn resource(name: &str, vm: &str) -> String {
    format!("[[resource]]\nname = {name:?}\nvms = [{vm:?}]\n")
}

fn vcpu(pcpu: usize, server: &str, budget_ms: u64, priority: u32) -> String {
    format!(
        "[[vm.vcpu]]\npcpu = {pcpu}\nserver = {server:?}\nbudget = \"{budget_ms}ms\"\nperiod = \"{PERIOD_MS}ms\"\n\
         priority = {priority}\n"
    )
}

/// A task that has a section, unless the resource is none.
fn task(name: &str, vcpu: usize, period_ms: u64, wcet: &str, resource: &str) -> String {
    let sections = match resource {
        "" => String::new(),
        _ => format!(
            "sections = [{{ resource = {resource:?}, after = \"10us\", length = \"50us\" }}]\n"
        ),
    };
    format!(
        "[[vm.task]]\nname = {name:?}\nvcpu = {vcpu}\nperiod = \"{period_ms}ms\"\nwcet = {wcet:?}\n{sections}"
    )
}

/// Where a guest with a serial port for colours sees it.
const COLOR_PORT: &str = " storm.port=0x0a010000";

/// More rings come than these.
const BELL: &str = r#"[[channel]]
name = "bell"
from = "attacker"
to = ["victim", "reader"]
ring_every = "2ms"
ring_burst = 4
"#;

/// More would be told to the victim than this, and the VM beside it is told as often as a line lets any.
const LINES: &str = r#"[[serial]]
between = ["attacker", "victim"]
tell_every = "2ms"
tell_burst = 4
[[serial]]
between = ["attacker", "reader"]
tell_every = "20us"
tell_burst = 64
"#;

/// All that is sent comes, and interrupts as often as a link lets any.
const LINKS: &str = r#"[[link]]
name = "near"
between = ["attacker", "reader"]
rate = "10GB/s"
burst = "1MiB"
interrupt_every = "20us"
interrupt_burst = 64
[[link]]
name = "far"
between = ["attacker", "peer"]
rate = "10GB/s"
burst = "1MiB"
interrupt_every = "20us"
interrupt_burst = 64
"#;

/// Microseconds after which a VM restarts that has a PCPU of its own, and one that has not.
const PEER_US: u64 = 3_000;
const READER_US: u64 = 200;

const DEVICE: &str = r#"[[vm.device]]
compatible = ["arm,pl031", "arm,primecell"]
address = 0x0901_0000
size = "4KiB"
interrupt = 34
"#;
