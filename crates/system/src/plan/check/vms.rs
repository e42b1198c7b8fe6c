//! Rules of the VMs, apart from those about regions.

use abi::console::HYPERVISOR;
use abi::limits::{
    CPU_INTERFACE_BYTES, DISTRIBUTOR_BYTES, NAME_MAX, REDISTRIBUTOR_BYTES, WORD_BYTES,
};
use abi::plan::names;
use units::Bytes;

use super::Mistakes;
use crate::address::{IntId, Ipa};
use crate::plan::path::{link, serial_line, unit, vm};
use crate::plan::{Plan, VirtualGic, Vm};

/// Redistributor frames of one CPU.
pub(super) const GICR_PER_CPU: Bytes = Bytes(REDISTRIBUTOR_BYTES);
/// Frame of a GICv3 distributor.
const GICD: Bytes = Bytes(DISTRIBUTOR_BYTES);

pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    for (index, vm) in plan.vms.iter().enumerate() {
        name(plan, index, mistakes);
        interrupt_controller(plan, index, mistakes);
        interrupts(plan, index, vm, mistakes);
        compatible(index, vm, mistakes);
        boot(index, vm, mistakes);
    }
    host_interrupts(plan, mistakes);
}

/// The rule for names of VMs.
pub(crate) const NAME_HELP: &str = "use 1 to 15 characters out of a-z 0-9 - _, but not `bulkhead`";

/// Returns true if a text may name a VM.
pub fn is_name(text: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(fits) && text != HYPERVISOR
}

fn name(plan: &Plan, index: usize, mistakes: &mut Mistakes) {
    let name = &plan.vms[index].name;
    if !is_name(name) {
        let message = format!("`{}` cannot name a VM", name.escape_debug());
        mistakes.add(&vm(index), names::VM_NAME, message, NAME_HELP);
    }
    if let Some(first) = plan.vms[..index].iter().position(|other| other.name == *name) {
        let message = format!("`{}` is the name of {} too", name.escape_debug(), vm(first));
        mistakes.add(&vm(index), names::VM_NAME, message, "give each VM its own name");
    }
}

fn interrupt_controller(plan: &Plan, index: usize, mistakes: &mut Mistakes) {
    let one = &plan.vms[index];
    let (_, gicd) = one.gic.frames()[0];
    let node = format!("{}/{}", vm(index), unit(names::INTERRUPT_CONTROLLER, gicd.start.0));
    let (version, host) = (one.gic.version(), plan.platform.gic.version());
    if version != host {
        let message = format!("the VM has a GICv{version}, but the machine has a GICv{host}");
        mistakes.add(&node, names::COMPATIBLE, message, "give the VM the version of the machine");
    }
    if let VirtualGic::V2 { gicc, .. } = one.gic
        && gicc.size != Bytes(CPU_INTERFACE_BYTES)
    {
        let help = format!("give it {}: it is the GICV of the machine", Bytes(CPU_INTERFACE_BYTES));
        mistakes.add(&node, names::REG, format!("GICC has {}", gicc.size), &help);
    }
    if let VirtualGic::V3 { gicd, gicr } = one.gic {
        let needed = Bytes(GICR_PER_CPU.0 * one.vcpus.len() as u64);
        if gicr.size < needed {
            let message = format!("GICR has {}", gicr.size);
            let help = format!("{} VCPUs need {needed}: {GICR_PER_CPU} each", one.vcpus.len());
            mistakes.add(&node, names::REG, message, &help);
        }
        if gicd.size < GICD {
            let message = format!("GICD has {}", gicd.size);
            mistakes.add(&node, names::REG, message, &format!("give it {GICD}"));
        }
    }
}

/// Interrupts inside a VM are shared ones, and no two devices have the same.
fn interrupts(plan: &Plan, index: usize, one: &Vm, mistakes: &mut Mistakes) {
    let serials = [
        (names::SERIAL, &one.serial),
        (names::COLOR_SERIAL, &one.color_serial),
        (names::BELL, &one.bell),
    ];
    let serials = serials.into_iter().filter_map(|(name, serial)| {
        let serial = serial.as_ref()?;
        Some((unit(name, serial.registers.start.0), serial.interrupt))
    });
    let devices = one.devices.iter().filter_map(|device| {
        Some((unit(names::DEVICE, device.registers.ipa.0), device.interrupts?.guest))
    });
    let own = serials
        .chain(devices)
        .map(|(name, interrupt)| (format!("{}/{name}", vm(index)), names::INTERRUPTS, interrupt));
    let lines = plan.serial_lines_of(index);
    let lines = lines.map(|(it, end)| (serial_line(it), names::INTERRUPTS, it.interrupts[end]));
    let links = plan.links_of(index);
    let links = links.map(|(it, end)| (link(it), names::INTERRUPTS, it.interrupts[end]));
    unique_interrupts(own.chain(lines).chain(links), mistakes);
}

