//! Makes a plan: decides the open parts of the description, and keeps and checks the given ones.

mod boot;
mod channels;
mod given;
mod links;
mod origins;
mod outline;
mod pcpus;
mod ram;
mod serial_lines;
mod servers;
mod words;

use std::collections::BTreeSet;

use abi::guest;
use abi::limits::{CPU_INTERFACE_BYTES, DISTRIBUTOR_BYTES, REDISTRIBUTOR_BYTES};
pub(super) use boot::boot;
pub use given::check_given;
pub(super) use origins::Origins;
pub use outline::outline;
use ram::Placed;

use units::Bytes;

use super::{
    Device, DeviceInterrupts, Gic, Llc, Mapping, PAGE, Plan, Platform, Resource, Serial, Vcpu,
    VirtualDevice, VirtualGic, Vm, check,
};
use crate::address::{IntId, Ipa, Pcpu, PhysicalAddress, Region};
use crate::description::{self, System, colors};
use crate::diagnostic::{Diagnostic, Errors, Place};
use crate::platform::{AnalysisOnly, BootSupport, Overheads};

/// RAM of the hypervisor if the description does not say.
pub const HYPERVISOR_MEMORY: Bytes = Bytes::mib(96);

/// Start of the RAM of a guest.
pub(super) const RAM: Ipa = Ipa(guest::RAM);
const GICD: (u64, Bytes) = (guest::GICD, Bytes(DISTRIBUTOR_BYTES));
const GICC: (u64, Bytes) = (guest::GICC, Bytes(CPU_INTERFACE_BYTES));
const UART: (u64, Bytes) = (guest::UART, PAGE);
const UART_INTERRUPT: IntId = IntId(guest::UART_INTERRUPT);
const DOORBELL: (u64, Bytes) = (guest::DOORBELL, PAGE);
const COLOR_UART: (u64, Bytes) = (guest::COLOR_UART, PAGE);
/// Lowest interrupt for the UART on which guests ask for colours.
const COLOR_UART_INTERRUPT: u32 = 34;
const BELL: (u64, Bytes) = (guest::BELL, PAGE);
/// Lowest interrupt for the bell.
const BELL_INTERRUPT: u32 = 35;

/// Returns the plan of a system. Paths of files in it are relative to the folder of the
/// description: see [`Plan::move_files`].
///
/// # Errors
///
/// All mistakes, each with its place in the description; or a part of the description is left to
/// the planner.
pub fn make(system: &System) -> Result<Plan, Errors> {
    closed(system)?;
    let support = support(system)?;
    let hypervisor = hypervisor(system, support);
    let mut mistakes = Vec::new();
    let pcpus = pcpus::assign(system, &mut mistakes);
    let cache = llc(system)?;
    let placed = ram(system, hypervisor, cache, &mut mistakes);
    Errors::unless_none(mistakes, ())?;
    let plan = assemble(system, support, (hypervisor, cache), &pcpus, placed);
    if let Some(kick) = plan.platform.kick.filter(|kick| *kick > Overheads::LONGEST) {
        let message = format!("an interrupt for a VCPU that waits can take {kick}");
        let help =
            format!("at most {} fit a plan: `kick` or `lock` is too long", Overheads::LONGEST);
        Err(Diagnostic::new("out-of-range", message)
            .at(&system.platform.place, "here")
            .help(help))?;
    }
    check(&plan).map_err(|errors| Origins::new(system, &plan).locate(errors))?;
    Ok(plan)
}

/// Returns the properties of the machine that a plan needs to boot.
fn support(system: &System) -> Result<&BootSupport, Errors> {
    let machine = &system.platform.value;
    machine.boot.as_ref().map_err(|AnalysisOnly(reason)| {
        let message = format!("a plan for `{}` cannot be booted: {reason}", machine.name);
        Diagnostic::new("analysis-only", message)
            .at(&system.platform.place, "this platform")
            .help("analyse the system on this platform, or name a board that can boot")
            .into()
    })
}

/// Returns the RAM in which the hypervisor is loaded.
fn hypervisor(system: &System, support: &BootSupport) -> Region<PhysicalAddress> {
    let size = system.hypervisor_memory.as_ref().map_or(HYPERVISOR_MEMORY, |size| size.value);
    Region { start: support.image_base, size }
}

