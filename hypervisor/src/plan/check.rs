//! Checks of the rules for a plan ("What must hold" in `docs/reference/plan.md`), apart
//! from those that the types of [`super`] enforce already.
//!
//! The lists are short: each thing that must not overlap is compared with all things
//! before it.

use abi::limits::{CPU_INTERFACE_BYTES, DISTRIBUTOR_BYTES, REDISTRIBUTOR_BYTES, WORD_BYTES};
use abi::plan::names;

use super::server::WHOLE;
use super::{Gic, MAX_CPUS, Plan, Problem, Ram, Range, Refusal, Server, Vcpu, Vm};
use crate::arch::page_table::{ADDRESS_END, PAGE_BYTES};
use crate::payload::BlobName;

/// Tells the size of a blob of the image, if there is one of this name.
type BlobBytes<'f> = &'f dyn Fn(&BlobName<'_>) -> Option<u64>;

/// Checks the plan; `blob_bytes` tells the size of a blob of the image, if there is one.
#[inline(never)]
pub fn check<'a>(plan: &Plan<'a>, blob_bytes: BlobBytes<'_>) -> Result<(), Refusal<'a>> {
    platform(plan)?;
    if plan.vms.is_empty() || plan.vms.len() > MAX_CPUS {
        let problem = Problem::Count(plan.vms.len(), "VMs");
        return Err(plan.root.nth(names::VMS, 0).node_error(problem));
    }
    for (index, vm) in plan.vms.iter().enumerate() {
        if plan.vms.iter().take(index).any(|other| other.name == vm.name) {
            return Err(vm.node.error(names::VM_NAME, Problem::SameName(vm.name)));
        }
        if vm.cache_share.is_some() && plan.platform.llc.is_some_and(|llc| !llc.in_registers) {
            let problem = Problem::Text("needs a cache that the CPU's registers describe");
            return Err(vm.node.error(names::VLLC, problem));
        }
        vcpus(plan, index, vm)?;
        if vm.is_compensated() && (vm.critical || !plan.vms.iter().any(|vm| vm.critical)) {
            let problem = Problem::Text("needs another VM that is critical, and this one not");
            return Err(vm.node.error(names::COMPENSATION, problem));
        }
        memory(plan, index, vm)?;
        devices(plan, index, vm)?;
        guest_layout(vm)?;
        guest_interrupts(vm)?;
        loads(vm, blob_bytes)?;
    }
    channels(plan)
}

fn platform<'a>(plan: &Plan<'a>) -> Result<(), Refusal<'a>> {
    let node = plan.root.nth(names::PLATFORM, 0);
    let platform = &plan.platform;
    for (index, bank) in platform.memory.iter().enumerate() {
        let problem = if let Some(other) =
            platform.memory.iter().take(index).find(|other| other.overlaps(*bank))
        {
            Problem::OverlapNode(*bank, *other, node)
        } else if bank.end() > ADDRESS_END {
            Problem::Beyond(*bank)
        } else {
            continue;
        };
        return Err(node.nth(names::MEMORY, index).error(names::REG, problem));
    }
    let hypervisor = node.nth(names::HYPERVISOR, 0);
    if !in_one_bank(plan, platform.hypervisor) {
        return Err(hypervisor.error(names::REG, Problem::NotInBank(platform.hypervisor)));
    }
    if let Some(Ram { host, guest: loaded, .. }) = platform.own {
        let problem = if !in_one_bank(plan, host) {
            Some(Problem::NotInBank(host))
        } else if host.overlaps(loaded) {
            Some(Problem::OverlapNode(host, loaded, hypervisor))
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(hypervisor.error(names::HOST_REG, problem));
        }
    }
    for (range, _, name) in machine_devices(plan) {
        if range.end() > ADDRESS_END {
            return Err(node.nth(name, 0).error(names::REG, Problem::Beyond(range)));
        }
    }
    for (index, &start) in platform.spin_table.iter().enumerate() {
        let page = Range { start: start & !(PAGE_BYTES - 1), bytes: PAGE_BYTES };
        let own = platform.hypervisor.contains(page);
        if page.start >= ADDRESS_END || !own && platform.memory.iter().any(|it| it.overlaps(page)) {
            let problem = Problem::Text("must lie in the memory of the hypervisor, or in no bank");
            let cpu = node.nth(names::CPUS, 0).nth(names::CPU, index);
            return Err(cpu.error(names::CPU_RELEASE_ADDR, problem));
        }
    }
    let problem = match platform.gic {
        Gic::V3 { redistributors, .. } => {
            let needed = platform.cpus.len() as u64 * REDISTRIBUTOR_BYTES;
            (redistributors.bytes < needed).then_some(Problem::Redistributors(needed))
        }
        Gic::V2 { cpu, guest, .. } => (cpu.bytes.min(guest.bytes) < CPU_INTERFACE_BYTES)
            .then_some(Problem::CpuInterface(CPU_INTERFACE_BYTES)),
    };
    match problem {
        Some(problem) => Err(node.nth(names::INTERRUPT_CONTROLLER, 0).error(names::REG, problem)),
        None => Ok(()),
    }
}

