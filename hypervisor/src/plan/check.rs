//! What must hold in a plan ("What must hold" in `docs/reference/plan.md`), apart
//! from what the types of [`super`] rule out already.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{MAX_CPUS, Plan, PlanError, Range, Vm};
use crate::arch::page_table::ADDRESS_END;

/// Bytes of the redistributor frames of one VCPU.
const REDISTRIBUTOR_BYTES: u64 = 0x2_0000;
/// Bytes of a distributor.
const DISTRIBUTOR_BYTES: u64 = 0x1_0000;

fn error(node: &str, property: &'static str, problem: String) -> PlanError {
    PlanError { node: node.into(), property: Some(property), problem }
}

/// Checks the plan; `blob_bytes` tells the size of a blob of the image, if there is one.
pub fn check(plan: &Plan, blob_bytes: impl Fn(&str) -> Option<u64>) -> Result<(), PlanError> {
    platform(plan)?;
    if plan.vms.is_empty() || plan.vms.len() > MAX_CPUS {
        let problem = format!("{} VMs, expected 1 to {MAX_CPUS}", plan.vms.len());
        return Err(PlanError { node: "/vms".into(), property: None, problem });
    }
    let mut ram: Vec<(Range, &str)> = Vec::new();
    let mut device_pages: Vec<(Range, &str)> = reserved(plan);
    let mut device_interrupts: Vec<(u32, &str)> =
        [(plan.platform.serial.interrupt, "the console")].into();
    let mut pcpus: Vec<(usize, &str)> = Vec::new();
    for (index, vm) in plan.vms.iter().enumerate() {
        if plan.vms[..index].iter().any(|other| other.name == vm.name) {
            return Err(error(&vm.node, "vm-name", format!("two VMs are called {}", vm.name)));
        }
        vcpus(plan, vm, &mut pcpus)?;
        memory(plan, vm, &mut ram)?;
        devices(plan, vm, &mut device_pages, &mut device_interrupts)?;
        guest_layout(vm)?;
        loads(vm, &blob_bytes)?;
    }
    Ok(())
}

fn platform(plan: &Plan) -> Result<(), PlanError> {
    let platform = &plan.platform;
    for (index, bank) in platform.memory.iter().enumerate() {
        if platform.memory[..index].iter().any(|other| other.overlaps(*bank)) {
            return Err(error("/platform/memory", "reg", format!("banks overlap at {bank}")));
        }
    }
    if !platform.memory.iter().any(|bank| bank.contains(platform.hypervisor)) {
        let problem = format!("{} does not lie in one memory bank", platform.hypervisor);
        return Err(error("/platform/hypervisor", "reg", problem));
    }
    for range in device_ranges(plan) {
        if range.end() > ADDRESS_END {
            let problem = format!("{range} lies beyond {ADDRESS_END:#x}");
            return Err(PlanError { node: "/platform".into(), property: None, problem });
        }
    }
    if platform.memory.iter().any(|bank| bank.end() > ADDRESS_END) {
        return Err(error("/platform/memory", "reg", format!("lies beyond {ADDRESS_END:#x}")));
    }
    let redistributors = platform.cpus.len() as u64 * REDISTRIBUTOR_BYTES;
    if platform.gic.redistributors.bytes < redistributors {
        let problem = format!("the redistributors of all CPUs need {redistributors:#x} bytes");
        return Err(error("/platform/interrupt-controller", "reg", problem));
    }
    Ok(())
}

fn device_ranges(plan: &Plan) -> [Range; 3] {
    let platform = &plan.platform;
    [platform.gic.distributor, platform.gic.redistributors, platform.serial.registers]
}

fn reserved(plan: &Plan) -> Vec<(Range, &str)> {
    let owners = ["the interrupt controller", "the interrupt controller", "the console"];
    device_ranges(plan).into_iter().zip(owners).collect()
}

fn vcpus<'a>(plan: &Plan, vm: &'a Vm, taken: &mut Vec<(usize, &'a str)>) -> Result<(), PlanError> {
    for (index, &pcpu) in vm.vcpus.iter().enumerate() {
        let node = format!("{}/vcpus/vcpu@{index}", vm.node);
        let cpus = plan.platform.cpus.len();
        if pcpu >= cpus {
            let problem = format!("is {pcpu}, but the platform has PCPUs 0 to {}", cpus - 1);
            return Err(error(&node, "pcpu", problem));
        }
        if let Some((_, owner)) = taken.iter().find(|(other, _)| *other == pcpu) {
            let problem = format!("PCPU {pcpu} runs a VCPU of {owner} already");
            return Err(error(&node, "pcpu", problem));
        }
        taken.push((pcpu, &vm.name));
    }
    Ok(())
}

fn memory<'a>(plan: &Plan, vm: &'a Vm, taken: &mut Vec<(Range, &'a str)>) -> Result<(), PlanError> {
    if vm.memory.is_empty() {
        let problem = "node memory is missing".into();
        return Err(PlanError { node: vm.node.clone(), property: None, problem });
    }
    for region in &vm.memory {
        let node = format!("{}/memory@{:x}", vm.node, region.guest.start);
        let host = region.host_range();
        if !plan.platform.memory.iter().any(|bank| bank.contains(host)) {
            return Err(error(
                &node,
                "host-reg",
                format!("{host} does not lie in one memory bank"),
            ));
        }
        if host.overlaps(plan.platform.hypervisor) {
            let problem = format!("{host} overlaps the hypervisor at {}", plan.platform.hypervisor);
            return Err(error(&node, "host-reg", problem));
        }
        if let Some((other, owner)) = taken.iter().find(|(other, _)| other.overlaps(host)) {
            let problem = format!("{host} overlaps the memory of {owner} at {other}");
            return Err(error(&node, "host-reg", problem));
        }
        taken.push((host, &vm.name));
    }
    Ok(())
}