/// Returns the cache that colours divide, if there are colours.
fn llc(system: &System) -> Result<Option<Llc>, Errors> {
    let machine = &system.platform.value;
    let mut colored = system.vms.iter().filter_map(|vm| vm.colors.as_ref());
    let Some(asks) = colored.next().or(system.hypervisor_colors.as_ref()) else { return Ok(None) };
    let geometry = machine.colors().map_err(|reason| colors::none(machine, reason, &asks.place))?;
    let in_registers = machine.last_level_cache().is_some_and(|cache| cache.in_registers);
    Ok(Some(Llc { geometry, in_registers }))
}

/// Places the RAM of the VMs, which has to be large enough for their files.
fn ram(
    system: &System,
    hypervisor: Region<PhysicalAddress>,
    cache: Option<Llc>,
    mistakes: &mut Vec<Diagnostic>,
) -> Placed {
    let placed = ram::place(system, hypervisor, cache.map(|cache| cache.geometry), mistakes);
    mistakes.extend(system.vms.iter().filter_map(boot::too_small));
    placed
}

/// Puts the parts of a plan together, of which these are decided.
fn assemble(
    system: &System,
    support: &BootSupport,
    (hypervisor, llc): (Region<PhysicalAddress>, Option<Llc>),
    pcpus: &[Vec<Pcpu>],
    placed: Placed,
) -> Plan {
    let Placed { hypervisor: hypervisor_area, vms: memory, channels } = placed;
    let machine = &system.platform.value;
    let used = |pcpu: u32| pcpus.iter().flatten().any(|other| other.0 == pcpu);
    let serves_console = console(machine.cpus.len(), used);
    let vcpus = servers::vcpus(system, pcpus);
    let overheads = machine.overheads.filter(|_| share(&vcpus));
    let kick = overheads.and(system.kicks()).map(|(kick, _)| kick);
    let platform = Platform {
        switch: overheads.map(|it| it.switch),
        kick,
        board: machine.name.clone(),
        memory: machine.memory.clone(),
        hypervisor,
        hypervisor_area,
        cpus: machine.cpus.iter().map(|cpu| cpu.mpidr).collect(),
        spin_table: machine.cpus.iter().filter_map(|cpu| cpu.release).collect(),
        power_off: support.power_off,
        gic: support.gic,
        serial: Serial {
            kind: support.console.kind,
            registers: support.console.registers,
            interrupt: support.console.interrupt,
            pcpu: Pcpu(serves_console),
        },
        llc,
        bandwidth_counter: machine.bandwidth_counter().filter(|_| system.counts_accesses()),
    };
    let vms = system.vms.iter().zip(vcpus).zip(memory);
    let vms = vms.enumerate().map(|(index, ((described, vcpus), (memory, pool)))| Vm {
        name: described.name.value.clone(),
        lifecycle: described.lifecycle,
        vllc: described.vllc,
        memory_budget: machine
            .bandwidth
            .as_ref()
            .and_then(|counter| described.bandwidth.as_ref()?.budget(counter)),
        compensation: described.compensation.as_ref().map(|credits| credits.value),
        critical: described.critical.is_some(),
        gic: virtual_gic(&support.gic, vcpus.len()),
        vcpus,
        memory: vec![memory],
        serial: described.console.then(|| VirtualDevice {
            registers: Region::new(UART.0, UART.1),
            interrupt: UART_INTERRUPT,
        }),
        pool,
        color_serial: color_serial(described),
        bell: bell(system, index),
        devices: described.devices.iter().map(device).collect(),
        boot: boot(described),
    });
    let kept = system.resources.iter().filter(|resource| resource.inter_vm);
    let serial_lines = serial_lines::serial_lines(system);
    Plan {
        name: system.name.clone(),
        platform,
        locks: system.locks,
        resources: kept.map(resource).collect(),
        channels: channels::channels(system, &channels),
        links: links::links(system, &serial_lines),
        serial_lines,
        vms: vms.collect(),
    }
}

/// Returns the VCPUs of every VM, on their PCPUs and with their priorities: as in the plan, but
/// also for machines that cannot boot one.
///
/// # Errors
///
/// PCPUs that do not exist or are too few; or a part of the description is left to the planner.
pub fn assign(system: &System) -> Result<Vec<Vec<Vcpu>>, Errors> {
    closed(system)?;
    let mut mistakes = Vec::new();
    let pcpus = pcpus::assign(system, &mut mistakes);
    Errors::unless_none(mistakes, servers::vcpus(system, &pcpus))
}

