//! Makes a VM from the plan, at boot.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;

use super::coloring::Coloring;
use super::lifecycle::Lifecycle;
use super::stolen_time::TimePage;
use super::{VIRTUAL_TIMER, Vcpu, Vm, audit, bell, link, port};
use crate::arch::cpu;
use crate::arch::page_table::{Frames, MapError, PAGE_BYTES};
use crate::arch::percpu::StaticRef;
use crate::arch::stage2::Stage2;
use crate::board;
use crate::lock::Mutex;
use crate::payload::BlobName;
use crate::pcpu::Pcpu;
use crate::plan::{self, Mapping, Problem, Ram, Range, Refusal};
use crate::vdev::color_serial::ColorSerial;
use crate::vdev::gic::{GicConfig, VGic};
use crate::vdev::pl011::Pl011;
use crate::vdev::wire::Wire;

/// Minimum number of shared interrupts of a VM, used or not.
const SPIS_MIN: u32 = 64;

/// Makes VM `index`: tables, devices, memory with its images. `image` gives a
/// verified blob. `wires`: those of all serial lines, see [`port::Ports::new`].
#[inline(never)]
pub fn build(
    index: usize,
    plan: plan::Vm<'static>,
    pcpus: &[&'static Pcpu],
    wires: &[&'static Wire],
    image: &dyn Fn(BlobName<'static>) -> &'static [u8],
) -> Result<&'static Vm, Refusal<'static>> {
    let mut stage2 = map(index, &plan)?;
    let time = map_time(&mut stage2, &plan);
    let mut progress = audit::Progress::default();
    let audited = loop {
        let result = audit::chunk(&mut progress, &stage2, &plan, &mut |_, _| false);
        if let Some(result) = result {
            break result;
        }
    };
    audited.map_err(|address| plan.node.node_error(Problem::Audit(address)))?;
    let (gic, spis) = interrupts(&plan);
    let gic = VGic::new(&GicConfig {
        vcpus: plan.vcpus.len(),
        spis,
        private: &[VIRTUAL_TIMER],
        shared: &gic,
        v2: plan.gic.cpu.is_some(),
    })
    .map_err(|error| plan.node.nth("interrupt-controller", 0).node_error(Problem::Gic(error)))?;
    let coloring = coloring(&plan)?;
    let mut memory = Vec::new();
    for region in &plan.memory {
        memory.push((region.guest, board::memory::guest_memory(region)));
    }
    let mut images = Vec::new();
    for load in &plan.boot.loads {
        images.push((load.address, image(load.blob)));
    }
    let vm: &'static Vm = Box::leak(Box::new(Vm {
        index,
        gic,
        uart: plan.serial.map(|_| uart()),
        color_serial: plan.color_serial.map(|_| color_serial(plan.vcpus.len())),
        vcpus: vcpus(&plan, pcpus),
        stage2,
        time,
        memory,
        images,
        coloring,
        pool: StaticRef::empty(),
        lifecycle: Mutex::new(Lifecycle::new()),
        relieved: AtomicBool::new(false),
        rung: AtomicBool::new(false),
        rings: rings(&plan),
        ports: port::Ports::new(&plan.serial_lines, wires),
        links: link::Links::new(&plan.links),
        has_ends: !plan.serial_lines.is_empty() || !plan.links.is_empty(),
        stopping: AtomicBool::new(false),
        plan,
    }));
    vm.reset_devices();
    vm.load();
    Ok(vm)
}

// Large values are made in separate functions, one after the other on the stack.

#[inline(never)]
fn vcpus(plan: &plan::Vm<'_>, pcpus: &[&'static Pcpu]) -> Vec<Vcpu> {
    let mut vcpus = Vec::new();
    for vcpu in &plan.vcpus {
        vcpus.push(Vcpu::new(vcpus.len(), pcpus[vcpu.pcpu]));
    }
    vcpus
}

#[inline(never)]
fn rings(plan: &plan::Vm<'_>) -> Vec<bell::Rings> {
    let mut rings = Vec::new();
    for end in &plan.channels {
        if let Some(ring) = &end.ring {
            rings.push(bell::Rings::new(ring));
        }
    }
    rings
}

