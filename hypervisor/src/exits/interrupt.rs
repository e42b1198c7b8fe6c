//! Interrupts of the machine: for the guest that runs here, for the console, or
//! between the CPUs.

use bulkhead_abi::trace::Kind;

use crate::arch::context::Context;
use crate::arch::{cpu, gicv3};
use crate::machine;
use crate::pcpu::{Assignment, CONSOLE_TIMER, KICK, Pcpu};
use crate::vm::{GicEnv, Power};

const MAINTENANCE: u32 = 25;
const HYPERVISOR_TIMER: u32 = 26;
const VIRTUAL_TIMER: u32 = 27;
/// INTIDs from here on say that there is no interrupt.
const SPECIAL: u32 = 1020;

/// An interrupt while the guest of this CPU ran.
#[inline]
pub fn interrupt(_: &mut Context, pcpu: &'static Pcpu) {
    let intid = gicv3::acknowledge();
    let Some(at) = pcpu.assignment() else { cpu::halt() };
    pcpu.count_interrupt();
    pcpu.record(at, Kind::ExitIrq, u64::from(intid));
    if intid == VIRTUAL_TIMER {
        gicv3::end(intid);
        at.vm.gic.hardware_interrupt(&GicEnv::of(at), at.vcpu.index, intid);
        return;
    }
    other(intid, pcpu);
    if at.vm.is_stopping() {
        at.vm.park(at, pcpu)
    }
}

/// Serves one interrupt while the CPU is in EL2; `false` if none is pending.
pub fn serve_interrupt(pcpu: &'static Pcpu) -> bool {
    if !cpu::interrupt_pending() {
        return false;
    }
    other(gicv3::acknowledge(), pcpu);
    true
}

#[inline(never)]
fn other(intid: u32, pcpu: &'static Pcpu) {
    if intid >= SPECIAL {
        return;
    }
    gicv3::end(intid);
    let running = pcpu.assignment().filter(|at| at.vcpu.power() == Power::On);
    let mut keep_active = false;
    match intid {
        KICK => {
            if let Some(at) = running {
                at.vm.gic.kicked(&GicEnv::of(at), at.vcpu.index);
            }
        }
        VIRTUAL_TIMER => {
            // Of a guest that waits for EL2. Without one the timer is off.
            if let Some(at) = running {
                keep_active = true;
                at.vm.gic.hardware_interrupt(&GicEnv::of(at), at.vcpu.index, intid);
            }
        }
        MAINTENANCE => {
            if let Some(at) = running {
                at.vm.gic.maintenance(&GicEnv::of(at), at.vcpu.index);
            }
        }
        HYPERVISOR_TIMER => machine::console_timer(),
        CONSOLE_TIMER => machine::start_console_timer(),
        _ if intid == machine::uart_interrupt() => machine::console_interrupt(),
        32.. => keep_active = pcpu.assignment().is_some_and(|at| device(intid, at)),
        _ => {}
    }
    if !keep_active {
        gicv3::deactivate(intid);
    }
}

/// Gives the interrupt of an assigned device to the guest, which deactivates it.
///
/// If its VCPU is off, the interrupt waits in the guest's controller and stays active:
/// a level would otherwise fire again at once, without end.
fn device(intid: u32, at: &Assignment) -> bool {
    at.vm.gic.hardware_interrupt(&GicEnv::of(at), at.vcpu.index, intid);
    true
}
