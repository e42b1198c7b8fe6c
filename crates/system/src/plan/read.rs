//! From a device tree to the plan: every node and property is known, present
//! and of its form. What the numbers mean together is for [`check`](super::check).

mod bandwidth;
mod coloring;
mod cursor;
mod llc;
mod locks;
mod server;

use std::cell::RefCell;

use cursor::Cursor;
use policy::color::ColorSet;
use units::Duration;

use super::tree::Node;
use super::{
    Boot, Coloring, Device, DeviceInterrupts, Entries, File, Gic, Mapping, Memory, OnEvent, Plan,
    Platform, PowerOff, Serial, SerialKind, Vcpu, VirtualGic, VirtualSerial, Vm,
};
use crate::address::{Address, IntId, Ipa, Mpidr, Pcpu, PhysicalAddress, Region};
use crate::diagnostic::Errors;

/// The plan in a tree.
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
    at.word("compatible", &["bulkhead,plan-v1"]);
    let name = at.string("model");
    at.cell_counts(2, 2);
    let platform = at.child("platform").and_then(|node| platform(&node));
    let locks = locks::protocol(at);
    let resources = locks::resources(at);
    let vms = at.child("vms").and_then(|node| vms(&node));
    at.finish();
    Some(Plan { name: name?, platform: platform?, locks: locks?, resources: resources?, vms: vms? })
}