fn in_one_bank(plan: &Plan<'_>, range: Range) -> bool {
    plan.platform.memory.iter().any(|bank| bank.contains(range))
}

/// The devices that the hypervisor drives: the registers, the description and the node of each.
fn machine_devices(plan: &Plan<'_>) -> impl Iterator<Item = (Range, &'static str, &'static str)> {
    let gic = |frame| (frame, "the interrupt controller", names::INTERRUPT_CONTROLLER);
    let serial = (plan.platform.serial.registers, "the console", names::SERIAL);
    let power = |device| (device, "the power management", names::POWER_OFF);
    let others = plan.platform.power_off.map(power).into_iter().chain([serial]);
    plan.platform.gic.frames(false).map(gic).chain(others)
}

fn vcpus<'a>(plan: &Plan<'a>, index: usize, vm: &Vm<'a>) -> Result<(), Refusal<'a>> {
    let cpus = plan.platform.cpus.len();
    for (number, vcpu) in vm.vcpus.iter().enumerate() {
        let (property, problem) = if vcpu.pcpu >= cpus {
            (names::PCPU, Problem::NoPcpu(vcpu.pcpu, cpus))
        } else if let Some(conflict) = beside_others(plan, (index, number), vcpu) {
            conflict
        } else {
            continue;
        };
        return Err(vm.node.nth(names::VCPUS, 0).nth(names::VCPU, number).error(property, problem));
    }
    Ok(())
}

/// Returns the reason why this VCPU, at this place (VM, VCPU), cannot run beside those before it on the
/// same PCPU.
fn beside_others<'a>(
    plan: &Plan<'a>,
    place: (usize, usize),
    vcpu: &Vcpu,
) -> Option<(&'static str, Problem<'a>)> {
    let mut parts = vcpu.server.map_or(0, Server::part);
    for (vm, owner) in plan.vms.iter().enumerate().take(place.0 + 1) {
        let before = if vm == place.0 { place.1 } else { owner.vcpus.len() };
        for other in owner.vcpus.iter().take(before).filter(|other| other.pcpu == vcpu.pcpu) {
            let (Some(own), Some(other)) = (vcpu.server, other.server) else {
                return Some((names::PCPU, Problem::PcpuTaken(vcpu.pcpu, owner.name)));
            };
            if own.priority == other.priority {
                return Some((
                    names::PRIORITY,
                    Problem::PriorityTaken(own.priority.into(), owner.name),
                ));
            }
            if own.is_background() != other.is_background()
                && own.is_background() == (own.priority > other.priority)
            {
                let text = "puts a background VCPU above one with a budget";
                return Some((names::PRIORITY, Problem::Text(text)));
            }
            parts += other.part();
        }
    }
    let text = "is more than the VCPUs before leave of the PCPU";
    (parts > WHOLE).then_some((names::BUDGET_NS, Problem::Text(text)))
}

