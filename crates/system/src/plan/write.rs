//! Writes the device tree of a plan.

mod bandwidth;
mod channels;
mod links;
mod locks;
mod serial_lines;

use ::abi::plan::{self as abi, names, words};
use ::abi::{bell, doorbell};
use units::{Bytes, Duration};

use super::path::unit;
use super::tree::{Form, Node};
use super::{
    Area, Boot, Budget, Device, File, Llc, Memory, Plan, Platform, Pool, Server, VirtualDevice, Vm,
};
use crate::address::{Address, Ipa, PhysicalAddress, Region};

/// Returns the tree of `docs/reference/plan.md`.
pub(super) fn tree(plan: &Plan) -> Node {
    let mut root = Node::new("");
    root.strings(names::COMPATIBLE, &[abi::COMPATIBLE]);
    root.strings(names::MODEL, &[&plan.name]).comment("name of the system");
    cell_counts(&mut root, 2, 2);
    locks::protocol(&mut root, plan.locks);
    let access = plan.platform.bandwidth_counter.as_ref().and_then(|counter| counter.access);
    let mut vms = Node::new(names::VMS);
    cell_counts(&mut vms, 1, 0);
    vms.children = plan.vms.iter().enumerate().map(|(index, it)| vm(index, it, access)).collect();
    root.children.push(platform(&plan.platform));
    root.children.extend(locks::resources(&plan.resources));
    root.children.extend(channels::channels(&plan.channels));
    root.children.extend(serial_lines::serial_lines(&plan.serial_lines));
    root.children.extend(links::links(&plan.links));
    root.children.push(vms);
    root
}

fn cell_counts(node: &mut Node, address: u32, size: u32) {
    node.numbers(names::ADDRESS_CELLS, &[address]);
    node.numbers(names::SIZE_CELLS, &[size]);
}

fn platform(platform: &Platform) -> Node {
    let mut node = Node::new(names::PLATFORM);
    node.strings(names::BOARD, &[&platform.board]);
    node.numbers(names::GIC_VERSION, &[platform.gic.version()]);
    if let Some(switch) = platform.switch {
        node.longs(names::SWITCH_NS, &[switch.0], 1)
            .comment(format!("{switch}, paid by the VCPU that stops"));
    }
    if let Some(kick) = platform.kick {
        node.longs(names::KICK_NS, &[kick.0], 1)
            .comment(format!("{kick}, paid by the VCPU that waits"));
    }
    cell_counts(&mut node, 2, 2);
    for bank in &platform.memory {
        let mut memory = Node::new(unit(names::MEMORY, bank.start.0));
        memory.comment = "RAM of the machine".into();
        memory.strings(names::DEVICE_TYPE, &[words::MEMORY]);
        region(&mut memory, names::REG, *bank, "");
        node.children.push(memory);
    }

    let mut hypervisor = Node::new(unit(names::HYPERVISOR, platform.hypervisor.start.0));
    hypervisor.comment = "RAM of the hypervisor".into();
    region(&mut hypervisor, names::REG, platform.hypervisor, "");
    if let Some(it) = platform.hypervisor_area {
        area(&mut hypervisor, it);
    }
    node.children.push(hypervisor);

    let mut cpus = Node::new(names::CPUS);
    cpus.comment = "PCPU i is the i-th node".into();
    cell_counts(&mut cpus, 2, 0);
    for (index, mpidr) in platform.cpus.iter().enumerate() {
        let mut cpu = Node::new(unit(names::CPU, mpidr.0));
        cpu.longs(names::REG, &[mpidr.0], 1).comment("MPIDR affinity");
        if let Some(release) = platform.spin_table.get(index) {
            cpu.strings(names::ENABLE_METHOD, &[words::SPIN_TABLE]);
            cpu.longs(names::CPU_RELEASE_ADDR, &[release.0], 1);
        }
        cpus.children.push(cpu);
    }
    node.children.push(cpus);

    let frames = platform.gic.frames();
    let mut gic = Node::new(unit(names::INTERRUPT_CONTROLLER, frames[0].1.start.0));
    gic.strings(names::COMPATIBLE, &[platform.gic.compatible()]);
    regions(&mut gic, &frames);
    node.children.push(gic);

    if let Some(device) = platform.power_off {
        let mut node_of = Node::new(unit(names::POWER_OFF, device.registers.start.0));
        node_of.strings(names::COMPATIBLE, &words::POWER_OFFS);
        region(&mut node_of, names::REG, device.registers, "");
        node.children.push(node_of);
    }

    let mut serial = Node::new(unit(names::SERIAL, platform.serial.registers.start.0));
    serial.comment = "console".into();
    serial.strings(names::COMPATIBLE, &[platform.serial.kind.compatible()]);
    region(&mut serial, names::REG, platform.serial.registers, "");
    serial.numbers(names::INTERRUPTS, &[platform.serial.interrupt.0]).comment("INTID");
    serial.numbers(names::PCPU, &[platform.serial.pcpu.0]).comment("PCPU that serves the console");
    node.children.push(serial);
    node.children.extend(platform.llc.map(llc));
    node.children.extend(platform.bandwidth_counter.as_ref().map(bandwidth::counter));
    node
}

