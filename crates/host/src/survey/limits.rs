//! Lacks that keep memory accesses of VMs from being counted, so that they have no limits.

use super::files::Files;
use super::rights::is_capable;
use super::{Check, Effect, Lack, lack};

pub const CHECKS: &[Check] = &[counter, rights];

const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
/// The largest value with which everybody may count what the kernel does for a program of theirs.
const PARANOID_MAX: i64 = 1;

/// The performance monitors of CPUs; those with two kinds of cores have two.
fn counter(files: &Files, _: &[usize]) -> Option<Lack> {
    let monitors = ["cpu", "cpu_core"];
    let devices = "sys/bus/event_source/devices";
    if monitors.iter().any(|name| files.exists(&format!("{devices}/{name}"))) {
        return None;
    }
    lack(
        "counter",
        Effect::PreventsLimits,
        "nothing counts memory accesses: Linux has no driver for performance monitors of the CPUs",
        "a virtual machine needs a hypervisor that offers them (QEMU: `-cpu host,pmu=on`); or remove the limits; or, to try \
         limits, let them count time: `counter = \"clock\"`",
    )
}

fn rights(files: &Files, _: &[usize]) -> Option<Lack> {
    let Some(paranoid) = files.number(PARANOID) else {
        return lack(
            "counter-rights",
            Effect::PreventsLimits,
            format!("the kernel counts no events of threads: there is no /{PARANOID}"),
            "boot a kernel with CONFIG_PERF_EVENTS, as those of distributions are",
        );
    };
    if paranoid <= PARANOID_MAX
        || is_capable(files, CAP_PERFMON)
        || is_capable(files, CAP_SYS_ADMIN)
    {
        return None;
    }
    lack(
        "counter-rights",
        Effect::PreventsLimits,
        "this process may not count memory accesses that the kernel makes for VMs",
        "run this as root, or `sysctl kernel.perf_event_paranoid=1`",
    )
}
