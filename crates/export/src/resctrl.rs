//! resctrl: cache ways and memory bandwidth for the VMs of a Linux host, as a script.

use std::fmt::Write;

use policy::color::ColorSet;
use system::plan::{Plan, Vm};
use units::Bytes;

use crate::colors;
use crate::text::{Comment, word};
use crate::{Draft, Part};

const MEGABYTE: u64 = 1_000_000;

pub fn part(plan: &Plan) -> Part {
    let mut part = Part::default();
    let ways = ways(plan, &mut part);
    let mut body =
        "set -eu\nroot=/sys/fs/resctrl\ncache=${CACHE:-L3}       # or L2: see $root/info\n\
                    domain=${DOMAIN:-0}\n"
            .to_owned();
    let limited = plan.vms.iter().any(|vm| megabytes(plan, vm).is_some());
    if limited {
        body += "grep -qs ' resctrl .*mba_MBps' /proc/mounts || mount -t resctrl -o mba_MBps resctrl $root\n";
    } else {
        body += "grep -qs ' resctrl ' /proc/mounts || mount -t resctrl resctrl $root\n";
    }
    for (index, vm) in plan.vms.iter().enumerate() {
        let name = word(&vm.name);
        let _ = writeln!(body, "\nmkdir -p $root/{name}");
        if let Some(mask) = ways.as_ref().and_then(|ways| ways[index]) {
            let _ = writeln!(body, "echo \"$cache:$domain={mask:x}\" > $root/{name}/schemata");
        }
        if let Some(rate) = megabytes(plan, vm) {
            let _ = writeln!(body, "echo \"MB:$domain={rate}\" > $root/{name}/schemata");
        }
        let mut pcpus: Vec<u32> = vm.vcpus.iter().map(|vcpu| vcpu.pcpu.0).collect();
        pcpus.sort_unstable();
        pcpus.dedup();
        let others = plan.vms.iter().enumerate().filter(|(other, _)| *other != index);
        let mut elsewhere = others.flat_map(|(_, vm)| &vm.vcpus).map(|vcpu| vcpu.pcpu.0);
        if elsewhere.any(|pcpu| pcpus.contains(&pcpu)) {
            part.left.push(format!(
                "write the threads of `{0}`, which shares CPUs, into /sys/fs/resctrl/{0}/tasks",
                vm.name
            ));
        } else {
            let list: Vec<String> = pcpus.iter().map(u32::to_string).collect();
            let _ = writeln!(body, "echo {} > $root/{name}/cpus_list", list.join(","));
        }
    }
    for vm in &plan.vms {
        bandwidth(plan, vm, &mut part.missing);
    }
    part.left
        .push("bind the threads of the VCPUs to their CPUs: the plan's numbers stand here".into());
    part.left.push(
        "keep other programs of the host out of these ways: the host's own group has all".into(),
    );
    part.files.push(Draft::new("resctrl.sh", Comment::Hash { first: "#!/bin/sh" }, body));
    part
}

/// Contiguous ways for the colours of each VM, at least as much cache as they are. VMs with
/// the same colours share their ways; those without any have all ways.
fn ways(plan: &Plan, part: &mut Part) -> Option<Vec<Option<u64>>> {
    let geometry = colors::geometry(plan)?;
    let ways = geometry.cache().bytes() / geometry.cache().way_bytes();
    let mut given: Vec<(ColorSet, u64)> = Vec::new();
    let mut next = 0;
    for vm in &plan.vms {
        let Some(colors) = vm.colors() else { continue };
        if given.iter().any(|(other, _)| *other == colors) {
            continue;
        }
        if let Some((other, _)) = given.iter().find(|(other, _)| !other.is_disjoint(colors)) {
            part.impossible.push(format!(
                "colours {colors} of `{}` and {other} are partly the same, and ways of the cache \
                 cannot follow that",
                vm.name
            ));
            continue;
        }
        let share = u64::from(colors.len()) * ways;
        let need = share.div_ceil(geometry.colors().into());
        if !share.is_multiple_of(geometry.colors().into()) {
            part.missing.push(format!(
                "{} of {} colours of `{}`: it has {need} of {ways} ways, which is more",
                colors.len(),
                geometry.colors(),
                vm.name
            ));
        }
        let mask = 1u64.checked_shl(need as u32).map_or(u64::MAX, |bit| bit - 1);
        given.push((colors, mask.checked_shl(next as u32).unwrap_or(0)));
        next += need;
    }
    if next > ways {
        part.impossible.push(format!(
            "whole ways for the colours of all VMs are {next}, and the cache has {ways}"
        ));
    }
    if plan.platform.hypervisor_area.is_some() {
        part.missing.push("colours of the hypervisor: the host has all ways".into());
    }
    let mask = |vm: &Vm| {
        let colors = vm.colors()?;
        given.iter().find(|(other, _)| *other == colors).map(|(_, mask)| *mask)
    };
    Some(plan.vms.iter().map(mask).collect())
}

/// Returns the bandwidth of all VCPUs of a VM in whole megabytes per second, if it is limited and
/// the plan says how large an access is.
fn megabytes(plan: &Plan, vm: &Vm) -> Option<u64> {
    let access: Bytes = plan.platform.bandwidth_counter.as_ref()?.access?;
    let rate = match vm.memory_budget {
        Some(budget) => budget.rate(access).0,
        None => {
            let each = |vcpu: &system::plan::Vcpu| Some(vcpu.memory_budget?.rate(access).0);
            // One VCPU without a limit makes the VM one without.
            vm.vcpus.iter().map(each).try_fold(0u64, |sum, rate| Some(sum.saturating_add(rate?)))?
        }
    };
    Some((rate / MEGABYTE).max(1))
}

fn bandwidth(plan: &Plan, vm: &Vm, missing: &mut Vec<String>) {
    let limited =
        vm.memory_budget.is_some() || vm.vcpus.iter().any(|vcpu| vcpu.memory_budget.is_some());
    match megabytes(plan, vm) {
        Some(rate) => missing.push(format!(
            "a budget in each period for `{}`: {rate} MB/s are an aim that Linux corrects about \
             once a second, and it may be exceeded",
            vm.name
        )),
        None if limited => missing.push(format!(
            "the bandwidth of `{}`: the plan limits only some of its VCPUs, or does not say how \
             many bytes an access is",
            vm.name
        )),
        None => {}
    }
}
