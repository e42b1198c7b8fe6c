//! Lacks that keep VMs from frames of their colours.

use super::files::Files;
use super::rights::is_capable;
use super::{Check, Effect, Lack, lack};

pub const CHECKS: &[Check] = &[pagemap, compaction, balancing, machine];

const CAP_SYS_ADMIN: u32 = 21;

/// Frames are chosen by the table that says which ones memory has.
fn pagemap(files: &Files, _: &[usize]) -> Option<Lack> {
    let pagemap = |found: &str, help: &str| lack("pagemap", Effect::PreventsColors, found, help);
    if !files.exists("proc/self/pagemap") {
        return pagemap(
            "the kernel does not tell in which frames memory lies: there is no /proc/self/pagemap",
            "boot a kernel with CONFIG_PROC_PAGE_MONITOR, as those of distributions are",
        );
    }
    // Root of a container with users of its own has the right there only.
    let users = files.text("proc/self/uid_map");
    let of_host = users.is_none_or(|it| it.split_whitespace().eq(["0", "0", "4294967295"]));
    if of_host && is_capable(files, CAP_SYS_ADMIN) {
        return None;
    }
    pagemap(
        "Linux hides from this process in which frames its memory lies (/proc/self/pagemap)",
        "run this as root of the host, not of a container (`CAP_SYS_ADMIN`)",
    )
}

/// Memory that is pinned stays where it is (`vmm::Pins`).
fn compaction(files: &Files, _: &[usize]) -> Option<Lack> {
    if files.number("proc/sys/vm/compact_unevictable_allowed")? == 0 || can_pin(files) {
        return None;
    }
    lack(
        "compaction",
        Effect::WeakensColors,
        "Linux may move locked memory to other frames, to make huge pages of what becomes free, and lets this process pin none",
        "sysctl vm.compact_unevictable_allowed=0, or kernel.io_uring_disabled=0",
    )
}

/// Returns true if Linux says that this process may have what pins memory. Linux up to 6.5 does not say so.
fn can_pin(files: &Files) -> bool {
    match files.number("proc/sys/kernel/io_uring_disabled") {
        Some(0) => true,
        Some(1) => is_capable(files, CAP_SYS_ADMIN),
        _ => false,
    }
}

fn balancing(files: &Files, _: &[usize]) -> Option<Lack> {
    if files.number("proc/sys/kernel/numa_balancing")? == 0 {
        return None;
    }
    lack(
        "numa-balancing",
        Effect::WeakensColors,
        "Linux moves memory to frames near the CPUs that use it",
        "sysctl kernel.numa_balancing=0",
    )
}

fn machine(files: &Files, _: &[usize]) -> Option<Lack> {
    let flags = files.field("proc/cpuinfo", "flags")?;
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return None;
    }
    lack(
        "frames",
        Effect::WeakensColors,
        "this host is a virtual machine: its frames lie anywhere in the RAM of the machine, and colours divide no cache",
        "no setting here helps: use a host of its own",
    )
}