fn memory<'a>(plan: &Plan<'a>, index: usize, vm: &Vm<'a>) -> Result<(), Refusal<'a>> {
    if vm.memory.is_empty() {
        return Err(vm.node.node_error(Problem::MissingNode(names::MEMORY)));
    }
    for (number, region) in vm.areas().enumerate() {
        let (host, is_ram) = (region.host, number < vm.memory.len());
        if is_ram && region.colors.is_none() && plan.platform.own.is_some() {
            let problem = Problem::Text("is missing, but the hypervisor has colours of its own");
            return Err(vm.node.nth(names::MEMORY, number).error(names::COLORS, problem));
        }
        let needed = match is_ram {
            true => vm.colored().map_or(0, |(_, area)| area.frames()),
            false => region.pages(),
        };
        let problem = if !in_one_bank(plan, host) {
            Problem::NotInBank(host)
        } else if host.overlaps(plan.platform.hypervisor) {
            Problem::Overlap(host, plan.platform.hypervisor, "the hypervisor")
        } else if let Some(own) = plan.platform.own.filter(|own| own.overlaps(region)) {
            Problem::Overlap(host, own.host, "the hypervisor")
        } else if let Some((other, owner)) = memory_before(plan, index, number, region) {
            Problem::Overlap(host, other, owner)
        } else if region.colors.is_some() && vm.memory.len() > 1 {
            Problem::Text("a VM with colours has one region of RAM")
        } else if region.colors.is_some() && region.frames() < needed {
            Problem::Frames(region.frames(), needed)
        } else {
            continue;
        };
        let node = match is_ram {
            true => vm.node.nth(names::MEMORY, number),
            false => vm.node.nth(names::COLORING, 0),
        };
        return Err(node.error(names::HOST_REG, problem));
    }
    Ok(())
}

/// The memory of channels belongs to nobody else.
fn channels<'a>(plan: &Plan<'a>) -> Result<(), Refusal<'a>> {
    for (number, channel) in plan.channels.iter().enumerate() {
        let (ram, host) = (&channel.ram, channel.ram.host);
        let before = plan.channels.iter().take(number);
        let problem = if !in_one_bank(plan, host) {
            Problem::NotInBank(host)
        } else if host.overlaps(plan.platform.hypervisor) {
            Problem::Overlap(host, plan.platform.hypervisor, "the hypervisor")
        } else if let Some(own) = plan.platform.own.filter(|own| own.overlaps(ram)) {
            Problem::Overlap(host, own.host, "the hypervisor")
        } else if let Some((other, owner)) = memory_before(plan, plan.vms.len(), 0, ram) {
            Problem::Overlap(host, other, owner)
        } else if let Some(other) = before.into_iter().find(|it| it.ram.overlaps(ram)) {
            Problem::OverlapNode(host, other.ram.host, other.node)
        } else {
            continue;
        };
        return Err(channel.node.error(names::HOST_REG, problem));
    }
    Ok(())
}

/// An area that shares frames with this one and belongs to a VM before this one, or to this one
/// before this area.
fn memory_before<'a>(
    plan: &Plan<'a>,
    vm: usize,
    number: usize,
    region: &Ram,
) -> Option<(Range, &'a str)> {
    for (index, other) in plan.vms.iter().enumerate().take(vm + 1) {
        let count = if index == vm { number } else { usize::MAX };
        for before in other.areas().take(count) {
            if before.overlaps(region) {
                return Some((before.host, other.name));
            }
        }
    }
    None
}

fn devices<'a>(plan: &Plan<'a>, index: usize, vm: &Vm<'a>) -> Result<(), Refusal<'a>> {
    for (number, device) in vm.devices.iter().enumerate() {
        let host = device.registers.host_range();
        let problem = if host.end() > ADDRESS_END {
            Problem::Beyond(host)
        } else if let Some(bank) = plan.platform.memory.iter().find(|bank| bank.overlaps(host)) {
            Problem::IsRam(host, *bank)
        } else if let Some((other, owner)) = registers_before(plan, index, number, host) {
            Problem::Overlap(host, other, owner)
        } else {
            for (position, &(_, interrupt)) in device.interrupts.iter().enumerate() {
                let place = (index, number, position);
                if let Some(owner) = interrupt_owner_before(plan, place, interrupt) {
                    let problem = Problem::InterruptTaken(interrupt.into(), owner);
                    return Err(vm
                        .node
                        .nth(names::DEVICE, number)
                        .error(names::HOST_INTERRUPTS, problem));
                }
            }
            continue;
        };
        return Err(vm.node.nth(names::DEVICE, number).error(names::HOST_REG, problem));
    }
    Ok(())
}

