//! From a device tree to the plan: every node and property is known, present
//! and of its form. What the numbers mean together is for [`check`](super::check).

mod bandwidth;
mod channels;
mod coloring;
mod cursor;
mod links;
mod llc;
mod locks;
mod serial_lines;
mod server;

use std::cell::RefCell;

use ::abi::plan::{self as abi, names, words};
pub(super) use cursor::Cursor;
use policy::color::ColorSet;
use units::Duration;

use super::tree::Node;
use super::{
    Boot, Coloring, Device, DeviceInterrupts, Entries, File, Gic, Lifecycle, Mapping, Memory, Plan,
    Platform, PowerOff, Serial, SerialKind, Vcpu, VirtualDevice, VirtualGic, Vm,
};
use crate::address::{Address, IntId, Ipa, Mpidr, Pcpu, PhysicalAddress, Region};
use crate::diagnostic::Errors;

/// Returns the plan in a tree.
pub(super) fn plan(tree: &Node) -> Result<Plan, Errors> {
    let mistakes = RefCell::default();
    let plan = root(&Cursor::new(tree, "", &mistakes));
    let mistakes = mistakes.into_inner();
    match plan {
        Some(plan) => Errors::unless_none(mistakes, plan),
        None => match Errors::unless_none(mistakes, ()) {
            Err(errors) => Err(errors),
            Ok(()) => unreachable!("what is missing was reported"),
        },
    }
}

// In the readers below, every part is read before the first `?`, so that a
// mistake in one does not hide the mistakes in the next.

/// Reads all the nodes; `None` if one of them cannot be read.
fn all<'t, T>(nodes: &[Cursor<'t>], read: impl Fn(&Cursor<'t>) -> Option<T>) -> Option<Vec<T>> {
    let parts: Vec<_> = nodes.iter().map(read).collect();
    parts.into_iter().collect()
}

