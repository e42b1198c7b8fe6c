//! Handlers for the exceptions that bring a guest to EL2.
//!
//! A handler returns if the same guest continues; otherwise the idle loop of the PCPU takes over
//! (`Pcpu::go_on`). Long work is left as a note with the VCPU ([`work`](crate::vm::work)).
//!
//! An access of a guest to a device can fail late, as an SError, which EL2 masks. Before another
//! VCPU gets the CPU, and after each wait of the idle loop, EL2 completes the accesses and reads
//! ISR_EL1: an SError stops the VM whose registers are in the CPU. `cargo xtask size` checks every
//! path for this.

mod doorbell;
mod fault;
mod hypercall;
mod identification;
mod interrupt;
mod mmio;
mod sysreg;

pub use fault::{hypervisor_fault, panic_report};
pub use interrupt::{interrupt, serve_interrupt};

use abi::trace::Kind;

use crate::arch::context::Context;
use crate::arch::{cpu, regs};
use crate::machine::log;
use crate::pcpu::Pcpu;
use crate::trapped::Wait;
use crate::vm::{self, Crash};

/// Exception classes (ESR_EL2.EC).
mod class {
    pub const WFX: u64 = 0x01;
    pub const HVC64: u64 = 0x16;
    pub const SMC64: u64 = 0x17;
    pub const SYSTEM_REGISTER: u64 = 0x18;
    pub const INSTRUCTION_ABORT: u64 = 0x20;
    pub const DATA_ABORT: u64 = 0x24;

    /// The class of a syndrome, above which newer CPUs tell more.
    #[inline(always)]
    pub fn of(syndrome: u64) -> u64 {
        syndrome >> 26 & 0x3f
    }
}

/// Fault status of an abort at stage 2 (the syndrome's low bits): a page is absent.
const PAGE_ABSENT: u64 = 0x07;
const FAULT_STATUS: u64 = 0x3f;

/// A synchronous exception of the guest that this CPU runs.
///
/// The handlers are functions of their own, called last: so this one saves no
/// registers, and each saves only what it needs itself.
#[inline]
pub fn synchronous(context: &mut Context, pcpu: &'static Pcpu) {
    let syndrome = regs::esr_el2::read();
    // A guest runs only when it is loaded.
    let Some(at) = pcpu.loaded() else { cpu::halt() };
    at.vcpu.count_exit();
    pcpu.record_at(cpu::now_unordered(), Some(at), Kind::ExitSync, syndrome);
    match class::of(syndrome) {
        class::HVC64 => hypercall::call(context, at, pcpu),
        class::DATA_ABORT | class::INSTRUCTION_ABORT if syndrome & FAULT_STATUS == PAGE_ABSENT => {
            mmio::page_absent(context, syndrome, at, pcpu);
        }
        class::DATA_ABORT => mmio::data_abort(context, syndrome, at, pcpu),
        class::SYSTEM_REGISTER => sysreg::access(context, syndrome, at),
        class::SMC64 => {
            context.pc += 4;
            hypercall::call(context, at, pcpu);
        }
        class::WFX => {
            // Traps only where others may have the CPU meanwhile.
            context.skip(syndrome);
            match Wait::of(syndrome) {
                Wait::Interrupt => pcpu.wait(at),
                Wait::Until(register) => pcpu.wait_until(context.get(register), at),
                Wait::Nothing => {}
            }
        }
        class::INSTRUCTION_ABORT => mmio::nothing_there(context, syndrome, at, pcpu),
        // Instructions of the guest that trap, those of later architecture versions among them: it may use none of
        // them here. What else there is goes to EL1 by itself.
        _ => vm::undefined(context),
    }
}

/// An SError while a guest ran: an access of the guest failed late. None of another guest, or of EL2, can be left
/// by then: see [`late_error`].
pub fn system_error(pcpu: &'static Pcpu) {
    let Some(at) = pcpu.loaded() else { cpu::halt() };
    at.vm.crash(Crash::SystemError, at, pcpu)
}

/// An SError is pending in EL2. It belongs to the VCPU whose registers are in this CPU: whoever had it before was
/// looked at when it lost it. Returns if nobody has to be stopped because of it.
#[cold]
#[inline(never)]
pub fn late_error(pcpu: &'static Pcpu) {
    let syndrome = cpu::take_error();
    match pcpu.loaded() {
        // What devices still answer to a VM that stops is the end of what is reported already.
        Some(at) if at.vm.is_stopping() => {}
        Some(at) => at.vm.crash(Crash::SystemError, at, pcpu),
        None => log!("PCPU {}: SError of no VM, esr {syndrome:#x}", pcpu.index),
    }
}
