//! Facts about the machine that a result has to contain.

use std::fs;

use serde::Serialize;

use crate::cache::{self, CpuCache};
use crate::machine::{is_virtual, page_bytes};

/// The machine at hand.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name of its CPUs.
    pub cpu: String,
    /// CPUs that are on.
    pub cpus: String,
    /// Caches of the victim's CPU behind the first level.
    pub caches: Vec<CpuCache>,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Version of the kernel.
    pub kernel: String,
    /// The parameters of the kernel's command line that matter for time; the others stay private.
    pub kernel_arguments: String,
    /// The governor of the frequency of the victim's CPU, if it is known.
    pub governor: Option<String>,
    /// The kernel's setting of huge pages.
    pub huge_pages: Option<String>,
    /// Microseconds of each 1,000,000 that real-time programs may take together.
    pub real_time_us: Option<String>,
    /// The kernel's measures against leaks of the CPU.
    pub mitigations: Vec<String>,
    /// True if this is a virtual machine: its CPUs may move.
    pub is_virtual: bool,
}

impl Machine {
    /// Returns the facts about this machine, with the caches and the governor of this CPU.
    pub fn here(cpu: usize) -> Self {
        let file = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let info = file("/proc/cpuinfo").unwrap_or_default();
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        Self {
            cpu: name(&info),
            cpus: file("/sys/devices/system/cpu/online").unwrap_or_default(),
            caches: cache::of_cpu(cpu).unwrap_or_default(),
            page_bytes: page_bytes(),
            kernel: file("/proc/sys/kernel/osrelease").unwrap_or_default(),
            kernel_arguments: of_time(&file("/proc/cmdline").unwrap_or_default()),
            governor: file(&format!("{folder}/cpufreq/scaling_governor")),
            huge_pages: file("/sys/kernel/mm/transparent_hugepage/enabled"),
            real_time_us: file("/proc/sys/kernel/sched_rt_runtime_us"),
            mitigations: mitigations(),
            is_virtual: is_virtual(),
        }
    }
}

/// Parameters of the kernel that matter for time; those of a module have its name before a dot.
const OF_TIME: [&str; 31] = [
    "acpi_pad",
    "clocksource",
    "cpufreq",
    "cpuidle",
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "idle",
    "intel_idle",
    "intel_pstate",
    "amd_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "maxcpus",
    "mce",
    "mitigations",
    "nmi_watchdog",
    "nohz",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "nr_cpus",
    "preempt",
    "processor",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "skew_tick",
    "transparent_hugepage",
    "tsc",
];

/// Returns the parameters of a kernel's command line that matter for time, in their order.
fn of_time(line: &str) -> String {
    let matters = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        OF_TIME.contains(&name)
    };
    line.split_whitespace().filter(matters).collect::<Vec<_>>().join(" ")
}

/// Returns `model name` on PCs; on Arm the kernel shows numbers only.
fn name(info: &str) -> String {
    let value = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    value("model name").unwrap_or_else(|| match (value("CPU implementer"), value("CPU part")) {
        (Some(implementer), Some(part)) => format!("implementer {implementer}, part {part}"),
        _ => "unknown".into(),
    })
}

/// Returns the kernel's measures against leaks. Those that are not needed are left out.
fn mitigations() -> Vec<String> {
    let Ok(folder) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return Vec::new();
    };
    let mut all: Vec<String> = folder
        .flatten()
        .filter_map(|entry| {
            let text = fs::read_to_string(entry.path()).ok()?;
            let name = entry.file_name().into_string().ok()?;
            (text.trim() != "Not affected").then(|| format!("{name}: {}", text.trim()))
        })
        .collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_matters_for_time_is_kept_of_the_command_line() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=1234 isolcpus=2-3 token=secret nohz_full=2-3 quiet \
                    intel_idle.max_cstate=1 mitigations=off nosmt idled=1\n";
        let kept = "isolcpus=2-3 nohz_full=2-3 intel_idle.max_cstate=1 mitigations=off nosmt";
        assert_eq!(of_time(line), kept);
        assert_eq!(of_time(""), "");
    }

    #[test]
    fn cpus_have_names() {
        assert_eq!(name("processor\t: 0\nmodel name\t: Fast CPU\n"), "Fast CPU");
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd03\n";
        assert_eq!(name(arm), "implementer 0x41, part 0xd03");
        assert_eq!(name(""), "unknown");
    }
}
