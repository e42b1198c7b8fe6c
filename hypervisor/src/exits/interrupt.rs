//! Interrupts of the machine: for a guest of this CPU, for the console, or between the CPUs.

use bulkhead_abi::trace::Kind;

use crate::arch::context::Context;
use crate::arch::{cpu, gicv3};
use crate::machine;
use crate::pcpu::{COLOR_SERIAL, CONSOLE_TIMER, KICK, Pcpu};
use crate::timer::Purpose;
use crate::vm::{GicEnv, VIRTUAL_TIMER, color_serial};

const MAINTENANCE: u32 = 25;
const HYPERVISOR_TIMER: u32 = 26;
/// Of PSTATE: 0 is EL0, in AArch64 and AArch32.
const MODE: u64 = 0xf;
/// INTIDs from here on say that there is no interrupt.
const SPECIAL: u32 = 1020;

/// An interrupt while the guest of this CPU ran.
#[inline]
pub fn interrupt(context: &mut Context, pcpu: &'static Pcpu) {
    let intid = gicv3::acknowledge();
    let Some(at) = pcpu.loaded() else { cpu::halt() };
    at.vcpu.count_interrupt();
    if intid != HYPERVISOR_TIMER {
        // What that one means has records of its own.
        pcpu.record(at, Kind::ExitIrq, u64::from(intid));
    }
    if intid == VIRTUAL_TIMER {
        gicv3::end(intid);
        at.vm.gic.hardware_interrupt(&GicEnv::of(at), at.vcpu.index, intid);
        return;
    }
    let at_el0 = context.pstate & MODE == 0;
    if intid == HYPERVISOR_TIMER {
        // Mostly the end of a budget.
        gicv3::end(intid);
        timer(at_el0, pcpu);
        gicv3::deactivate(intid);
    } else {
        other(intid, at_el0, pcpu);
        if at.vcpu.work.is_busy() {
            pcpu.idle() // which does the work, or something more urgent
        }
    }
    if at.vm.is_stopping() {
        at.vm.park(at, pcpu)
    }
    pcpu.go_on(at);
}

/// Serves one interrupt while the CPU is in EL2; `false` if none is pending.
pub fn serve_interrupt(pcpu: &'static Pcpu) -> bool {
    if !cpu::interrupt_pending() {
        return false;
    }
    other(gicv3::acknowledge(), false, pcpu);
    true
}

/// `at_el0`: a guest was interrupted there.
#[inline(never)]
fn other(intid: u32, at_el0: bool, pcpu: &'static Pcpu) {
    if intid >= SPECIAL {
        return;
    }
    gicv3::end(intid);
    let mut keep_active = false;
    match intid {
        KICK => pcpu.look(),
        VIRTUAL_TIMER => {
            // Of a guest that waits, or waits for EL2. Without one the timer is off.
            if let Some(at) = pcpu.loaded() {
                keep_active = true;
                at.vm.gic.hardware_interrupt(&GicEnv::of(at), at.vcpu.index, intid);
                pcpu.notice(at);
            }
        }
        MAINTENANCE => {
            if let Some(at) = pcpu.loaded() {
                at.vm.gic.maintenance(&GicEnv::of(at), at.vcpu.index);
                pcpu.notice(at);
            }
        }
        HYPERVISOR_TIMER => timer(at_el0, pcpu),
        CONSOLE_TIMER => machine::start_console_timer(pcpu),
        COLOR_SERIAL => {
            for at in pcpu.assignments() {
                color_serial::called(at, pcpu);
            }
        }
        _ if intid == machine::uart_interrupt() => machine::console_interrupt(),
        32.. => keep_active = device(intid, pcpu),
        _ => {}
    }
    if !keep_active {
        gicv3::deactivate(intid);
    }
}

/// The hypervisor's timer: every deadline that has passed.
fn timer(at_el0: bool, pcpu: &'static Pcpu) {
    if pcpu.take_deadline(Purpose::Scheduling) {
        pcpu.tick();
    }
    if pcpu.take_deadline(Purpose::Console) {
        machine::console_timer(pcpu);
    }
    if pcpu.take_deadline(Purpose::Sampling) {
        for at in pcpu.assignments() {
            color_serial::sample(at, pcpu, at_el0 && pcpu.has_loaded(at));
        }
    }
    if pcpu.take_deadline(Purpose::Alarm) {
        pcpu.alarm();
    }
    pcpu.program_timer();
}

/// Gives the interrupt of an assigned device to the guest, which deactivates it; `false` if no
/// guest of this CPU has the device.
///
/// If its VCPU is off, the interrupt waits in the guest's controller and stays active:
/// a level would otherwise fire again at once, without end.
fn device(intid: u32, pcpu: &'static Pcpu) -> bool {
    let owner = pcpu.assignments().iter().find(|at| at.vm.gic.owns(intid));
    let Some(at) = owner else { return false };
    at.vm.gic.hardware_interrupt(&GicEnv::at(at, pcpu), at.vcpu.index, intid);
    pcpu.notice(at);
    true
}
