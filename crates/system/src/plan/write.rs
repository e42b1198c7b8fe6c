//! From the plan to its device tree.

mod bandwidth;
mod locks;

use units::{Bytes, Duration};

use super::path::unit;
use super::tree::{Form, Node};
use super::{
    Area, Boot, Budget, Device, File, Llc, Memory, Plan, Platform, Pool, PowerOff, Server,
    VirtualSerial, Vm,
};
use crate::address::{Address, Ipa, PhysicalAddress, Region};

/// The tree of `docs/reference/plan.md`.
pub(super) fn tree(plan: &Plan) -> Node {
    let mut root = Node::new("");
    root.strings("compatible", &["bulkhead,plan-v1"]);
    root.strings("model", &[&plan.name]).comment("name of the system");
    cell_counts(&mut root, 2, 2);
    locks::protocol(&mut root, plan.locks);
    let access = plan.platform.bandwidth_counter.as_ref().and_then(|counter| counter.access);
    let mut vms = Node::new("vms");
    cell_counts(&mut vms, 1, 0);
    vms.children = plan.vms.iter().enumerate().map(|(index, it)| vm(index, it, access)).collect();
    root.children.push(platform(&plan.platform));
    root.children.extend(locks::resources(&plan.resources));
    root.children.push(vms);
    root
}

fn cell_counts(node: &mut Node, address: u32, size: u32) {
    node.numbers("#address-cells", &[address]);
    node.numbers("#size-cells", &[size]);
}

fn platform(platform: &Platform) -> Node {
    let mut node = Node::new("platform");
    node.strings("board", &[&platform.board]);
    node.numbers("gic-version", &[platform.gic.version()]);
    if let Some(switch) = platform.switch {
        node.longs("switch-ns", &[switch.0], 1).comment(format!("{switch}, of who stops"));
    }
    if let Some(wait) = platform.wait {
        node.longs("wait-ns", &[wait.0], 1).comment(format!("{wait}, of who wakes"));
    }
    cell_counts(&mut node, 2, 2);
    for bank in &platform.memory {
        let mut memory = Node::new(unit("memory", bank.start.0));
        memory.comment = "RAM of the machine".into();
        memory.strings("device_type", &["memory"]);
        region(&mut memory, "reg", *bank, "");
        node.children.push(memory);
    }

    let mut hypervisor = Node::new(unit("hypervisor", platform.hypervisor.start.0));
    hypervisor.comment = "RAM of the hypervisor".into();
    region(&mut hypervisor, "reg", platform.hypervisor, "");
    if let Some(it) = platform.hypervisor_area {
        area(&mut hypervisor, it);
    }
    node.children.push(hypervisor);

    let mut cpus = Node::new("cpus");
    cpus.comment = "PCPU i is the i-th node".into();
    cell_counts(&mut cpus, 2, 0);
    for (index, mpidr) in platform.cpus.iter().enumerate() {
        let mut cpu = Node::new(unit("cpu", mpidr.0));
        cpu.longs("reg", &[mpidr.0], 1).comment("MPIDR affinity");
        if let Some(release) = platform.spin_table.get(index) {
            cpu.strings("enable-method", &["spin-table"]);
            cpu.longs("cpu-release-addr", &[release.0], 1);
        }
        cpus.children.push(cpu);
    }
    node.children.push(cpus);

    let frames = platform.gic.frames();
    let mut gic = Node::new(unit("interrupt-controller", frames[0].1.start.0));
    gic.strings("compatible", &[platform.gic.compatible()]);
    regions(&mut gic, &frames);
    node.children.push(gic);

    if let Some(device) = platform.power_off {
        let mut node_of = Node::new(unit("power-off", device.registers.start.0));
        node_of.strings("compatible", &PowerOff::KINDS);
        region(&mut node_of, "reg", device.registers, "");
        node.children.push(node_of);
    }

    let mut serial = Node::new(unit("serial", platform.serial.registers.start.0));
    serial.comment = "console".into();
    serial.strings("compatible", &[platform.serial.kind.compatible()]);
    region(&mut serial, "reg", platform.serial.registers, "");
    serial.numbers("interrupts", &[platform.serial.interrupt.0]).comment("INTID");
    serial.numbers("pcpu", &[platform.serial.pcpu.0]).comment("PCPU that serves the console");
    node.children.push(serial);
    node.children.extend(platform.llc.map(llc));
    node.children.extend(platform.bandwidth_counter.as_ref().map(bandwidth::counter));
    node
}