/// Returns the PCPU, of this number, that serves the console: the last one on which no VCPU runs,
/// or the last one.
pub fn console(pcpus: usize, used: impl Fn(u32) -> bool) -> u32 {
    let count = pcpus as u32;
    (0..count).rev().find(|pcpu| !used(*pcpu)).unwrap_or(count.saturating_sub(1))
}

/// Returns true if VCPUs share a PCPU.
fn share(vcpus: &[Vec<Vcpu>]) -> bool {
    let mut seen = BTreeSet::new();
    !vcpus.iter().flatten().all(|vcpu| seen.insert(vcpu.pcpu))
}

/// Checks that nothing is left to the planner, which needs the analysis.
fn closed(system: &System) -> Result<(), Errors> {
    let mut mistakes = Vec::new();
    let mut open = |place: &Place, what: &str| {
        let mistake = Diagnostic::new("not-planned", format!("{what} not planned yet"));
        mistakes.push(mistake.at(place, "of this").help("give it, or use `bulkhead plan`"));
    };
    if let Some(place) = &system.locks_open {
        open(place, "the protocol of locks is");
    }
    for vm in &system.vms {
        if let Some(place) = &vm.colors_open {
            open(place, "colours are");
        }
        for server in vm.vcpus.iter().filter_map(|vcpu| vcpu.server.as_ref()) {
            if server.open {
                open(&server.class.place, "a budget is");
            }
            if let Some(place) = &server.kind_open {
                open(place, "the kind of a server is");
            }
            if let Some(place) = &server.overrun_open {
                open(place, "an overrun is");
            }
        }
        if let Some(place) = &vm.vcpus_open {
            open(place, "a number of VCPUs is");
        }
        for task in vm.tasks.iter().filter(|task| task.vcpu_open) {
            open(&task.name.place, "the VCPU of a task is");
        }
    }
    for limit in system.limits().filter(|limit| limit.is_open()) {
        open(&limit.amount.place, "a limit of memory accesses is");
    }
    Errors::unless_none(mistakes, ())
}

fn virtual_gic(host: &Gic, vcpus: usize) -> VirtualGic {
    let gicd = Region::new(GICD.0, GICD.1);
    match host {
        Gic::V2 { .. } => VirtualGic::V2 { gicd, gicc: Region::new(GICC.0, GICC.1) },
        Gic::V3 { .. } => {
            let size = Bytes(REDISTRIBUTOR_BYTES * vcpus as u64);
            VirtualGic::V3 { gicd, gicr: Region::new(guest::GICR, size) }
        }
    }
}

fn resource(resource: &description::Resource) -> Resource {
    Resource {
        name: resource.name.value.clone(),
        vms: resource.vms.iter().map(|vm| *vm as u32).collect(),
    }
}

/// Returns the UART on which closed guests ask for colours, with an interrupt that no device of the
/// VM has.
fn color_serial(vm: &description::Vm) -> Option<VirtualDevice> {
    vm.extra.as_ref().filter(|extra| extra.serial)?;
    let registers = Region::new(COLOR_UART.0, COLOR_UART.1);
    Some(VirtualDevice { registers, interrupt: free_interrupt(vm, COLOR_UART_INTERRUPT)? })
}

/// Returns the bell of the VM with this index, with an interrupt that nothing else of the VM has.
fn bell(system: &System, index: usize) -> Option<VirtualDevice> {
    let vm = system.vms.get(index)?;
    let has = |it: &description::Channel| it.from == index || it.to.contains(&index);
    system.channels.iter().find(|it| it.rings.is_some() && has(it))?;
    let lowest = color_serial(vm).map_or(0, |it| it.interrupt.0 + 1).max(BELL_INTERRUPT);
    let registers = Region::new(BELL.0, BELL.1);
    Some(VirtualDevice { registers, interrupt: free_interrupt(vm, lowest)? })
}

/// Returns an interrupt, this one or the next, that no device of the VM has.
fn free_interrupt(vm: &description::Vm, lowest: u32) -> Option<IntId> {
    let is_taken = |interrupt: &u32| {
        vm.devices.iter().any(|device| device.interrupt.is_some_and(|(_, it)| it.0 == *interrupt))
    };
    (lowest..).find(|interrupt| !is_taken(interrupt)).map(IntId)
}

fn device(device: &description::Device) -> Device {
    Device {
        compatible: device.compatible.clone(),
        registers: Mapping { ipa: device.guest_address, host: device.address, size: device.size },
        interrupts: device.interrupt.map(|(host, guest)| DeviceInterrupts { guest, host }),
    }
}
