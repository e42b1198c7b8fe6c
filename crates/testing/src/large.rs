//! Descriptions of systems of any size.

use std::fmt::Write as _;

use crate::Random;

/// The parts that a description leaves to the planner.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Open {
    /// Nothing: budgets, periods, PCPUs, VCPUs of tasks, colours and limits are given.
    #[default]
    Nothing,
    /// Budgets.
    Budgets,
    /// Everything that can be planned.
    Everything,
}

/// The size of a system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Large {
    /// PCPUs of the machine. The hypervisor has room for 8; a machine with more is only analysed.
    pub pcpus: u64,
    /// VMs.
    pub vms: u64,
    /// VCPUs of each VM.
    pub vcpus: u64,
    /// Tasks of all VMs together.
    pub tasks: u64,
    /// Resources, each of which a task in each of two VMs uses; pairs of VMs share several.
    pub resources: u64,
    /// Resources besides, each of which two tasks of one VM use, one of those that share resources.
    pub own: u64,
    /// True if the last-level cache is divided among the VMs, and execution times depend on it.
    pub colors: bool,
    /// True if tasks make memory accesses, and the VCPUs of half of the VMs, those that share no
    /// resources, have limits on them.
    pub limits: bool,
    /// Utilisation of all tasks together, in hundredths of a PCPU.
    pub load: u64,
    /// The open parts.
    pub open: Open,
    /// Another system of the same size.
    pub seed: u64,
}

/// Periods of tasks in milliseconds.
const PERIODS: [u64; 10] = [10, 20, 25, 40, 50, 80, 100, 200, 400, 1_000];
/// Number of tasks beyond which periods are longer.
const MANY: u64 = 1_500;
/// The shortest period of a task with a section, in milliseconds.
const RARE: u64 = 100;
/// Colours of the machine's cache.
const COLORS: u64 = 64;
/// Period of VCPUs in microseconds.
const SERVER: u64 = 5_000;

impl Large {
    /// Returns the description.
    pub fn to_toml(&self) -> String {
        let mut random = Random::new(self.seed.wrapping_mul(1_000_003).wrapping_add(self.tasks));
        let mut text = self.platform();
        let shares = self.shares(&mut random);
        let pairs = self.sharing() / 2;
        if self.resources + self.own > 0 {
            // What the hypervisor takes in a section grows with the VCPUs that may interrupt it.
            text = format!("section_overhead = \"800us\"\n\n{text}");
        }
        for resource in 0..if pairs > 0 { self.resources } else { 0 } {
            let vms = [resource % pairs * 2, resource % pairs * 2 + 1];
            let _ = writeln!(
                text,
                "[[resource]]\nname = \"r{resource}\"\nvms = [\"v{}\", \"v{}\"]\n",
                vms[0], vms[1]
            );
        }
        for resource in 0..self.own {
            let vm = resource % self.sharing().max(1);
            let _ = writeln!(text, "[[resource]]\nname = \"o{resource}\"\nvm = \"v{vm}\"\n");
        }
        for vm in 0..self.vms {
            self.vm(&mut text, vm, &shares, &mut random);
        }
        text
    }

    /// The number of VMs, the first ones, whose tasks share resources, in pairs. With limits it is half of
    /// them, and the others have the limits: tasks with sections have no bound on a VCPU with a
    /// limit.
    fn sharing(&self) -> u64 {
        if self.limits { self.vms / 2 } else { self.vms }
    }

    /// Returns true if the VM has a limit.
    fn is_limited(&self, vm: u64) -> bool {
        self.limits && vm >= self.sharing()
    }

    fn platform(&self) -> String {
        let boots = self.pcpus <= 8;
        let boot = match boots {
            true => {
                "[platform.gic]\nversion = 3\ngicd = { start = 0x0800_0000, size = \"64KiB\" }\n\
                 gicr = { start = 0x080a_0000, size = \"15744KiB\" }\n\
                 [platform.console]\nkind = \"arm,pl011\"\nstart = 0x0900_0000\nsize = \"4KiB\"\n\
                 interrupt = 33\n"
            }
            false => "",
        };
        let only = if boots { "" } else { "analysis_only = \"it is an example\"\n" };
        // Tasks with sections have no bound if it is given, and each colour has many lines.
        let reload = match self.colors && self.resources == 0 && !self.limits {
            true => "color_reload = \"2us\"\n",
            false => "",
        };
        let limits = match self.limits {
            true => "[platform.bandwidth]\ncounter = \"cachescope\"\naccess_latency = \"20ns\"\n",
            false => "",
        };
        format!(
            "[platform]\nname = \"large\"\nabout = \"a machine of any size\"\n\
             architecture = \"aarch64\"\ncounter = \"62.5MHz\"\n{only}{reload}\
             [[platform.cpu]]\nmodel = \"Cortex-A53\"\ncount = {}\n\
             [[platform.memory]]\nstart = 0x4000_0000\nsize = \"16GiB\"\n{boot}\
             [platform.overheads]\nswitch = \"1.5us\"\ntick = \"1us\"\nkick = \"1.6us\"\n\
             interrupt = \"0.9us\"\nexit = \"5us\"\nconsole = \"8us\"\nlock = \"5us\"\n\
             chunk = \"30us\"\n{limits}\
             [[platform.cache]]\nlevel = 1\nkind = \"data\"\nsize = \"32KiB\"\nways = 4\nline = \"64B\"\n\
             [[platform.cache]]\nlevel = 2\nkind = \"unified\"\nsize = \"4MiB\"\nways = 16\n\
             line = \"64B\"\nshared_by = {}\n\n",
            self.pcpus, self.pcpus
        )
    }