fn llc(Llc { geometry, in_registers }: Llc) -> Node {
    let cache = geometry.cache();
    let mut node = Node::new("llc");
    node.comment = format!("shared last-level cache: {geometry}");
    node.numbers("cache-size", &[cache.bytes() as u32]).comment(Bytes(cache.bytes()).to_string());
    node.numbers("ways", &[cache.ways()]);
    node.numbers("line-size", &[cache.line_bytes()]);
    node.numbers("slices", &[cache.slices()]);
    node.longs("color-mask", &[geometry.mask()], 1);
    if !in_registers {
        node.flag("not-in-registers");
    }
    node
}

fn vm(index: usize, vm: &Vm, access: Option<Bytes>) -> Node {
    let mut node = Node::new(unit("vm", index));
    node.numbers("reg", &[index as u32]);
    cell_counts(&mut node, 2, 2);
    node.strings("vm-name", &[&vm.name]);
    node.strings("on-crash", &[vm.on_crash.as_str()]);
    node.strings("on-reset", &[vm.on_reset.as_str()]);
    node.numbers("restart-limit", &[vm.restart_limit]);
    if vm.vllc {
        node.numbers("vllc", &[1]).comment("its last-level cache consists of its colours");
    }
    if vm.warm_up {
        node.numbers("warm-up", &[1]).comment("all of its RAM is mapped at the start");
    }
    bandwidth::vm(&mut node, vm, access);

    let mut vcpus = Node::new("vcpus");
    vcpus.comment = "VCPU i is the i-th node".into();
    cell_counts(&mut vcpus, 1, 0);
    for (index, vcpu) in vm.vcpus.iter().enumerate() {
        let mut child = Node::new(unit("vcpu", index));
        child.numbers("reg", &[index as u32]);
        child.numbers("pcpu", &[vcpu.pcpu.0]);
        if let Some(it) = vcpu.server {
            server(&mut child, it);
        }
        if vcpu.hold != Duration(0) {
            child.longs("hold-ns", &[vcpu.hold.0], 1).comment(format!("{} in sections", vcpu.hold));
            locks::entries(&mut child, vcpu.entries);
        }
        bandwidth::budget(&mut child, vcpu.memory_budget, access);
        vcpus.children.push(child);
    }
    node.children.push(vcpus);

    node.children.extend(vm.memory.iter().map(memory));

    let frames = vm.gic.frames();
    let mut gic = Node::new(unit("interrupt-controller", frames[0].1.start.0));
    gic.comment = "virtual GIC".into();
    gic.strings("compatible", &[vm.gic.compatible()]);
    regions(&mut gic, &frames);
    node.children.push(gic);

    node.children.extend(vm.serial.map(|it| serial("serial", "virtual PL011", it)));
    node.children.extend(vm.pool.map(pool));
    let about = "virtual PL011 on which guests ask for colours";
    node.children.extend(vm.color_serial.map(|it| serial("color-serial", about, it)));
    node.children.extend(vm.devices.iter().map(device));
    node.children.push(boot(&vm.boot));
    node
}

fn server(node: &mut Node, Server { class, priority, overrun }: Server) {
    node.strings("server", &[class.as_str()]);
    if let Some(Budget { budget, period }) = class.budget() {
        node.longs("budget-ns", &[budget.0], 1).comment(budget.to_string());
        node.longs("period-ns", &[period.0], 1).comment(period.to_string());
    }
    if overrun != Duration(0) {
        node.longs("overrun-ns", &[overrun.0], 1).comment(overrun.to_string());
    }
    node.numbers("priority", &[priority]).comment("larger goes first");
}