fn llc(Llc { geometry, in_registers }: Llc) -> Node {
    let cache = geometry.cache();
    let mut node = Node::new(names::LLC);
    node.comment = format!("shared last-level cache: {geometry}");
    node.numbers(names::CACHE_SIZE, &[cache.bytes() as u32])
        .comment(Bytes(cache.bytes()).to_string());
    node.numbers(names::WAYS, &[cache.ways()]);
    node.numbers(names::LINE_SIZE, &[cache.line_bytes()]);
    node.numbers(names::SLICES, &[cache.slices()]);
    node.longs(names::COLOR_MASK, &[geometry.mask()], 1);
    if !in_registers {
        node.flag(names::NOT_IN_REGISTERS);
    }
    node
}

fn vm(index: usize, vm: &Vm, access: Option<Bytes>) -> Node {
    let mut node = Node::new(unit(names::VM, index));
    node.numbers(names::REG, &[index as u32]);
    cell_counts(&mut node, 2, 2);
    node.strings(names::VM_NAME, &[&vm.name]);
    vm.lifecycle.write(&mut node);
    if vm.vllc {
        node.numbers(names::VLLC, &[1]).comment("its last-level cache consists of its colours");
    }
    bandwidth::vm(&mut node, vm, access);

    let mut vcpus = Node::new(names::VCPUS);
    vcpus.comment = "VCPU i is the i-th node".into();
    cell_counts(&mut vcpus, 1, 0);
    for (index, vcpu) in vm.vcpus.iter().enumerate() {
        let mut child = Node::new(unit(names::VCPU, index));
        child.numbers(names::REG, &[index as u32]);
        child.numbers(names::PCPU, &[vcpu.pcpu.0]);
        if let Some(it) = vcpu.server {
            server(&mut child, it);
        }
        if vcpu.hold != Duration(0) {
            child
                .longs(names::HOLD_NS, &[vcpu.hold.0], 1)
                .comment(format!("{} in sections", vcpu.hold));
            locks::entries(&mut child, vcpu.entries);
        }
        bandwidth::budget(&mut child, vcpu.memory_budget, access);
        vcpus.children.push(child);
    }
    node.children.push(vcpus);

    node.children.extend(vm.memory.iter().map(memory));

    let frames = vm.gic.frames();
    let mut gic = Node::new(unit(names::INTERRUPT_CONTROLLER, frames[0].1.start.0));
    gic.comment = "virtual GIC".into();
    gic.strings(names::COMPATIBLE, &[vm.gic.compatible()]);
    regions(&mut gic, &frames);
    node.children.push(gic);

    node.children.extend(vm.serial.map(|it| serial(names::SERIAL, "virtual PL011", it)));
    node.children.extend(vm.pool.map(pool));
    let about = "virtual PL011 on which guests ask for colours";
    node.children.extend(vm.color_serial.map(|it| serial(names::COLOR_SERIAL, about, it)));
    let about = "writers of channels ring here, and readers get an interrupt";
    node.children.extend(vm.bell.map(|it| emulated(names::BELL, bell::COMPATIBLE, about, it)));
    node.children.extend(vm.devices.iter().map(device));
    node.children.push(boot(&vm.boot));
    node
}

fn server(node: &mut Node, Server { class, priority, overrun }: Server) {
    node.strings(names::SERVER, &[class.as_str()]);
    if let Some(Budget { budget, period }) = class.budget() {
        node.longs(names::BUDGET_NS, &[budget.0], 1).comment(budget.to_string());
        node.longs(names::PERIOD_NS, &[period.0], 1).comment(period.to_string());
    }
    if overrun != Duration(0) {
        node.longs(names::OVERRUN_NS, &[overrun.0], 1).comment(overrun.to_string());
    }
    node.numbers(names::PRIORITY, &[priority]).comment("larger goes first");
}