/// Registers that overlap `host` and belong to the hypervisor, to a VM before this
/// one, or to this one before this device.
fn registers_before<'a>(
    plan: &Plan<'a>,
    vm: usize,
    device: usize,
    host: Range,
) -> Option<(Range, &'a str)> {
    for (range, owner, _) in machine_devices(plan) {
        if range.overlaps(host) {
            return Some((range, owner));
        }
    }
    for (index, other) in plan.vms.iter().enumerate().take(vm + 1) {
        let count = if index == vm { device } else { other.devices.len() };
        for taken in other.devices.iter().take(count) {
            if taken.registers.host_range().overlaps(host) {
                return Some((taken.registers.host_range(), other.name));
            }
        }
    }
    None
}

/// The owner of this interrupt: the console, the counter, or the VM of a device before this place
/// (VM, device, position).
fn interrupt_owner_before<'a>(
    plan: &Plan<'a>,
    place: (usize, usize, usize),
    interrupt: u32,
) -> Option<&'a str> {
    if interrupt == plan.platform.serial.interrupt {
        return Some("the console");
    }
    let counter = plan.platform.counter.as_ref();
    if counter.is_some_and(|counter| counter.interrupts.contains(&interrupt)) {
        return Some("the counter of memory accesses");
    }
    for (vm, other) in plan.vms.iter().enumerate() {
        for (device, taken) in other.devices.iter().enumerate() {
            for (position, &(_, host)) in taken.interrupts.iter().enumerate() {
                if (vm, device, position) >= place {
                    return None;
                }
                if host == interrupt {
                    return Some(other.name);
                }
            }
        }
    }
    None
}

/// The `index`-th thing that the guest sees: where, and its node (name and number).
fn guest_range(vm: &Vm<'_>, mut index: usize) -> Option<(Range, &'static str, usize)> {
    if let Some(region) = vm.memory.get(index) {
        return Some((region.guest, names::MEMORY, index));
    }
    index -= vm.memory.len();
    if let Some(device) = vm.devices.get(index) {
        return Some((device.registers.guest, names::DEVICE, index));
    }
    index -= vm.devices.len();
    if let Some(channel) = vm.channels.get(index) {
        return Some((channel.memory.guest, names::CHANNEL, index));
    }
    index -= vm.channels.len();
    if let Some(end) = vm.serial_lines.get(index) {
        return Some((end.registers, names::SERIAL_LINE, index));
    }
    index -= vm.serial_lines.len();
    if let Some(end) = vm.links.get(index) {
        return Some((end.registers, names::LINK, index));
    }
    let rest = [
        Some((vm.gic.frames()[0], names::INTERRUPT_CONTROLLER, 0)),
        Some((vm.gic.frames()[1], names::INTERRUPT_CONTROLLER, 0)),
        vm.serial.map(|(range, _)| (range, names::SERIAL, 0)),
        vm.coloring.map(|coloring| (coloring.doorbell, names::COLORING, 0)),
        vm.color_serial.map(|(range, _)| (range, names::COLOR_SERIAL, 0)),
        vm.bell.map(|(range, _)| (range, names::BELL, 0)),
    ];
    rest.into_iter().flatten().nth(index - vm.links.len())
}

fn guest_layout<'a>(vm: &Vm<'a>) -> Result<(), Refusal<'a>> {
    let mut index = 0;
    while let Some((range, name, number)) = guest_range(vm, index) {
        let error = |problem| Err(vm.node.nth(name, number).error(names::REG, problem));
        if range.end() > ADDRESS_END {
            return error(Problem::Beyond(range));
        }
        for before in 0..index {
            let Some((other, name, number)) = guest_range(vm, before) else { break };
            if other.overlaps(range) {
                return error(Problem::OverlapNode(range, other, vm.node.nth(name, number)));
            }
        }
        index += 1;
    }
    let [distributor, other] = vm.gic.frames().map(|frame| frame.bytes);
    let (first, second, right) = match vm.gic.cpu {
        None => {
            let redistributors = vm.vcpus.len() as u64 * REDISTRIBUTOR_BYTES;
            (DISTRIBUTOR_BYTES, redistributors, other >= redistributors)
        }
        // The machine's lies behind it.
        Some(_) => (PAGE_BYTES, CPU_INTERFACE_BYTES, other == CPU_INTERFACE_BYTES),
    };
    if distributor < first || !right {
        let problem = Problem::GicFrames(first, second);
        return Err(vm.node.nth(names::INTERRUPT_CONTROLLER, 0).error(names::REG, problem));
    }
    Ok(())
}