fn memory(memory: &Memory) -> Node {
    let mut node = Node::new(unit("memory", memory.ipa.0));
    node.strings("device_type", &["memory"]);
    mapping(&mut node, memory.ipa_region(), memory.host_region());
    if let Some(colors) = memory.colors() {
        node.longs("colors", &[colors.bits()], 1).comment(colors.to_string());
    }
    node
}

fn serial(name: &str, about: &str, serial: VirtualSerial) -> Node {
    let mut node = Node::new(unit(name, serial.registers.start.0));
    node.comment = about.into();
    node.strings("compatible", &["arm,pl011"]);
    region(&mut node, "reg", serial.registers, "");
    node.numbers("interrupts", &[serial.interrupt.0]);
    node
}

fn pool(pool: Pool) -> Node {
    let mut node = Node::new(unit("coloring", pool.doorbell.start.0));
    node.comment = "colours that tasks of the guest can ask for".into();
    node.strings("compatible", &["bulkhead,coloring"]);
    region(&mut node, "reg", pool.doorbell, "IPA of the doorbell, ");
    area(&mut node, pool.area);
    node.numbers("frames", &[pool.frames]).comment(pool.size().to_string());
    node
}

/// `colors` and `host-reg`.
fn area(node: &mut Node, Area { colors, region: host }: Area) {
    node.longs("colors", &[colors.bits()], 1).comment(colors.to_string());
    region(node, "host-reg", host, "PA, area of ");
}

fn device(device: &Device) -> Node {
    let mut node = Node::new(unit("device", device.registers.ipa.0));
    node.strings("compatible", &device.compatible);
    mapping(&mut node, device.registers.ipa_region(), device.registers.host_region());
    if let Some(interrupts) = device.interrupts {
        node.numbers("interrupts", &[interrupts.guest.0]).comment("INTID in the guest");
        node.numbers("host-interrupts", &[interrupts.host.0]).comment("INTID of the machine");
    }
    node
}

fn boot(boot: &Boot) -> Node {
    let mut node = Node::new("boot");
    node.longs("entry", &[boot.entry.0], 1).comment("first instruction");
    if let Some(bootargs) = &boot.bootargs {
        node.strings("bootargs", &[bootargs]);
    }
    node.children.push(file("kernel", &boot.kernel));
    node.children.extend(boot.initrd.as_ref().map(|initrd| file("initrd", initrd)));
    if let Some(load) = boot.device_tree {
        let mut child = Node::new("device-tree");
        child.longs("load", &[load.0], 1);
        child.comment = "generated from this plan".into();
        node.children.push(child);
    }
    node
}

fn file(name: &str, file: &File) -> Node {
    let mut node = Node::new(name);
    node.strings("file", &[&file.file]);
    node.longs("load", &[file.load.0], 1);
    node
}

fn mapping(node: &mut Node, ipa: Region<Ipa>, host: Region<PhysicalAddress>) {
    region(node, "reg", ipa, "IPA, ");
    region(node, "host-reg", host, "PA, ");
}

fn region<A: Address>(node: &mut Node, name: &str, region: Region<A>, space: &str) {
    node.longs(name, &[region.start.get(), region.size.get()], 2)
        .comment(format!("{space}{}", region.size));
}

fn regions<A: Address>(node: &mut Node, frames: &[(&str, Region<A>)]) {
    let numbers: Vec<u64> =
        frames.iter().flat_map(|(_, region)| [region.start.get(), region.size.get()]).collect();
    let property = node.longs("reg", &numbers, 2);
    property.comments = frames.iter().map(|(name, _)| (*name).to_owned()).collect();
    property.form = Form::Longs(2);
}
