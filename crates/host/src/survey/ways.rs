//! Lacks that keep Linux from giving VMs parts of the last-level cache and of the memory bandwidth (resctrl).

use super::files::Files;
use super::{Check, Effect, Lack, RESCTRL, lack};

pub const CHECKS: &[Check] = &[resctrl];

fn resctrl(files: &Files, _: &[usize]) -> Option<Lack> {
    let lack = |name, found: &str, help: &str| lack(name, Effect::PreventsWays, found, help);
    if !files.exists(&format!("{RESCTRL}/info")) {
        let known = files.text("proc/filesystems");
        if known.is_some_and(|it| it.lines().any(|line| line.ends_with("\tresctrl"))) {
            return lack(
                "resctrl",
                "Linux can divide the last-level cache by ways, and its files for that are not mounted",
                "`mount -t resctrl resctrl /sys/fs/resctrl`, as root",
            );
        }
        return lack(
            "resctrl",
            "the processor cannot divide its last-level cache by ways, or Linux has no driver for that",
            "a processor with Intel RDT or AMD QoS and a kernel with CONFIG_X86_CPU_RESCTRL; or use `colors`; or remove `ways` and \
             `bandwidth_percent`",
        );
    }
    if files.open(&format!("{RESCTRL}/schemata")).is_err() {
        return lack(
            "resctrl-rights",
            "this process may not divide the last-level cache (/sys/fs/resctrl)",
            "run this as root",
        );
    }
    None
}
