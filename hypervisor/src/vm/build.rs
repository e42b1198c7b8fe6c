//! Makes a VM from the plan, at boot.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;

use spin::Mutex;

use super::lifecycle::Lifecycle;
use super::{Vcpu, Vm};
use crate::arch::memory::GuestMemory;
use crate::arch::stage2::Stage2;
use crate::board;
use crate::pcpu::{Assignment, Pcpu};
use crate::plan::{self, PlanError};
use crate::vdev::gic::{GicConfig, VGic};
use crate::vdev::pl011::Pl011;

/// Shared interrupts that every VM has at least, used or not.
const SPIS_MIN: u32 = 64;
/// INTID of the virtual timer.
const VIRTUAL_TIMER: u32 = 27;

/// Makes VM `index`: tables, devices, memory with its images. `image` gives a
/// verified blob.
pub fn build(
    index: usize,
    plan: plan::Vm,
    pcpus: &[&'static Pcpu],
    mut image: impl FnMut(&str) -> &'static [u8],
) -> Result<&'static Vm, PlanError> {
    let failed = |what: &str, error: &dyn core::fmt::Debug| PlanError {
        node: plan.node.clone(),
        property: None,
        problem: format!("{what}: {error:?}"),
    };
    let mut stage2 =
        Stage2::new(index as u8 + 1).ok_or_else(|| failed("stage-2 tables", &"no memory left"))?;
    for region in &plan.memory {
        stage2
            .map_ram(region.guest.start, region.host, region.guest.bytes)
            .map_err(|error| failed("memory cannot be mapped", &error))?;
    }
    for device in &plan.devices {
        let registers = device.registers;
        stage2
            .map_device(registers.guest.start, registers.host, registers.guest.bytes)
            .map_err(|error| failed("device cannot be mapped", &error))?;
    }
    let interrupts: Vec<(u32, u32)> =
        plan.devices.iter().flat_map(|device| device.interrupts.iter().copied()).collect();
    let own = plan.serial.iter().map(|&(_, intid)| intid);
    let last = own.chain(interrupts.iter().map(|&(guest, _)| guest)).max().unwrap_or(0);
    let gic = VGic::new(&GicConfig {
        vcpus: plan.vcpus.len(),
        spis: (last + 1).saturating_sub(32).max(SPIS_MIN),
        private: &[VIRTUAL_TIMER],
        shared: &interrupts,
    })
    .map_err(|error| failed("interrupt controller", &error))?;
    let memory: Vec<(plan::Range, GuestMemory)> = plan
        .memory
        .iter()
        .map(|region| (region.guest, board::memory::guest_memory(region.host_range())))
        .collect();
    let images = plan.boot.loads.iter().map(|load| (load.address, image(&load.blob))).collect();
    let vcpus: Vec<Vcpu> = plan
        .vcpus
        .iter()
        .enumerate()
        .map(|(number, &pcpu)| Vcpu::new(number, pcpus[pcpu]))
        .collect();
    let vm: &'static Vm = Box::leak(Box::new(Vm {
        index,
        gic,
        uart: plan.serial.map(|_| Mutex::new(Pl011::new())),
        vcpus,
        stage2,
        memory,
        images,
        lifecycle: Mutex::new(Lifecycle::new()),
        stopping: AtomicBool::new(false),
        plan,
    }));
    for vcpu in &vm.vcpus {
        vcpu.pcpu.assign(Assignment { vm, vcpu });
    }
    vm.reset_devices();
    vm.load();
    Ok(vm)
}
