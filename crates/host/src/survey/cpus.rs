//! The CPUs of a host.

use super::files::{Files, list};
use super::{Check, Effect, Lack, lack};

pub const CHECKS: &[Check] = &[absent, forbidden, housekeeping, siblings, governor, steal];

/// More than this part of all time, in millionths, is more than a reading's error.
const STOLEN_MIN_PPM: u64 = 100;

fn absent(files: &Files, cpus: &[usize]) -> Option<Lack> {
    let online = list(&files.text("sys/devices/system/cpu/online")?);
    let absent: Vec<_> = cpus.iter().filter(|cpu| !online.contains(cpu)).collect();
    let names = names(&absent)?;
    lack(
        "cpus",
        Effect::Prevents,
        format!("VCPUs are to run on {names}, which this host does not have"),
        format!(
            "it has {} CPUs, and PCPU n is CPU n + `mpidr` of the platform file: put the VCPUs on other PCPUs",
            online.len()
        ),
    )
}

fn forbidden(files: &Files, cpus: &[usize]) -> Option<Lack> {
    let allowed = list(&files.field("proc/self/status", "Cpus_allowed_list")?);
    let online = list(&files.text("sys/devices/system/cpu/online")?);
    let forbidden = cpus.iter().filter(|cpu| online.contains(cpu) && !allowed.contains(cpu));
    let names = names(&forbidden.collect::<Vec<_>>())?;
    lack(
        "cpus-allowed",
        Effect::Prevents,
        format!("VCPUs are to run on {names}, on which this process may not run"),
        "start this with `taskset`, or in a cpuset, that contains them",
    )
}

/// Linux, the console and the trace need a CPU, too.
fn housekeeping(files: &Files, cpus: &[usize]) -> Option<Lack> {
    let online = list(&files.text("sys/devices/system/cpu/online")?);
    let allowed = files.field("proc/self/status", "Cpus_allowed_list").map(|text| list(&text));
    let is_allowed = |cpu: &&usize| allowed.as_ref().is_none_or(|it| it.contains(*cpu));
    let mut others = online.iter().filter(|cpu| !cpus.contains(cpu)).peekable();
    if cpus.is_empty() {
        return None;
    }
    if others.peek().is_none() {
        return lack(
            "housekeeping",
            Effect::Prevents,
            "VCPUs are to run on all CPUs, and Linux would stand still",
            "leave one CPU without VCPUs",
        );
    }
    if others.any(|cpu| is_allowed(&cpu)) {
        return None;
    }
    lack(
        "housekeeping",
        Effect::Prevents,
        "this process may only run on CPUs with VCPUs, which would keep its other threads from running",
        "start this with `taskset`, or in a cpuset, that contains one CPU more",
    )
}

fn siblings(files: &Files, _: &[usize]) -> Option<Lack> {
    if files.number("sys/devices/system/cpu/smt/active")? == 0 {
        return None;
    }
    lack(
        "smt",
        Effect::Delays,
        "CPUs share cores: a program on one CPU of a core slows the other CPU down",
        "echo off > /sys/devices/system/cpu/smt/control",
    )
}

fn governor(files: &Files, cpus: &[usize]) -> Option<Lack> {
    let governor = |cpu: usize| {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        files.text(&file).filter(|governor| governor != "performance")
    };
    let other = match cpus {
        [] => governor(0),
        cpus => cpus.iter().find_map(|cpu| governor(*cpu)),
    }?;
    lack(
        "governor",
        Effect::Delays,
        format!("CPUs change their frequency with their load (governor `{other}`)"),
        "cpupower frequency-set -g performance",
    )
}

/// This host is itself a virtual machine whose CPUs somebody else takes.
fn steal(files: &Files, _: &[usize]) -> Option<Lack> {
    let text = files.text("proc/stat")?;
    let times: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|it| it.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is contained in the first two.
    let (all, stolen) = (times.iter().take(8).sum::<u64>(), *times.get(7)?);
    let ppm = (u128::from(stolen) * 1_000_000 / u128::from(all.max(1))) as u64;
    if ppm < STOLEN_MIN_PPM {
        return None;
    }
    lack(
        "steal",
        Effect::Delays,
        format!(
            "this host is a virtual machine from which {}.{:02} % of all time was taken",
            ppm / 10_000,
            ppm / 100 % 100
        ),
        "no setting here helps: VMs may have to wait for milliseconds at any time; use a host of its own",
    )
}

/// Returns the CPUs in words, if there are any.
fn names(cpus: &[&usize]) -> Option<String> {
    let numbers: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
    let what = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    (!cpus.is_empty()).then(|| format!("{what} {}", numbers.join(", ")))
}
