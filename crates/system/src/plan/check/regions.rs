//! Rules of regions: form, place, and overlaps.

use abi::limits::ADDRESS_END;
use abi::plan::names;

use units::Bytes;

use super::{Mistakes, PAGE};
use crate::address::{Address, Ipa, PhysicalAddress, Region};
use crate::plan::path::{channel, link, serial_line, unit, vm};
use crate::plan::{Frames, Plan, Vm};

/// A region and where it stands in the plan.
struct Named<A> {
    node: String,
    property: &'static str,
    region: Region<A>,
}

impl<A: Address> Named<A> {
    fn new(node: impl Into<String>, property: &'static str, region: Region<A>) -> Self {
        Self { node: node.into(), property, region }
    }

    /// Reports that it overlaps another.
    fn overlaps(&self, other: &Self, help: &str, mistakes: &mut Mistakes) {
        let message = format!("{} overlaps {} ({})", self.region, other.node, other.region);
        mistakes.add(&self.node, self.property, message, help);
    }
}

/// Checks all regions but those of RAM in the machine.
pub(super) fn check(plan: &Plan, mistakes: &mut Mistakes) {
    machine(plan, mistakes);
    for (index, one) in plan.vms.iter().enumerate() {
        guest(plan, index, one, mistakes);
    }
    devices(plan, mistakes);
}

/// Aligned, not empty, not beyond the end of the address space.
fn form<A: Address>(named: &Named<A>, mistakes: &mut Mistakes) {
    let Named { node, property, region } = named;
    let mut add = |message: String, help: &str| mistakes.add(node, property, message, help);
    if region.size == Bytes(0) {
        add("the region is empty".into(), "give it a size");
    }
    if !Bytes(region.start.get()).is_multiple_of(PAGE) {
        add(format!("{} is not aligned", region.start), "start at a multiple of 4 KiB");
    }
    if region.end().get() > ADDRESS_END {
        add(format!("{region} does not lie below 2^39"), "addresses have 39 bits: move it down");
    }
    if !region.size.is_multiple_of(PAGE) {
        add(format!("{} is not a whole number of pages", region.size), "use a multiple of 4 KiB");
    }
}

/// Each region must be apart from those before it.
fn apart<A: Address>(regions: &[Named<A>], help: &str, mistakes: &mut Mistakes) {
    for (index, one) in regions.iter().enumerate() {
        for before in regions[..index].iter().filter(|other| other.region.overlaps(&one.region)) {
            one.overlaps(before, help, mistakes);
        }
    }
}

fn banks(plan: &Plan) -> Vec<Named<PhysicalAddress>> {
    let name = |bank: &Region<PhysicalAddress>| {
        Named::new(format!("/platform/{}", unit(names::MEMORY, bank.start.0)), names::REG, *bank)
    };
    plan.platform.memory.iter().map(name).collect()
}

/// Registers that belong to the hypervisor.
fn own_registers(plan: &Plan) -> Vec<Named<PhysicalAddress>> {
    let frames = plan.platform.gic.frames();
    let gic = format!("/platform/{}", unit(names::INTERRUPT_CONTROLLER, frames[0].1.start.0));
    let serial = plan.platform.serial.registers;
    let console = format!("/platform/{}", unit(names::SERIAL, serial.start.0));
    let mut registers: Vec<_> =
        frames.into_iter().map(|(_, region)| Named::new(gic.clone(), names::REG, region)).collect();
    registers.push(Named::new(console, names::REG, serial));
    if let Some(device) = plan.platform.power_off {
        let node = format!("/platform/{}", unit(names::POWER_OFF, device.registers.start.0));
        registers.push(Named::new(node, names::REG, device.registers));
    }
    registers
}

fn hypervisor(plan: &Plan) -> Named<PhysicalAddress> {
    let region = plan.platform.hypervisor;
    Named::new(format!("/platform/{}", unit(names::HYPERVISOR, region.start.0)), names::REG, region)
}

fn machine(plan: &Plan, mistakes: &mut Mistakes) {
    let hypervisor = hypervisor(plan);
    let mut all = banks(plan);
    if all.is_empty() {
        mistakes.add("/platform", "", "the machine has no memory", "add a node `memory@address`");
    }
    let count = all.len();
    all.extend(own_registers(plan));
    apart(&all, "correct one of the two", mistakes);
    for one in all.iter().chain([&hypervisor]) {
        form(one, mistakes);
    }
    in_one_bank(&hypervisor, &all[..count], mistakes);
}

fn in_one_bank(
    one: &Named<PhysicalAddress>,
    banks: &[Named<PhysicalAddress>],
    mistakes: &mut Mistakes,
) {
    if !banks.iter().any(|bank| bank.region.contains(&one.region)) {
        let shown: Vec<String> = banks.iter().map(|bank| bank.region.to_string()).collect();
        let help = format!("the machine has RAM at {}", shown.join(" and "));
        let message = format!("{} does not lie in one bank of memory", one.region);
        mistakes.add(&one.node, one.property, message, &help);
    }
}