fn devices<'a>(
    plan: &Plan,
    vm: &'a Vm,
    pages: &mut Vec<(Range, &'a str)>,
    interrupts: &mut Vec<(u32, &'a str)>,
) -> Result<(), PlanError> {
    for device in &vm.devices {
        let node = format!("{}/device@{:x}", vm.node, device.registers.guest.start);
        let host = device.registers.host_range();
        if host.end() > ADDRESS_END {
            return Err(error(&node, "host-reg", format!("{host} lies beyond {ADDRESS_END:#x}")));
        }
        if let Some(bank) = plan.platform.memory.iter().find(|bank| bank.overlaps(host)) {
            return Err(error(&node, "host-reg", format!("{host} is RAM ({bank}), not a device")));
        }
        if let Some((other, owner)) = pages.iter().find(|(other, _)| other.overlaps(host)) {
            let problem = format!("{host} overlaps {other}, which belongs to {owner}");
            return Err(error(&node, "host-reg", problem));
        }
        pages.push((host, &vm.name));
        for &(_, interrupt) in &device.interrupts {
            if let Some((_, owner)) = interrupts.iter().find(|(other, _)| *other == interrupt) {
                let problem = format!("interrupt {interrupt} belongs to {owner} already");
                return Err(error(&node, "host-interrupts", problem));
            }
            interrupts.push((interrupt, &vm.name));
        }
    }
    Ok(())
}

/// Everything that the guest sees, with the node it comes from.
fn guest_ranges(vm: &Vm) -> Vec<(Range, String)> {
    let memory = vm.memory.iter().map(|region| (region.guest, "memory"));
    let devices = vm.devices.iter().map(|device| (device.registers.guest, "device"));
    let gic =
        [vm.gic.distributor, vm.gic.redistributors].map(|range| (range, "interrupt-controller"));
    let serial = vm.serial.iter().map(|(range, _)| (*range, "serial"));
    memory
        .chain(devices)
        .chain(gic)
        .chain(serial)
        .map(|(range, name)| (range, format!("{}/{name}@{:x}", vm.node, range.start)))
        .collect()
}

fn guest_layout(vm: &Vm) -> Result<(), PlanError> {
    let ranges = guest_ranges(vm);
    for (index, (range, node)) in ranges.iter().enumerate() {
        if range.end() > ADDRESS_END {
            return Err(error(node, "reg", format!("{range} lies beyond {ADDRESS_END:#x}")));
        }
        if let Some((other, owner)) =
            ranges[..index].iter().find(|(other, _)| other.overlaps(*range))
        {
            return Err(error(node, "reg", format!("{range} overlaps {other} of {owner}")));
        }
    }
    let node = format!("{}/interrupt-controller", vm.node);
    let redistributors = vm.vcpus.len() as u64 * REDISTRIBUTOR_BYTES;
    if vm.gic.distributor.bytes < DISTRIBUTOR_BYTES || vm.gic.redistributors.bytes < redistributors
    {
        let problem = format!("needs {DISTRIBUTOR_BYTES:#x} and {redistributors:#x} bytes");
        return Err(error(&node, "reg", problem));
    }
    let mut interrupts: Vec<u32> = vm.serial.iter().map(|(_, interrupt)| *interrupt).collect();
    for device in &vm.devices {
        for &(interrupt, _) in &device.interrupts {
            if interrupts.contains(&interrupt) {
                let node = format!("{}/device@{:x}", vm.node, device.registers.guest.start);
                return Err(error(
                    &node,
                    "interrupts",
                    format!("interrupt {interrupt} is used twice"),
                ));
            }
            interrupts.push(interrupt);
        }
    }
    Ok(())
}

fn loads(vm: &Vm, blob_bytes: &impl Fn(&str) -> Option<u64>) -> Result<(), PlanError> {
    let boot = format!("{}/boot", vm.node);
    let in_ram = |start: u64, bytes: u64| {
        start.checked_add(bytes).is_some_and(|end| {
            vm.memory.iter().any(|region| region.guest.start <= start && end <= region.guest.end())
        })
    };
    let mut taken: Vec<(Range, &str)> = Vec::new();
    for load in &vm.boot.loads {
        let node = format!("{boot}/{}", load.blob.rsplit('/').next().unwrap_or_default());
        let Some(bytes) = blob_bytes(&load.blob) else {
            let problem = format!("the image has no blob {}", load.blob);
            return Err(PlanError { node, property: None, problem });
        };
        let aligned = load.address % 8 == 0;
        if !aligned || !in_ram(load.address, bytes) {
            let problem = format!(
                "{bytes:#x} bytes at {:#x} do not lie in the memory of the VM (8-byte aligned)",
                load.address
            );
            return Err(error(&node, "load", problem));
        }
        let range = Range { start: load.address, bytes };
        if let Some((other, owner)) = taken.iter().find(|(other, _)| other.overlaps(range)) {
            return Err(error(&node, "load", format!("{range} overlaps {owner} at {other}")));
        }
        taken.push((range, &load.blob));
    }
    if !vm.boot.entry.is_multiple_of(4) || !in_ram(vm.boot.entry, 4) {
        let problem = format!("{:#x} is not an instruction in the memory of the VM", vm.boot.entry);
        return Err(error(&boot, "entry", problem));
    }
    Ok(())
}