fn platform(at: &Cursor<'_>) -> Option<Platform> {
    let board = at.string("board");
    let version = at.number("gic-version");
    let price = |name| match at.optional(name) {
        true => at.long(name).map(|price| Some(Duration(price))),
        false => Some(None),
    };
    let [switch, wait] = ["switch-ns", "wait-ns"].map(price);
    at.cell_counts(2, 2);
    let memory = all(&at.units("memory"), bank);
    let hypervisor = at.unit("hypervisor").and_then(|node| coloring::hypervisor(&node));
    let cpus = at.child("cpus").and_then(|node| cpus(&node));
    let gic = at.unit("interrupt-controller").and_then(|node| gic(&node));
    let serial = at.unit("serial").and_then(|node| serial(&node));
    let power_off = at.units("power-off");
    let power_off = match power_off.as_slice() {
        [] => None,
        [node] => Some(self::power_off(node)),
        _ => {
            at.wrong_node("a machine is turned off by one device", "remove the others");
            None
        }
    };
    let llc = at.optional_child("llc").map(|node| llc::read(&node));
    let counter = at.optional_child("bandwidth-counter").map(|node| bandwidth::counter(&node));
    if let (Some(version), Some(gic)) = (version, gic)
        && version != gic.version()
    {
        let message =
            format!("is {version}, but the interrupt controller is a GICv{}", gic.version());
        at.wrong("gic-version", message, "make the two agree");
    }
    at.finish();
    let (hypervisor, hypervisor_area) = hypervisor?;
    Some(Platform {
        board: board?,
        memory: memory?,
        hypervisor,
        hypervisor_area,
        switch: switch?,
        wait: wait?,
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
    at.word("device_type", &["memory"]);
    let region = at.region("reg");
    at.named_after(region);
    at.finish();
    region
}

/// PCPUs, and where they wait if not PSCI starts them.
fn cpus(at: &Cursor<'_>) -> Option<Vec<(Mpidr, Option<u64>)>> {
    at.cell_counts(2, 0);
    let cpus = all(&at.units("cpu"), |cpu| {
        let mpidr = cpu.long("reg");
        cpu.named(mpidr);
        let release = cpu.optional("enable-method").then(|| {
            cpu.word("enable-method", &["spin-table"])?;
            cpu.long("cpu-release-addr")
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
    let known = at.word("compatible", &PowerOff::KINDS);
    let registers = at.region("reg");
    at.named_after(registers);
    at.finish();
    known?;
    Some(PowerOff { registers: registers? })
}

fn gic(at: &Cursor<'_>) -> Option<Gic> {
    let gic = match at.word("compatible", &["arm,gic-v3", "arm,gic-400"]) {
        Some("arm,gic-v3") => at
            .regions("reg", &["GICD", "GICR"])
            .map(|frames| Gic::V3 { gicd: frames[0], gicr: frames[1] }),
        Some(_) => at.regions("reg", &["GICD", "GICC", "GICH", "GICV"]).map(|frames| Gic::V2 {
            gicd: frames[0],
            gicc: frames[1],
            gich: frames[2],
            gicv: frames[3],
        }),
        None => at.skip("reg"),
    };
    at.named_after(gic.map(|gic| gic.frames()[0].1));
    at.finish();
    gic
}

fn serial(at: &Cursor<'_>) -> Option<Serial> {
    let known = SerialKind::ALL.map(SerialKind::compatible);
    let kind = at
        .word("compatible", &known)
        .and_then(|word| SerialKind::ALL.into_iter().find(|kind| kind.compatible() == word));
    let registers = at.region("reg");
    at.named_after(registers);
    let interrupt = at.number("interrupts");
    let pcpu = at.number("pcpu");
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
    let vms = numbered(&at.units("vm"), vm);
    at.finish();
    vms
}

fn vm(at: &Cursor<'_>) -> Option<Vm> {
    at.cell_counts(2, 2);
    let name = at.string("vm-name");
    let on_crash = event(at, "on-crash");
    let on_reset = event(at, "on-reset");
    let restart_limit = at.number("restart-limit");
    let vllc = one_or_absent(at, "vllc");
    let warm_up = one_or_absent(at, "warm-up");
    let memory_budget = bandwidth::budget(at);
    let compensation = bandwidth::compensation(at);
    let critical = at.flag("critical");
    let vcpus = at.child("vcpus").and_then(|node| vcpus(&node));
    let memory = all(&at.units("memory"), memory);
    let gic = at.unit("interrupt-controller").and_then(|node| virtual_gic(&node));
    let serials = all(&at.at_most_one("serial"), virtual_serial);
    let pools = all(&at.at_most_one("coloring"), coloring::pool);
    let color_serials = all(&at.at_most_one("color-serial"), virtual_serial);
    let devices = all(&at.units("device"), device);
    let boot = at.child("boot").and_then(|node| boot(&node));
    at.finish();
    Some(Vm {
        name: name?,
        on_crash: on_crash?,
        on_reset: on_reset?,
        restart_limit: restart_limit?,
        vllc,
        warm_up,
        memory_budget: memory_budget?,
        compensation: compensation?,
        critical,
        vcpus: vcpus?,
        memory: memory?,
        gic: gic?,
        serial: serials?.pop(),
        pool: pools?.pop(),
        color_serial: color_serials?.pop(),
        devices: devices?,
        boot: boot?,
    })
}

/// A property that is `<1>` or not there.
fn one_or_absent(at: &Cursor<'_>, name: &str) -> bool {
    if !at.optional(name) {
        return false;
    }
    if let Some(number) = at.number(name).filter(|number| *number != 1) {
        at.wrong(name, format!("is {number}"), "write <1>, or remove the property");
    }
    true
}

fn event(at: &Cursor<'_>, name: &str) -> Option<OnEvent> {
    let word = at.word(name, &OnEvent::ALL.map(OnEvent::as_str))?;
    OnEvent::ALL.into_iter().find(|event| event.as_str() == word)
}

fn vcpus(at: &Cursor<'_>) -> Option<Vec<Vcpu>> {
    at.cell_counts(1, 0);
    let vcpus = numbered(&at.units("vcpu"), |vcpu| {
        let pcpu = vcpu.number("pcpu");
        let server = server::read(vcpu);
        let memory_budget = bandwidth::budget(vcpu);
        let hold = match vcpu.optional("hold-ns") {
            true => vcpu.long("hold-ns").map(Duration),
            false => Some(Duration(0)),
        };
        let entries = match vcpu.optional("hold-ns") {
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

fn memory(at: &Cursor<'_>) -> Option<Memory> {
    at.word("device_type", &["memory"]);
    if !at.optional("colors") {
        let map = at.mapping();
        at.finish();
        return map.map(|Mapping { ipa, host, size }| Memory { ipa, size, host, coloring: None });
    }
    let (ipa, host) = (at.region("reg"), at.region("host-reg"));
    at.named_after(ipa);
    let colors = at.long("colors").map(ColorSet::from_bits);
    at.finish();
    let (ipa, host): (_, Region<_>) = (ipa?, host?);
    let coloring = Some(Coloring { colors: colors?, area: host.size });
    Some(Memory { ipa: ipa.start, size: ipa.size, host: host.start, coloring })
}

fn virtual_gic(at: &Cursor<'_>) -> Option<VirtualGic> {
    let gic = match at.word("compatible", &["arm,gic-v3", "arm,gic-400"]) {
        Some("arm,gic-v3") => at
            .regions("reg", &["GICD", "GICR"])
            .map(|frames| VirtualGic::V3 { gicd: frames[0], gicr: frames[1] }),
        Some(_) => at
            .regions("reg", &["GICD", "GICC"])
            .map(|frames| VirtualGic::V2 { gicd: frames[0], gicc: frames[1] }),
        None => at.skip("reg"),
    };
    at.named_after(gic.map(|gic| gic.frames()[0].1));
    at.finish();
    gic
}

fn virtual_serial(at: &Cursor<'_>) -> Option<VirtualSerial> {
    at.word("compatible", &["arm,pl011"]);
    let registers = at.region("reg");
    at.named_after(registers);
    let interrupt = at.number("interrupts");
    at.finish();
    Some(VirtualSerial { registers: registers?, interrupt: IntId(interrupt?) })
}

fn device(at: &Cursor<'_>) -> Option<Device> {
    let compatible = at.strings("compatible");
    let registers = at.mapping();
    let guest = at.optional("interrupts").then(|| at.number("interrupts")).flatten();
    let host = at.optional("host-interrupts").then(|| at.number("host-interrupts")).flatten();
    if at.has("interrupts") != at.has("host-interrupts") {
        let (missing, other) = match at.has("interrupts") {
            true => ("host-interrupts", "interrupts"),
            false => ("interrupts", "host-interrupts"),
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
    let entry = at.long("entry");
    let bootargs = at.optional("bootargs").then(|| at.string("bootargs"));
    let kernel = at.child("kernel").and_then(|node| file(&node));
    let initrd = at.optional_child("initrd").map(|node| file(&node));
    let device_tree = at.optional_child("device-tree").map(|node| {
        let load = node.long("load");
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
    let file = at.string("file");
    let load = at.long("load");
    at.finish();
    Some(File { file: file?, load: Ipa(load?) })
}