/// Checks that devices have `compatible` strings for the device tree of the guest.
fn compatible(index: usize, one: &Vm, mistakes: &mut Mistakes) {
    for device in &one.devices {
        let texts = &device.compatible;
        if texts.is_empty() || texts.iter().any(|text| text.is_empty() || text.contains('\0')) {
            let node = format!("{}/{}", vm(index), unit(names::DEVICE, device.registers.ipa.0));
            let help = "write what the device tree of the guest shall say, as in \"arm,pl031\"";
            mistakes.add(&node, names::COMPATIBLE, "there is no text, or one that is empty", help);
        }
    }
}

/// Interrupts of the machine belong to one device each.
fn host_interrupts(plan: &Plan, mistakes: &mut Mistakes) {
    let serial = &plan.platform.serial;
    let console = (
        format!("/platform/{}", unit(names::SERIAL, serial.registers.start.0)),
        names::INTERRUPTS,
        serial.interrupt,
    );
    let devices = plan.vms.iter().enumerate().flat_map(|(index, one)| {
        one.devices.iter().filter_map(move |device| {
            let node = format!("{}/{}", vm(index), unit(names::DEVICE, device.registers.ipa.0));
            Some((node, names::HOST_INTERRUPTS, device.interrupts?.host))
        })
    });
    let counter = plan.platform.bandwidth_counter.iter().flat_map(|counter| &counter.interrupts);
    let counter =
        counter.map(|it| ("/platform/bandwidth-counter".to_owned(), names::INTERRUPTS, *it));
    // These were checked with their platform: only clashes matter here.
    let platform = std::iter::once(console).chain(counter).filter(|(.., it)| it.is_shared());
    unique_interrupts(platform.chain(devices), mistakes);
}

fn unique_interrupts(
    users: impl Iterator<Item = (String, &'static str, IntId)>,
    mistakes: &mut Mistakes,
) {
    let mut taken: Vec<(IntId, String)> = Vec::new();
    for (node, property, interrupt) in users {
        if !interrupt.is_shared() {
            let message = format!("INTID {interrupt} is not a shared interrupt");
            mistakes.add(&node, property, message, "shared interrupts are 32 to 1019");
        } else if let Some((_, first)) = taken.iter().find(|(other, _)| *other == interrupt) {
            let message = format!("INTID {interrupt} belongs to {first} already");
            mistakes.add(&node, property, message, "give each device its own interrupt");
        } else {
            taken.push((interrupt, node));
        }
    }
}

fn boot(index: usize, one: &Vm, mistakes: &mut Mistakes) {
    let node = format!("{}/boot", vm(index));
    let entry = one.boot.entry;
    if !entry.0.is_multiple_of(4) {
        let message = format!("{entry} is not a multiple of 4");
        mistakes.add(&node, names::ENTRY, message, "instructions are 4 bytes long");
    }
    inside_ram(&node, names::ENTRY, entry, one, mistakes);
    if let Some(bootargs) = &one.boot.bootargs {
        mistakes.text(&node, names::BOOTARGS, bootargs);
    }
    let mut loads = vec![(names::KERNEL, one.boot.kernel.load)];
    loads.extend(one.boot.initrd.iter().map(|initrd| (names::INITRD, initrd.load)));
    loads.extend(one.boot.device_tree.iter().map(|load| (names::DEVICE_TREE, *load)));
    for (at, (name, load)) in loads.iter().enumerate() {
        let child = format!("{node}/{name}");
        inside_ram(&child, names::LOAD, *load, one, mistakes);
        if !load.0.is_multiple_of(WORD_BYTES) {
            let message = format!("{load} is not a multiple of {WORD_BYTES}");
            let help = format!("what is loaded is aligned to {WORD_BYTES} bytes");
            mistakes.add(&child, names::LOAD, message, &help);
        }
        if let Some((other, _)) = loads[..at].iter().find(|(_, before)| before == load) {
            let message = format!("{load} is where `{other}` is loaded");
            mistakes.add(&child, names::LOAD, message, "load each file at its own address");
        }
    }
    for (name, file) in
        [(names::KERNEL, Some(&one.boot.kernel)), (names::INITRD, one.boot.initrd.as_ref())]
    {
        let Some(file) = file else { continue };
        mistakes.text(&format!("{node}/{name}"), names::FILE, &file.file);
    }
}

fn inside_ram(node: &str, property: &str, at: Ipa, one: &Vm, mistakes: &mut Mistakes) {
    if !one.memory.iter().any(|map| map.ipa_region().has(at)) {
        let ram: Vec<String> = one.memory.iter().map(|map| map.ipa_region().to_string()).collect();
        let message = format!("{at} is not in the RAM of the VM");
        mistakes.add(node, property, message, &format!("its RAM is {}", ram.join(" and ")));
    }
}