/// As [`all`], for nodes whose `reg` is their index.
fn numbered<'t, T>(
    nodes: &[Cursor<'t>],
    read: impl Fn(&Cursor<'t>) -> Option<T>,
) -> Option<Vec<T>> {
    for (index, node) in nodes.iter().enumerate() {
        node.index(index);
    }
    all(nodes, read)
}

fn root(at: &Cursor<'_>) -> Option<Plan> {
    at.word(names::COMPATIBLE, &[abi::COMPATIBLE]);
    let name = at.string(names::MODEL);
    at.cell_counts(2, 2);
    let platform = at.child(names::PLATFORM).and_then(|node| platform(&node));
    let locks = locks::protocol(at);
    let resources = locks::resources(at);
    let channels = channels::channels(at);
    let serial_lines = serial_lines::serial_lines(at);
    let links = links::links(at);
    let vms = at.child(names::VMS).and_then(|node| vms(&node));
    at.finish();
    Some(Plan {
        name: name?,
        platform: platform?,
        locks: locks?,
        resources: resources?,
        channels: channels?,
        serial_lines: serial_lines?,
        links: links?,
        vms: vms?,
    })
}

fn platform(at: &Cursor<'_>) -> Option<Platform> {
    let board = at.string(names::BOARD);
    let version = at.number(names::GIC_VERSION);
    let price = |name| match at.optional(name) {
        true => at.long(name).map(|price| Some(Duration(price))),
        false => Some(None),
    };
    let [switch, kick] = [names::SWITCH_NS, names::KICK_NS].map(price);
    at.cell_counts(2, 2);
    let memory = all(&at.units(names::MEMORY), bank);
    let hypervisor = at.unit(names::HYPERVISOR).and_then(|node| coloring::hypervisor(&node));
    let cpus = at.child(names::CPUS).and_then(|node| cpus(&node));
    let gic = at.unit(names::INTERRUPT_CONTROLLER).and_then(|node| gic(&node));
    let serial = at.unit(names::SERIAL).and_then(|node| serial(&node));
    let power_off = at.units(names::POWER_OFF);
    let power_off = match power_off.as_slice() {
        [] => None,
        [node] => Some(self::power_off(node)),
        _ => {
            at.wrong_node("a machine is turned off by one device", "remove the others");
            None
        }
    };
    let llc = at.optional_child(names::LLC).map(|node| llc::read(&node));
    let counter = at.optional_child(names::BANDWIDTH_COUNTER).map(|node| bandwidth::counter(&node));
    if let (Some(version), Some(gic)) = (version, gic)
        && version != gic.version()
    {
        let message =
            format!("is {version}, but the interrupt controller is a GICv{}", gic.version());
        at.wrong(names::GIC_VERSION, message, "make the two agree");
    }
    at.finish();
    let (hypervisor, hypervisor_area) = hypervisor?;
    Some(Platform {
        board: board?,
        memory: memory?,
        hypervisor,
        hypervisor_area,
        switch: switch?,
        kick: kick?,
        cpus: cpus.iter().flatten().map(|(mpidr, _)| *mpidr).collect(),
        spin_table: spin_table(at, &cpus?)?,
        power_off: match power_off {
            Some(device) => Some(device?),
            None => None,
        },
        gic: gic?,
        serial: serial?,
        llc: llc.map_or(Some(None), |llc| llc.map(Some))?,
        bandwidth_counter: counter.map_or(Some(None), |counter| counter.map(Some))?,
    })
}

fn bank<A: Address>(at: &Cursor<'_>) -> Option<Region<A>> {
    at.word(names::DEVICE_TYPE, &[words::MEMORY]);
    let region = at.region(names::REG);
    at.named_after(region);
    at.finish();
    region
}

/// PCPUs, and where they wait if not PSCI starts them.
fn cpus(at: &Cursor<'_>) -> Option<Vec<(Mpidr, Option<u64>)>> {
    at.cell_counts(2, 0);
    let cpus = all(&at.units(names::CPU), |cpu| {
        let mpidr = cpu.long(names::REG);
        cpu.named(mpidr);
        let release = cpu.optional(names::ENABLE_METHOD).then(|| {
            cpu.word(names::ENABLE_METHOD, &[words::SPIN_TABLE])?;
            cpu.long(names::CPU_RELEASE_ADDR)
        });
        cpu.finish();
        let release = match release {
            Some(release) => Some(release?),
            None => None,
        };
        mpidr.map(|mpidr| (Mpidr(mpidr), release))
    });
    at.finish();
    cpus
}

fn spin_table(at: &Cursor<'_>, cpus: &[(Mpidr, Option<u64>)]) -> Option<Vec<PhysicalAddress>> {
    let table: Vec<_> = cpus.iter().filter_map(|cpu| cpu.1).map(PhysicalAddress).collect();
    if !table.is_empty() && table.len() != cpus.len() {
        at.wrong_node("some PCPUs wait in a spin table, others do not", "say it of all or none");
        return None;
    }
    Some(table)
}

fn power_off(at: &Cursor<'_>) -> Option<PowerOff> {
    let known = at.word(names::COMPATIBLE, &words::POWER_OFFS);
    let registers = at.region(names::REG);
    at.named_after(registers);
    at.finish();
    known?;
    Some(PowerOff { registers: registers? })
}

fn gic(at: &Cursor<'_>) -> Option<Gic> {
    let gic = match at.word(names::COMPATIBLE, &words::GICS) {
        Some(words::GIC_V3) => at
            .regions(names::REG, &["GICD", "GICR"])
            .map(|frames| Gic::V3 { gicd: frames[0], gicr: frames[1] }),
        Some(_) => at.regions(names::REG, &["GICD", "GICC", "GICH", "GICV"]).map(|frames| {
            Gic::V2 { gicd: frames[0], gicc: frames[1], gich: frames[2], gicv: frames[3] }
        }),
        None => at.skip(names::REG),
    };
    at.named_after(gic.map(|gic| gic.frames()[0].1));
    at.finish();
    gic
}

fn serial(at: &Cursor<'_>) -> Option<Serial> {
    let known = SerialKind::ALL.map(SerialKind::compatible);
    let kind = at
        .word(names::COMPATIBLE, &known)
        .and_then(|word| SerialKind::ALL.into_iter().find(|kind| kind.compatible() == word));
    let registers = at.region(names::REG);
    at.named_after(registers);
    let interrupt = at.number(names::INTERRUPTS);
    let pcpu = at.number(names::PCPU);
    at.finish();
    Some(Serial {
        kind: kind?,
        registers: registers?,
        interrupt: IntId(interrupt?),
        pcpu: Pcpu(pcpu?),
    })
}

fn vms(at: &Cursor<'_>) -> Option<Vec<Vm>> {
    at.cell_counts(1, 0);
    let vms = numbered(&at.units(names::VM), vm);
    at.finish();
    vms
}

fn vm(at: &Cursor<'_>) -> Option<Vm> {
    at.cell_counts(2, 2);
    let name = at.string(names::VM_NAME);
    let lifecycle = Lifecycle::read(at);
    let vllc = at.one_or_absent(names::VLLC);
    let memory_budget = bandwidth::budget(at);
    let compensation = bandwidth::compensation(at);
    let critical = at.flag(names::CRITICAL);
    let vcpus = at.child(names::VCPUS).and_then(|node| vcpus(&node));
    let memory = all(&at.units(names::MEMORY), memory);
    let gic = at.unit(names::INTERRUPT_CONTROLLER).and_then(|node| virtual_gic(&node));
    let serials = all(&at.at_most_one(names::SERIAL), virtual_serial);
    let pools = all(&at.at_most_one(names::COLORING), coloring::pool);
    let color_serials = all(&at.at_most_one(names::COLOR_SERIAL), virtual_serial);
    let bells = all(&at.at_most_one(names::BELL), bell);
    let devices = all(&at.units(names::DEVICE), device);
    let boot = at.child(names::BOOT).and_then(|node| boot(&node));
    at.finish();
    Some(Vm {
        name: name?,
        lifecycle: lifecycle?,
        vllc,
        memory_budget: memory_budget?,
        compensation: compensation?,
        critical,
        vcpus: vcpus?,
        memory: memory?,
        gic: gic?,
        serial: serials?.pop(),
        pool: pools?.pop(),
        color_serial: color_serials?.pop(),
        bell: bells?.pop(),
        devices: devices?,
        boot: boot?,
    })
}

fn vcpus(at: &Cursor<'_>) -> Option<Vec<Vcpu>> {
    at.cell_counts(1, 0);
    let vcpus = numbered(&at.units(names::VCPU), |vcpu| {
        let pcpu = vcpu.number(names::PCPU);
        let server = server::read(vcpu);
        let memory_budget = bandwidth::budget(vcpu);
        let hold = match vcpu.optional(names::HOLD_NS) {
            true => hold(vcpu),
            false => Some(Duration(0)),
        };
        let entries = match vcpu.optional(names::HOLD_NS) {
            true => locks::entries(vcpu),
            false => Some(Entries::default()),
        };
        vcpu.finish();
        Some(Vcpu {
            pcpu: Pcpu(pcpu?),
            server: server?,
            memory_budget: memory_budget?,
            hold: hold?,
            entries: entries?,
        })
    });
    at.finish();
    vcpus
}

/// Returns the time for which a VCPU may be in critical sections: without the property it may be in none.
fn hold(vcpu: &Cursor<'_>) -> Option<Duration> {
    let hold = vcpu.long(names::HOLD_NS)?;
    if hold == 0 {
        vcpu.wrong(names::HOLD_NS, "is 0", "give the VCPU a time, or remove the property");
    }
    Some(Duration(hold))
}

fn memory(at: &Cursor<'_>) -> Option<Memory> {
    at.word(names::DEVICE_TYPE, &[words::MEMORY]);
    if !at.optional(names::COLORS) {
        let map = at.mapping();
        at.finish();
        return map.map(|Mapping { ipa, host, size }| Memory { ipa, size, host, coloring: None });
    }
    let (ipa, host) = (at.region(names::REG), at.region(names::HOST_REG));
    at.named_after(ipa);
    let colors = at.long(names::COLORS).map(ColorSet::from_bits);
    at.finish();
    let (ipa, host): (_, Region<_>) = (ipa?, host?);
    let coloring = Some(Coloring { colors: colors?, area: host.size });
    Some(Memory { ipa: ipa.start, size: ipa.size, host: host.start, coloring })
}

fn virtual_gic(at: &Cursor<'_>) -> Option<VirtualGic> {
    let gic = match at.word(names::COMPATIBLE, &words::GICS) {
        Some(words::GIC_V3) => at
            .regions(names::REG, &["GICD", "GICR"])
            .map(|frames| VirtualGic::V3 { gicd: frames[0], gicr: frames[1] }),
        Some(_) => at
            .regions(names::REG, &["GICD", "GICC"])
            .map(|frames| VirtualGic::V2 { gicd: frames[0], gicc: frames[1] }),
        None => at.skip(names::REG),
    };
    at.named_after(gic.map(|gic| gic.frames()[0].1));
    at.finish();
    gic
}

fn virtual_serial(at: &Cursor<'_>) -> Option<VirtualDevice> {
    virtual_device(at, words::VIRTUAL_UART)
}

fn bell(at: &Cursor<'_>) -> Option<VirtualDevice> {
    virtual_device(at, ::abi::bell::COMPATIBLE)
}

fn virtual_device(at: &Cursor<'_>, compatible: &str) -> Option<VirtualDevice> {
    at.word(names::COMPATIBLE, &[compatible]);
    let registers = at.region(names::REG);
    at.named_after(registers);
    let interrupt = at.number(names::INTERRUPTS);
    at.finish();
    Some(VirtualDevice { registers: registers?, interrupt: IntId(interrupt?) })
}

fn device(at: &Cursor<'_>) -> Option<Device> {
    let compatible = at.strings(names::COMPATIBLE);
    let registers = at.mapping();
    let guest = at.optional(names::INTERRUPTS).then(|| at.number(names::INTERRUPTS)).flatten();
    let host =
        at.optional(names::HOST_INTERRUPTS).then(|| at.number(names::HOST_INTERRUPTS)).flatten();
    if at.has(names::INTERRUPTS) != at.has(names::HOST_INTERRUPTS) {
        let (missing, other) = match at.has(names::INTERRUPTS) {
            true => (names::HOST_INTERRUPTS, names::INTERRUPTS),
            false => (names::INTERRUPTS, names::HOST_INTERRUPTS),
        };
        let help = format!("give both, or remove `{other}`");
        at.wrong(missing, format!("is missing although `{other}` is given"), &help);
    }
    at.finish();
    let interrupts = guest
        .zip(host)
        .map(|(guest, host)| DeviceInterrupts { guest: IntId(guest), host: IntId(host) });
    Some(Device { compatible: compatible?, registers: registers?, interrupts })
}

fn boot(at: &Cursor<'_>) -> Option<Boot> {
    let entry = at.long(names::ENTRY);
    let bootargs = at.optional(names::BOOTARGS).then(|| at.string(names::BOOTARGS));
    let kernel = at.child(names::KERNEL).and_then(|node| file(&node));
    let initrd = at.optional_child(names::INITRD).map(|node| file(&node));
    let device_tree = at.optional_child(names::DEVICE_TREE).map(|node| {
        let load = node.long(names::LOAD);
        node.finish();
        load
    });
    at.finish();
    Some(Boot {
        entry: Ipa(entry?),
        bootargs: bootargs.map_or(Some(None), |text| text.map(Some))?,
        kernel: kernel?,
        initrd: initrd.map_or(Some(None), |file| file.map(Some))?,
        device_tree: device_tree.map_or(Some(None), |load| load.map(|load| Some(Ipa(load))))?,
    })
}

fn file(at: &Cursor<'_>) -> Option<File> {
    let file = at.string(names::FILE);
    let load = at.long(names::LOAD);
    at.finish();
    Some(File { file: file?, load: Ipa(load?) })
}
