//! Drives the serial port on which closed guests ask for colours: with the counter, the
//! timers of the VM's CPUs, and an interrupt between them.

use super::{GicEnv, Power, Vm};
use crate::arch::{cpu, gicv3, regs};
use crate::pcpu::{Assignment, COLOR_SERIAL, Pcpu};
use crate::stage1::Space;
use crate::timer::Purpose;
use crate::vdev::color_serial::{ColorSerial, Outcome};

/// An access of the guest to the port; `None` if it has none.
pub fn access(at: &Assignment, offset: u64, bytes: u64, write: Option<u64>) -> Option<u64> {
    let (size, time) = (bytes as usize, (cpu::now(), regs::cntfrq_el0::read()));
    with(at.vm, |port| match write {
        None => port.read(offset, size),
        Some(value) => {
            if port.write(offset, size, value, at.vcpu.index, time) == Outcome::Sample {
                for vcpu in &at.vm.vcpus {
                    gicv3::send_sgi(vcpu.pcpu.mpidr, COLOR_SERIAL);
                }
            }
            0
        }
    })
}

/// Another CPU calls this one, or it calls itself: its VCPU is to be sampled, or its guest has
/// the task whose pages are to be moved.
pub fn called(at: &Assignment, pcpu: &'static Pcpu) {
    let (vm, now) = (at.vm, cpu::now());
    let work = with(vm, |port| (port.next_sample(now), port.take(at.vcpu.index)));
    let Some((next, found)) = work else { return };
    if let Some(next) = next {
        pcpu.set_deadline(Purpose::Sampling, next);
    }
    let Some(found) = found else { return };
    // The address space is that of the guest in this CPU's registers, if it is still there.
    let runs = at.vcpu.power() == Power::On && !vm.is_stopping();
    let result = runs.then(|| {
        let space = Space { ttbr0: found.table, ..Space::current() };
        vm.request_colors(space, found.colors.bits(), at, pcpu)
    });
    with(vm, |port| port.finish(result));
}

/// Samples the VCPU of this CPU; `at_el0`: it was interrupted there.
pub fn sample(at: &Assignment, pcpu: &'static Pcpu, at_el0: bool) {
    let (vcpu, now) = (at.vcpu.index, cpu::now());
    let table = at_el0.then(|| Space::current().table());
    match with(at.vm, |port| port.sample(vcpu, now, table)) {
        Some(Outcome::Again(next)) => pcpu.set_deadline(Purpose::Sampling, next),
        Some(Outcome::Found(vcpu)) => gicv3::send_sgi(at.vm.vcpus[vcpu].pcpu.mpidr, COLOR_SERIAL),
        _ => {}
    }
}

/// Resets the port.
pub(super) fn reset(vm: &'static Vm) {
    with(vm, ColorSerial::reset);
}

/// Does something with the port of a VM, if it has one, and sets its interrupt line: under
/// the port's lock, so that the line follows its state.
fn with<T>(vm: &'static Vm, act: impl FnOnce(&mut ColorSerial) -> T) -> Option<T> {
    let mut port = vm.color_serial.as_ref()?.lock();
    let result = act(&mut port);
    if let Some((_, intid)) = vm.plan.color_serial {
        vm.gic.set_line(&GicEnv::any(vm), intid, port.interrupt());
    }
    Some(result)
}
