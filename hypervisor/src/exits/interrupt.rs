//! Interrupts of the machine: for a guest of this CPU, for the console, or between the CPUs.

use abi::trace::Kind;

use crate::arch::context::Context;
use crate::arch::cpu;
use crate::arch::gic::{self, HYPERVISOR_TIMER, MAINTENANCE};
use crate::machine;
use crate::pcpu::{CONSOLE_TIMER, KICK, Pcpu};
use crate::timer::Purpose;
use crate::vm::{GicEnv, VIRTUAL_TIMER, color_serial, port};

/// Bits of PSTATE: exception level and stack pointer, or the mode in AArch32.
const MODE: u64 = 0xf;
/// EL0 in AArch64 and AArch32; EL2.
const EL0: u64 = 0;
const EL2: u64 = 9;

/// An interrupt while the guest of this CPU ran, which came at `now`.
#[inline]
pub fn interrupt(context: &mut Context, pcpu: &'static Pcpu, now: u64) {
    let intid = gic::acknowledge();
    let Some(at) = pcpu.loaded() else { cpu::halt() };
    at.vcpu.count_interrupt();
    if intid == VIRTUAL_TIMER {
        pcpu.record_at(now, Some(at), Kind::ExitIrq, u64::from(intid));
        gic::end(intid);
        at.vm.gic.hardware_interrupt(&GicEnv::of(at), at.vcpu.index, intid);
        return;
    }
    let mode = context.pstate & MODE;
    // What the first two mean has records of its own.
    if intid == HYPERVISOR_TIMER {
        // Mostly the end of a budget.
        pcpu.mark_accesses();
        gic::end(intid);
        timer(mode, pcpu, now);
        gic::deactivate(intid);
    } else if pcpu.is_overflow(intid) {
        pcpu.overflow(intid)
    } else {
        pcpu.record_at(now, Some(at), Kind::ExitIrq, u64::from(intid));
        other(intid, pcpu, now);
        if at.vcpu.work.is_busy() {
            pcpu.idle() // which does the work, or something more urgent
        }
    }
    pcpu.go_on(at);
    if at.vm.is_stopping() {
        at.vm.park(at, pcpu)
    }
}

/// Serves one interrupt while the CPU is in EL2. Returns false if none is pending.
pub fn serve_interrupt(pcpu: &'static Pcpu) -> bool {
    if !cpu::interrupt_pending() {
        return false;
    }
    let now = cpu::now();
    let intid = gic::acknowledge();
    if intid == HYPERVISOR_TIMER {
        // Mostly the time has come for a VCPU that had to wait.
        gic::end(intid);
        timer(EL2, pcpu, now);
        gic::deactivate(intid);
        return true;
    }
    other(intid, pcpu, now);
    let now = cpu::now();
    if pcpu.first_deadline() <= now {
        timer(EL2, pcpu, now);
    }
    true
}

/// Any but the hypervisor's timer, which came at `now`.
#[inline(never)]
fn other(intid: u32, pcpu: &'static Pcpu, now: u64) {
    if gic::is_special(intid) {
        return;
    }
    pcpu.mark_accesses();
    gic::end(intid);
    let mut keep_active = false;
    match intid {
        KICK => pcpu.look(now),
        VIRTUAL_TIMER => {
            // Of a guest that waits, or waits for EL2. Without one the timer is off.
            if let Some(at) = pcpu.loaded() {
                keep_active = true;
                // It may have been disabled while the VCPU waits: then it must not fire again.
                at.vcpu.timer.apply(pcpu);
                at.vm.gic.hardware_interrupt(&GicEnv::of(at), at.vcpu.index, intid);
                // As at an alarm: if it is disabled, nobody enables it before the VCPU runs.
                if pcpu.is_shared() {
                    pcpu.wake(at, now);
                }
            }
        }
        MAINTENANCE => {
            if let Some(at) = pcpu.loaded() {
                at.vm.gic.maintenance(&GicEnv::of(at), at.vcpu.index);
                pcpu.notice(at, now);
            }
        }
        CONSOLE_TIMER => machine::start_console_timer(pcpu),
        _ if pcpu.is_overflow(intid) => pcpu.overflow_in_el2(),
        _ if intid == machine::uart_interrupt() => machine::console_interrupt(pcpu),
        gic::LPIS.. => keep_active = true, // which it is not
        32.. => keep_active = device(intid, pcpu, now),
        _ => {}
    }
    if !keep_active {
        gic::deactivate(intid);
    }
}

/// The hypervisor's timer: every deadline that has passed at `now`.
fn timer(mode: u64, pcpu: &'static Pcpu, now: u64) {
    pcpu.tick(now);
    let first = pcpu.first_deadline();
    if first <= now {
        return rare_deadlines(mode, pcpu, now);
    }
    pcpu.program_timer(first);
}

/// Serves the deadlines that are not the scheduler's.
#[inline(never)]
fn rare_deadlines(mode: u64, pcpu: &'static Pcpu, now: u64) {
    if mode == EL2 {
        pcpu.mark_accesses();
    }
    if pcpu.take_deadline(Purpose::Console, now) {
        machine::console_timer(pcpu);
    }
    if pcpu.take_deadline(Purpose::Sampling, now) {
        for at in pcpu.assignments() {
            color_serial::sample(at, pcpu, mode == EL0 && pcpu.has_loaded(at));
            pcpu.count_for(at, now);
        }
    }
    if pcpu.take_deadline(Purpose::Telling, now) {
        for at in pcpu.assignments() {
            if pcpu.is_next(at) && pcpu.has_loaded(at) {
                port::attend(at, pcpu);
                pcpu.count_for(at, now);
            } else if port::due(at) <= now {
                // When it is entered: then its interrupts are in the list registers.
                at.vcpu.attention.tell(false);
            }
        }
    }
    if pcpu.take_deadline(Purpose::Alarm, now) {
        pcpu.alarm(now);
    }
    pcpu.program_timer(pcpu.first_deadline());
}

/// Gives the interrupt of an assigned device to the guest, which deactivates it. Returns
/// false if no guest of this CPU has the device.
///
/// If its VCPU is off, the interrupt waits in the guest's controller and stays active:
/// a level would otherwise fire again at once, without end.
fn device(intid: u32, pcpu: &'static Pcpu, now: u64) -> bool {
    let Some(at) = pcpu.owner(intid) else { return false };
    at.vm.gic.hardware_interrupt(&GicEnv::at(at, pcpu), at.vcpu.index, intid);
    pcpu.count_for(at, now);
    pcpu.notice(at, now);
    if !pcpu.is_next(at) {
        pcpu.mask(at, intid, now);
    }
    true
}