/// The address space of one VM.
fn guest(plan: &Plan, index: usize, one: &Vm, mistakes: &mut Mistakes) {
    let named = |name: &str, region: Region<Ipa>| {
        Named::new(format!("{}/{}", vm(index), unit(name, region.start.0)), names::REG, region)
    };
    let mut all: Vec<_> =
        one.memory.iter().map(|map| named(names::MEMORY, map.ipa_region())).collect();
    if all.is_empty() {
        mistakes.add(&vm(index), "", "the VM has no memory", "add a node `memory@address`");
    }
    let [(_, gicd), (_, second)] = one.gic.frames();
    let gic = format!("{}/{}", vm(index), unit(names::INTERRUPT_CONTROLLER, gicd.start.0));
    all.extend([gicd, second].map(|frame| Named::new(gic.clone(), names::REG, frame)));
    all.extend(one.serial.iter().map(|serial| named(names::SERIAL, serial.registers)));
    all.extend(one.pool.iter().map(|pool| named(names::COLORING, pool.doorbell)));
    all.extend(one.color_serial.iter().map(|serial| named(names::COLOR_SERIAL, serial.registers)));
    all.extend(one.bell.iter().map(|bell| named(names::BELL, bell.registers)));
    all.extend(
        one.devices.iter().map(|device| named(names::DEVICE, device.registers.ipa_region())),
    );
    let channels = plan.channels_of(index).into_iter();
    all.extend(
        channels.map(|(_, it, _)| Named::new(channel(it), names::REG, it.memory.ipa_region())),
    );
    let lines = plan.serial_lines_of(index);
    all.extend(lines.map(|(it, _)| Named::new(serial_line(it), names::REG, it.registers)));
    let links = plan.links_of(index);
    all.extend(links.map(|(it, _)| Named::new(link(it), names::REG, it.registers)));
    for region in &all {
        form(region, mistakes);
    }
    apart(&all, "move one of the two", mistakes);
}

/// Returns all frames that have an owner, but those in which the hypervisor is loaded.
fn owned(plan: &Plan) -> Vec<(Named<PhysicalAddress>, Frames)> {
    let mut all = Vec::new();
    let mut add = |node: String, frames: Frames| {
        all.push((Named::new(node, names::HOST_REG, frames.region), frames));
    };
    if let Some(area) = plan.platform.hypervisor_area {
        add(hypervisor(plan).node, area.into());
    }
    for (index, one) in plan.vms.iter().enumerate() {
        for memory in &one.memory {
            add(format!("{}/{}", vm(index), unit(names::MEMORY, memory.ipa.0)), memory.frames());
        }
        if let Some(pool) = one.pool {
            let node = unit(names::COLORING, pool.doorbell.start.0);
            add(format!("{}/{node}", vm(index)), pool.area.into());
        }
    }
    for it in &plan.channels {
        add(channel(it), Frames { region: it.memory.host_region(), colors: None });
    }
    all
}

/// Checks that the RAM of VMs lies in banks, outside the hypervisor, and is not shared; the same
/// for channels, the areas of pools, and that of the hypervisor.
pub(super) fn ram(plan: &Plan, mistakes: &mut Mistakes) {
    let (banks, hypervisor, all) = (banks(plan), hypervisor(plan), owned(plan));
    for (index, (one, frames)) in all.iter().enumerate() {
        if !Bytes(one.region.start.get()).is_multiple_of(PAGE) {
            let message = format!("{} is not aligned", one.region.start);
            mistakes.add(&one.node, one.property, message, "start at a multiple of 4 KiB");
        }
        in_one_bank(one, &banks, mistakes);
        if hypervisor.region.overlaps(&one.region) {
            one.overlaps(&hypervisor, "move one of the two", mistakes);
        }
        for (before, other) in all[..index].iter().filter(|(_, it)| it.overlap(frames)) {
            let help = match frames.colors.zip(other.colors) {
                Some((a, b)) => {
                    format!("they have colours in common ({}): move one of the two", a & b)
                }
                None => "move one of the two".into(),
            };
            one.overlaps(before, &help, mistakes);
        }
    }
}

/// Assigned devices are neither RAM nor used by the hypervisor, and no page
/// of them belongs to two VMs.
fn devices(plan: &Plan, mistakes: &mut Mistakes) {
    let mut all = banks(plan);
    all.extend(own_registers(plan));
    let own = all.len();
    for (index, one) in plan.vms.iter().enumerate() {
        for device in &one.devices {
            let node = format!("{}/{}", vm(index), unit(names::DEVICE, device.registers.ipa.0));
            all.push(Named::new(node.clone(), names::HOST_REG, device.registers.host_region()));
            if !Bytes(device.registers.host.0).is_multiple_of(PAGE) {
                let message = format!("{} is not aligned", device.registers.host);
                mistakes.add(&node, names::HOST_REG, message, "start at a multiple of 4 KiB");
            }
            if device.registers.host_region().end().0 > ADDRESS_END {
                let message = format!("{} does not lie below 2^39", device.registers.host_region());
                mistakes.add(&node, names::HOST_REG, message, "addresses have 39 bits: correct it");
            }
        }
    }
    for (index, one) in all.iter().enumerate().skip(own) {
        for before in all[..index].iter().filter(|other| other.region.overlaps(&one.region)) {
            one.overlaps(before, "a device has one owner", mistakes);
        }
    }
}
