//! Settings of the kernel.

use super::files::Files;
use super::{Check, Effect, Lack, lack};

pub const CHECKS: &[Check] = &[version, throttling, preemption, huge_pages, clock];

/// The first version that lets VMs see the time-stamp counter of the host.
const VERSION_MIN: (u32, u32) = (5, 16);

fn version(files: &Files, _: &[usize]) -> Option<Lack> {
    let release = files.text("proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|it: char| !it.is_ascii_digit()).map(str::parse::<u32>);
    let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    if version >= VERSION_MIN {
        return None;
    }
    let (major, minor) = VERSION_MIN;
    lack(
        "kernel",
        Effect::Prevents,
        format!("Linux is {release}: its KVM does not show VMs the time-stamp counter of the host"),
        format!("boot Linux {major}.{minor} or newer"),
    )
}

fn throttling(files: &Files, _: &[usize]) -> Option<Lack> {
    let runtime = files.number("proc/sys/kernel/sched_rt_runtime_us")?;
    let period = files.number("proc/sys/kernel/sched_rt_period_us").unwrap_or(1_000_000);
    if runtime < 0 || runtime >= period {
        return None;
    }
    let (runtime, period) = (runtime / 1000, period / 1000);
    lack(
        "throttling",
        Effect::Delays,
        format!(
            "Linux stops real-time threads that take more than {runtime} of {period} ms of a CPU"
        ),
        "let the budgets of a PCPU take no more than that, or `sysctl kernel.sched_rt_runtime_us=-1`; then nothing but \
         VCPUs runs on a PCPU that is full",
    )
}

fn preemption(files: &Files, _: &[usize]) -> Option<Lack> {
    if files.number("sys/kernel/realtime") == Some(1) {
        return None;
    }
    lack(
        "preempt-rt",
        Effect::Delays,
        "the kernel has no PREEMPT_RT: work of the kernel may keep a CPU for milliseconds",
        "boot a kernel with PREEMPT_RT (Debian: linux-image-rt-amd64)",
    )
}

fn huge_pages(files: &Files, _: &[usize]) -> Option<Lack> {
    let setting = files.text("sys/kernel/mm/transparent_hugepage/enabled")?;
    if !setting.contains("[always]") {
        return None;
    }
    lack(
        "huge-pages",
        Effect::Delays,
        "Linux makes huge pages of any memory while programs run, and stops them for that",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    )
}

fn clock(files: &Files, _: &[usize]) -> Option<Lack> {
    let source = files.text("sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    if source == "tsc" {
        return None;
    }
    lack(
        "clock",
        Effect::Delays,
        format!(
            "the clock of this host is `{source}`, not the time-stamp counter, by which guests see the time"
        ),
        "find out why Linux does not trust the counter: `dmesg | grep -i tsc`",
    )
}