#[inline(never)]
fn coloring(plan: &plan::Vm<'static>) -> Result<Option<Box<Mutex<Coloring>>>, Refusal<'static>> {
    let (Some(coloring), Some(ram)) = (&plan.coloring, plan.memory.first()) else {
        return Ok(None);
    };
    match Coloring::new(coloring, ram, plan.is_limited()) {
        Some(coloring) => Ok(Some(Box::new(Mutex::new(coloring)))),
        None => Err(plan.node.nth("coloring", 0).error("frames", Problem::Text("are too many"))),
    }
}

#[inline(never)]
fn uart() -> Box<Mutex<Pl011>> {
    Box::new(Mutex::new(Pl011::new()))
}

#[inline(never)]
fn color_serial(vcpus: usize) -> Box<Mutex<ColorSerial>> {
    Box::new(Mutex::new(ColorSerial::new(vcpus)))
}

/// Returns the stage-2 tables.
#[inline(never)]
fn map(index: usize, plan: &plan::Vm<'static>) -> Result<Stage2, Refusal<'static>> {
    let frames = match plan.colored() {
        Some((ram, area)) => board::memory::table_frames(ram, area),
        None => Frames::HEAP,
    };
    let Some(mut stage2) = Stage2::new(index as u8 + 1, frames) else {
        return Err(plan.node.node_error(Problem::Text("no memory left for stage-2 tables")));
    };
    for (number, region) in plan.memory.iter().enumerate() {
        if let Err(error) = map_ram(&mut stage2, region, plan.warm_up) {
            let node = plan.node.nth("memory", number);
            return Err(node.node_error(Problem::Map(region.guest, error)));
        }
    }
    for (number, device) in plan.devices.iter().enumerate() {
        let Range { start, bytes } = device.registers.guest;
        if let Err(error) = stage2.map_device(start, device.registers.host, bytes) {
            let node = plan.node.nth("device", number);
            return Err(node.node_error(Problem::Map(device.registers.guest, error)));
        }
    }
    for plan::End { memory: Mapping { guest, host }, writes, .. } in &plan.channels {
        if let Err(error) = stage2.map_channel(guest.start, *host, guest.bytes, *writes) {
            return Err(plan.node.node_error(Problem::Map(*guest, error)));
        }
    }
    // The guest's CPU interface is the machine's virtual one.
    if let Some(Mapping { guest, host }) = plan.gic.cpu
        && let Err(error) = stage2.map_device(guest.start, host, guest.bytes)
    {
        let node = plan.node.nth("interrupt-controller", 0);
        return Err(node.node_error(Problem::Map(guest, error)));
    }
    Ok(stage2)
}

/// Maps and returns the page on which the VCPUs of a VM read how much time was stolen from them, if
/// they share PCPUs. A VM without a free address for the page gets none.
#[inline(never)]
fn map_time(stage2: &mut Stage2, plan: &plan::Vm<'static>) -> Option<TimePage> {
    let address = plan.time_page()?;
    let page = TimePage::new()?;
    let frame = cpu::physical(page.address())?;
    stage2.map_constant(address, frame, PAGE_BYTES).ok()?;
    Some(page)
}

/// Maps RAM: with colours or on first touch page by page, otherwise in the largest blocks.
fn map_ram(stage2: &mut Stage2, ram: &Ram, warm_up: bool) -> Result<(), MapError> {
    let Range { start, bytes } = ram.guest;
    if ram.colors.is_none() && warm_up {
        return stage2.map_ram(start, ram.host.start, bytes);
    }
    stage2.reserve_ram(start, bytes)?;
    if warm_up {
        let memory = board::memory::guest_memory(ram);
        for page in 0..ram.pages() {
            stage2.touch(start + page * PAGE_BYTES, memory.frame(page));
        }
    }
    Ok(())
}

/// Returns all pairs `(INTID in the guest, INTID of the machine)`, and the number of shared
/// interrupts that the guest's controller must have for them and for the devices that the hypervisor emulates.
fn interrupts(plan: &plan::Vm<'_>) -> (Vec<(u32, u32)>, u32) {
    let mut all = Vec::new();
    let mut spis = SPIS_MIN;
    for intid in plan.device_interrupts() {
        spis = spis.max(intid - 31);
    }
    for device in &plan.devices {
        for &(guest, host) in &device.interrupts {
            all.push((guest, host));
            spis = spis.max(guest - 31);
        }
    }
    (all, spis)
}