    /// The utilisation of each task, in millionths of a PCPU: none is more than four times another.
    fn shares(&self, random: &mut Random) -> Vec<u64> {
        let drawn: Vec<u64> = (0..self.tasks).map(|_| random.between(50, 200)).collect();
        let all: u64 = drawn.iter().sum();
        drawn.iter().map(|one| (one * self.load * 10_000 / all.max(1)).max(1)).collect()
    }

    fn vm(&self, text: &mut String, vm: u64, shares: &[u64], random: &mut Random) {
        let first = self.tasks * vm / self.vms;
        let own = first..self.tasks * (vm + 1) / self.vms;
        let _ = writeln!(
            text,
            "[[vm]]\nname = \"v{vm}\"\nboot = \"raw\"\nmemory = \"1MiB\"\nkernel = \"rt.bin\""
        );
        let each = COLORS / self.vms.max(1);
        match self.open {
            _ if !self.colors => {}
            Open::Everything => text.push_str("colors = \"planned\"\n"),
            _ => {
                let _ = writeln!(text, "colors = \"{}-{}\"", vm * each, (vm + 1) * each - 1);
            }
        }
        // One task after the other; a VCPU has half as much again as its tasks.
        let mut loads = vec![0; self.vcpus as usize];
        for task in own.clone() {
            loads[((task - first) % self.vcpus) as usize] += shares[task as usize];
        }
        for (vcpu, load) in loads.iter().enumerate() {
            let pcpu = (vm * self.vcpus + vcpu as u64) % self.pcpus;
            let budget = (load * 3 / 2 * SERVER / 1_000_000).clamp(20, SERVER) / 4 * 4;
            text.push_str("\n[[vm.vcpu]]\nserver = \"deferrable\"\n");
            let _ = match self.open {
                Open::Nothing => {
                    writeln!(
                        text,
                        "pcpu = {pcpu}\nperiod = \"{SERVER}us\"\nbudget = \"{budget}us\""
                    )
                }
                Open::Budgets => writeln!(text, "pcpu = {pcpu}\nperiod = \"{SERVER}us\""),
                Open::Everything => Ok(()),
            };
            // A limit of all VCPUs of a VM together leaves its tasks without bounds.
            match self.open {
                _ if !self.is_limited(vm) => {}
                Open::Everything => text.push_str("bandwidth = \"planned\"\n"),
                _ => text.push_str("bandwidth = { accesses = 2000, period = \"1ms\" }\n"),
            }
        }
        for task in own {
            self.task(text, (vm, task - first), shares[task as usize], random);
        }
    }

    fn task(&self, text: &mut String, (vm, number): (u64, u64), share: u64, random: &mut Random) {
        // The hypervisor takes some time for each job: many tasks have longer periods.
        let period = random.of(&PERIODS) * (1 + self.tasks / MANY);
        let resource = self.resource(vm, number);
        let own = self.own_resource(vm, number);
        let period = if resource.is_some() || own.is_some() { period.max(RARE) } else { period };
        let wcet = (share * period).max(1_000);
        let _ = writeln!(
            text,
            "\n[[vm.task]]\nname = \"t{number}\"\nperiod = \"{period}ms\"\nwcet = {}",
            self.wcet(wcet)
        );
        if self.open != Open::Everything {
            let _ = writeln!(text, "vcpu = {}", number % self.vcpus);
        }
        if self.limits {
            // A fiftieth of the time is for accesses.
            let _ = writeln!(text, "accesses = {}", wcet / 50 / 20 + 1);
        }
        let named = resource.map(|it| format!("r{it}")).or(own.map(|it| format!("o{it}")));
        if let Some(resource) = named {
            let _ =
                writeln!(text, "sections = [{{ resource = \"{resource}\", length = \"5us\" }}]");
        }
    }

    /// Returns the resource of its VM that a task uses, if it uses one: the tasks behind those that
    /// share resources with other VMs, two by two.
    fn own_resource(&self, vm: u64, number: u64) -> Option<u64> {
        let (sharing, pairs) = (self.sharing(), self.sharing() / 2);
        let first = self.resources.div_ceil(pairs.max(1));
        let resource = number.checked_sub(first)? / 2 * sharing + vm;
        (vm < sharing && resource < self.own).then_some(resource)
    }

    /// Returns the resource that a task uses, if it uses one: each has one user in both of its VMs.
    fn resource(&self, vm: u64, number: u64) -> Option<u64> {
        let pairs = self.sharing() / 2;
        let resource = number * pairs + vm / 2;
        (vm / 2 < pairs && resource < self.resources).then_some(resource)
    }

    fn wcet(&self, wcet: u64) -> String {
        match self.colors {
            false => format!("\"{wcet}ns\""),
            true => {
                let [few, some] = [wcet * 13 / 10, wcet * 11 / 10];
                format!("{{ 1 = \"{few}ns\", 2 = \"{some}ns\", 8 = \"{wcet}ns\" }}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_has_the_size_that_is_asked_for() {
        let large =
            Large { pcpus: 64, vms: 32, vcpus: 3, tasks: 1_000, load: 3_000, ..Large::default() };
        let text = Large { resources: 30, own: 10, colors: true, limits: true, ..large }.to_toml();
        for (part, count) in [("[[vm]]", 32), ("[[vm.vcpu]]", 96), ("[[vm.task]]", 1_000)] {
            assert_eq!(text.matches(part).count(), count, "{part}");
        }
        assert_eq!(text.matches("[[resource]]").count(), 40);
        assert_eq!(text.matches("sections").count(), 2 * 40);
        assert_ne!(large.to_toml(), Large { seed: 1, ..large }.to_toml());
    }
}
