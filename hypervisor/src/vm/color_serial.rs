//! Drives the serial port on which closed guests ask for colours: with the counter, the timers of
//! the VM's CPUs, and notes between the CPUs. A VCPU is sampled only while it is the one to run.

use core::ops::{Deref, DerefMut};

use super::work::Work;
use super::{GicEnv, Power, Vm};
use crate::arch::{cpu, regs};
use crate::lock::MutexGuard;
use crate::pcpu::{Assignment, Pcpu};
use crate::stage1::Space;
use crate::timer::Purpose;
use crate::vdev::color_serial::{ColorSerial, Outcome};

/// Serves an access of the guest to the port; `None` if the guest has no port.
#[inline(never)]
pub fn access(at: &Assignment, offset: u64, bytes: u64, write: Option<u64>) -> Option<u64> {
    let mut port = Port::of(at.vm)?;
    let Some(value) = write else { return Some(port.read(offset, bytes as usize)) };
    let time = (cpu::now(), regs::cntfrq_el0::read());
    if port.write(offset, bytes as usize, value, at.vcpu.index, time) == Outcome::Sample {
        for vcpu in &at.vm.vcpus {
            if vcpu.attention.tell(false) {
                vcpu.pcpu.kick();
            }
        }
    }
    Some(0)
}

/// Attends to a VCPU of this CPU that executes or waits: if it executes, it may have to be sampled, by a timer that would
/// interrupt others if it waits. Or its guest has the task whose pages are to move, which is work of this VCPU.
#[inline(never)]
pub fn attend(at: &Assignment, pcpu: &'static Pcpu) {
    let Some(mut port) = Port::of(at.vm) else { return };
    if let Some(next) = port.first_sample(cpu::now())
        && pcpu.is_next(at)
    {
        pcpu.advance_deadline(Purpose::Sampling, next);
    }
    if at.vcpu.work.is_busy() {
        return; // and takes this afterwards
    }
    let Some(found) = port.take(at.vcpu.index) else { return };
    drop(port);
    at.vcpu.work.set(Some(Work::Port(found)));
}

/// A VCPU goes off: if a task was found on it, the task has to ask again.
pub(super) fn leave(at: &Assignment) {
    if take(at).is_some() {
        finish(at.vm, None);
    }
}

/// Returns the work that a task on the port requests of a VCPU.
#[inline(never)]
pub(super) fn take(at: &Assignment) -> Option<Work> {
    Port::of(at.vm)?.take(at.vcpu.index).map(Work::Port)
}

/// The request of a task on the port is complete, or cannot be served now (`None`).
#[inline(never)]
pub(super) fn finish(vm: &'static Vm, result: Option<i64>) {
    if let Some(mut port) = Port::of(vm) {
        port.finish(result);
    }
}

/// A VCPU does not wait any more: when it is entered, it is attended to.
#[inline(always)]
pub fn wake(at: &Assignment) {
    if at.vm.color_serial.is_some() {
        at.vcpu.attention.tell(false);
    }
}

/// Samples a VCPU of this CPU; `at_el0`: the VCPU was interrupted at EL0.
#[inline(never)]
pub fn sample(at: &Assignment, pcpu: &'static Pcpu, at_el0: bool) {
    let Some(mut port) = Port::of(at.vm) else { return };
    if !pcpu.is_next(at) {
        // The VCPU continues when it runs again.
        at.vcpu.attention.tell(false);
        return;
    }
    let table = at_el0.then(|| Space::current().table());
    match port.sample(at.vcpu.index, cpu::now(), table) {
        Outcome::Again(next) => pcpu.advance_deadline(Purpose::Sampling, next),
        Outcome::Found(vcpu) => {
            let found = at.vm.vcpus.get(vcpu).filter(|vcpu| vcpu.power() == Power::On);
            match found {
                Some(vcpu) if vcpu.attention.tell(true) => vcpu.pcpu.kick(),
                Some(_) => {}
                None => {
                    port.take(vcpu);
                    port.finish(None);
                }
            }
        }
        _ => {}
    }
}

/// Resets the port.
pub(super) fn reset(vm: &'static Vm) {
    if let Some(mut port) = Port::of(vm) {
        port.reset();
    }
}

/// The port of a VM, locked. Its interrupt line follows its state before others can lock the port.
struct Port {
    vm: &'static Vm,
    port: MutexGuard<'static, ColorSerial>,
}

impl Port {
    #[inline(never)]
    fn of(vm: &'static Vm) -> Option<Self> {
        Some(Self { vm, port: vm.color_serial.as_ref()?.lock() })
    }
}

impl Drop for Port {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some((_, intid)) = self.vm.plan.color_serial {
            self.vm.gic.set_line(&GicEnv::any(self.vm), intid, self.port.interrupt());
        }
    }
}

impl Deref for Port {
    type Target = ColorSerial;

    fn deref(&self) -> &ColorSerial {
        &self.port
    }
}

impl DerefMut for Port {
    fn deref_mut(&mut self) -> &mut ColorSerial {
        &mut self.port
    }
}