fn guest_interrupts<'a>(vm: &Vm<'a>) -> Result<(), Refusal<'a>> {
    let emulated = [
        (names::SERIAL, vm.serial),
        (names::COLOR_SERIAL, vm.color_serial),
        (names::BELL, vm.bell),
    ];
    for (number, (name, device)) in emulated.into_iter().enumerate() {
        let Some((_, interrupt)) = device else { continue };
        let before = emulated.iter().take(number).filter_map(|(_, device)| *device);
        if before.into_iter().any(|(_, other)| other == interrupt) {
            let problem = Problem::InterruptTwice(interrupt.into());
            return Err(vm.node.nth(name, 0).error(names::INTERRUPTS, problem));
        }
    }
    let lines = vm.serial_lines.iter().enumerate();
    let lines = lines.map(|(number, end)| (end.interrupt, names::SERIAL_LINE, number));
    let links = vm.links.iter().enumerate();
    let links = links.map(|(number, end)| (end.interrupt, names::LINK, number));
    let ends = lines.chain(links);
    for (place, (interrupt, name, number)) in ends.clone().enumerate() {
        let emulated = emulated.iter().filter_map(|(_, device)| *device).map(|(_, it)| it);
        let before = ends.clone().take(place).map(|(interrupt, ..)| interrupt);
        if emulated.chain(before).any(|other| other == interrupt) {
            let problem = Problem::InterruptTwice(interrupt.into());
            return Err(vm.node.nth(name, number).error(names::INTERRUPTS, problem));
        }
    }
    for (number, device) in vm.devices.iter().enumerate() {
        for (position, &(interrupt, _)) in device.interrupts.iter().enumerate() {
            let twice = vm.device_interrupts().any(|serial| serial == interrupt)
                || device.interrupts.iter().take(position).any(|other| other.0 == interrupt)
                || vm
                    .devices
                    .iter()
                    .take(number)
                    .any(|before| before.interrupts.iter().any(|other| other.0 == interrupt));
            if twice {
                let problem = Problem::InterruptTwice(interrupt.into());
                return Err(vm.node.nth(names::DEVICE, number).error(names::INTERRUPTS, problem));
            }
        }
    }
    Ok(())
}

/// Returns true if this number of bytes from an IPA on lies in one region of RAM.
fn in_ram(vm: &Vm<'_>, start: u64, bytes: u64) -> bool {
    let Some(end) = start.checked_add(bytes) else { return false };
    vm.memory.iter().any(|region| region.guest.start <= start && end <= region.guest.end())
}

fn loads<'a>(vm: &Vm<'a>, blob_bytes: BlobBytes<'_>) -> Result<(), Refusal<'a>> {
    for (index, load) in vm.boot.loads.iter().enumerate() {
        let Some(bytes) = blob_bytes(&load.blob) else {
            return Err(load.node.node_error(Problem::NoBlob(load.blob)));
        };
        if !load.address.is_multiple_of(WORD_BYTES) || !in_ram(vm, load.address, bytes) {
            return Err(load.node.error(names::LOAD, Problem::LoadOutside(bytes, load.address)));
        }
        let range = Range { start: load.address, bytes };
        for before in vm.boot.loads.iter().take(index) {
            let bytes = blob_bytes(&before.blob).unwrap_or(0);
            let other = Range { start: before.address, bytes };
            if other.overlaps(range) {
                let problem = Problem::OverlapNode(range, other, before.node);
                return Err(load.node.error(names::LOAD, problem));
            }
        }
    }
    if !vm.boot.entry.is_multiple_of(4) || !in_ram(vm, vm.boot.entry, 4) {
        return Err(vm.boot.node.error(names::ENTRY, Problem::NotCode(vm.boot.entry)));
    }
    Ok(())
}
