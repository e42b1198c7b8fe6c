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
        gic: VGic::new(&GicConfig { vcpus: vcpus.len(), interrupts: &interrupts }),
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