fn memory(memory: &Memory) -> Node {
    let mut node = Node::new(unit(names::MEMORY, memory.ipa.0));
    node.strings(names::DEVICE_TYPE, &[words::MEMORY]);
    mapping(&mut node, memory.ipa_region(), memory.host_region());
    if let Some(colors) = memory.colors() {
        node.longs(names::COLORS, &[colors.bits()], 1).comment(colors.to_string());
    }
    node
}

fn serial(name: &str, about: &str, serial: VirtualDevice) -> Node {
    emulated(name, words::VIRTUAL_UART, about, serial)
}

fn emulated(name: &str, compatible: &str, about: &str, device: VirtualDevice) -> Node {
    let mut node = Node::new(unit(name, device.registers.start.0));
    node.comment = about.into();
    node.strings(names::COMPATIBLE, &[compatible]);
    region(&mut node, names::REG, device.registers, "");
    node.numbers(names::INTERRUPTS, &[device.interrupt.0]);
    node
}

fn pool(pool: Pool) -> Node {
    let mut node = Node::new(unit(names::COLORING, pool.doorbell.start.0));
    node.comment = "colours that tasks of the guest can ask for".into();
    node.strings(names::COMPATIBLE, &[doorbell::COMPATIBLE]);
    region(&mut node, names::REG, pool.doorbell, "IPA of the doorbell, ");
    area(&mut node, pool.area);
    node.numbers(names::FRAMES, &[pool.frames]).comment(pool.size().to_string());
    node
}

/// `colors` and `host-reg`.
fn area(node: &mut Node, Area { colors, region: host }: Area) {
    node.longs(names::COLORS, &[colors.bits()], 1).comment(colors.to_string());
    region(node, names::HOST_REG, host, "PA, area of ");
}

fn device(device: &Device) -> Node {
    let mut node = Node::new(unit(names::DEVICE, device.registers.ipa.0));
    node.strings(names::COMPATIBLE, &device.compatible);
    mapping(&mut node, device.registers.ipa_region(), device.registers.host_region());
    if let Some(interrupts) = device.interrupts {
        node.numbers(names::INTERRUPTS, &[interrupts.guest.0]).comment("INTID in the guest");
        node.numbers(names::HOST_INTERRUPTS, &[interrupts.host.0]).comment("INTID of the machine");
    }
    node
}

fn boot(boot: &Boot) -> Node {
    let mut node = Node::new(names::BOOT);
    node.longs(names::ENTRY, &[boot.entry.0], 1).comment("first instruction");
    if let Some(bootargs) = &boot.bootargs {
        node.strings(names::BOOTARGS, &[bootargs]);
    }
    node.children.push(file(names::KERNEL, &boot.kernel));
    node.children.extend(boot.initrd.as_ref().map(|initrd| file(names::INITRD, initrd)));
    if let Some(load) = boot.device_tree {
        let mut child = Node::new(names::DEVICE_TREE);
        child.longs(names::LOAD, &[load.0], 1);
        child.comment = "generated from this plan".into();
        node.children.push(child);
    }
    node
}

fn file(name: &str, file: &File) -> Node {
    let mut node = Node::new(name);
    node.strings(names::FILE, &[&file.file]);
    node.longs(names::LOAD, &[file.load.0], 1);
    node
}

fn mapping(node: &mut Node, ipa: Region<Ipa>, host: Region<PhysicalAddress>) {
    region(node, names::REG, ipa, "IPA, ");
    region(node, names::HOST_REG, host, "PA, ");
}

fn region<A: Address>(node: &mut Node, name: &str, region: Region<A>, space: &str) {
    node.longs(name, &[region.start.get(), region.size.get()], 2)
        .comment(format!("{space}{}", region.size));
}

fn regions<A: Address>(node: &mut Node, frames: &[(&str, Region<A>)]) {
    let numbers: Vec<u64> =
        frames.iter().flat_map(|(_, region)| [region.start.get(), region.size.get()]).collect();
    let property = node.longs(names::REG, &numbers, 2);
    property.comments = frames.iter().map(|(name, _)| (*name).to_owned()).collect();
    property.form = Form::Longs(2);
}
