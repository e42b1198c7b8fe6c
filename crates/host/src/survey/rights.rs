//! KVM, and the rights of this process.

use std::io::ErrorKind;

use super::files::Files;
use super::{Check, Effect, Lack, lack};
use crate::PRIORITY;

pub const CHECKS: &[Check] = &[kvm, real_time, group, memory];

const STATUS: &str = "proc/self/status";
const LIMITS: &str = "proc/self/limits";
/// ENXIO: a device file without a driver.
const NO_DRIVER: i32 = 6;
/// Bits of capabilities.
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

fn kvm(files: &Files, _: &[usize]) -> Option<Lack> {
    let error = files.open("dev/kvm").err()?;
    let no_kvm = |found| {
        let help = "load the module kvm_intel or kvm_amd, and turn virtualisation on in the firmware; a virtual machine \
                    needs nested virtualisation";
        lack("kvm", Effect::Prevents, found, help)
    };
    match error.kind() {
        ErrorKind::NotFound => no_kvm("there is no /dev/kvm"),
        _ if error.raw_os_error() == Some(NO_DRIVER) => {
            no_kvm("there is a file /dev/kvm, but no driver behind it")
        }
        _ => lack(
            "kvm-rights",
            Effect::Prevents,
            format!("/dev/kvm may not be opened: {error}"),
            "run this as root, or `usermod -aG kvm USER` and log in again",
        ),
    }
}

fn real_time(files: &Files, _: &[usize]) -> Option<Lack> {
    if is_capable(files, CAP_SYS_NICE)
        || limit(files, "Max realtime priority").is_none_or(|it| it >= PRIORITY.into())
    {
        return None;
    }
    lack(
        "real-time-rights",
        Effect::Prevents,
        format!(
            "this process may not have threads with the policy SCHED_FIFO and priority {PRIORITY}"
        ),
        "run this as root, or with `ulimit -r 99`",
    )
}

/// Control groups of version 1 with CONFIG_RT_GROUP_SCHED.
fn group(files: &Files, _: &[usize]) -> Option<Lack> {
    let groups = files.text("proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        controllers.split(',').any(|it| it == "cpu").then(|| parts.next()).flatten()
    })?;
    let file = format!("sys/fs/cgroup/cpu{}/cpu.rt_runtime_us", own.trim_end_matches('/'));
    if files.number(&file)? != 0 {
        return None;
    }
    lack(
        "real-time-group",
        Effect::Prevents,
        format!("the control group {own} has no time for real-time threads (/{file} is 0)"),
        "start this in the root group, or write a time into this file and those of the groups above",
    )
}

fn memory(files: &Files, _: &[usize]) -> Option<Lack> {
    if is_capable(files, CAP_IPC_LOCK)
        || limit(files, "Max locked memory").is_none_or(|it| it >= 1 << 30)
    {
        return None;
    }
    lack(
        "memory-rights",
        Effect::Prevents,
        "this process may not lock the memory of VMs",
        "run this as root, or with `ulimit -l unlimited`",
    )
}

/// Returns true if the process has a capability. It counts as there if that cannot be read.
pub fn is_capable(files: &Files, bit: u32) -> bool {
    let capabilities = files.field(STATUS, "CapEff");
    let capabilities = capabilities.and_then(|text| u64::from_str_radix(&text, 16).ok());
    capabilities.is_none_or(|bits| bits >> bit & 1 != 0)
}

/// The soft limit of the process; `None`: there is none.
fn limit(files: &Files, name: &str) -> Option<u64> {
    let text = files.text(LIMITS)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
