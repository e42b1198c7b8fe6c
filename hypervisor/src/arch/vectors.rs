//! Exception vectors: saves the guest, calls Rust, restores the guest.
//!
//! While a guest runs, SP_EL2 points at the [`Context`] of its VCPU and
//! TPIDR_EL2 at the [`Anchor`] of the CPU. An exit stores all integer registers
//! into the context, takes the CPU's stack from the anchor and calls the
//! handler; if the handler returns, the same guest goes on.

use core::arch::global_asm;

use super::context::Context;
use super::percpu::Anchor;
use crate::exits;

unsafe extern "C" {
    /// Restores all registers from the context and returns to the guest.
    pub fn enter_guest(context: *mut Context) -> !;
}

/// Called by the vectors after a synchronous exception from a guest.
///
/// # Safety
/// Only the vectors call it, with the context of the VCPU that this CPU runs
/// and with this CPU's anchor.
#[unsafe(no_mangle)]
unsafe extern "C" fn rust_guest_sync(context: *mut Context, anchor: *const Anchor) {
    // SAFETY: the vectors pass the context that this CPU claimed, and the anchor
    // that `percpu::install` set; both live as long as the CPU runs.
    let (context, anchor) = unsafe { (&mut *context, &*anchor) };
    exits::synchronous(context, anchor.pcpu());
}

/// Called by the vectors after an interrupt while a guest ran, which came at `now`.
///
/// # Safety
/// As [`rust_guest_sync`].
#[unsafe(no_mangle)]
unsafe extern "C" fn rust_guest_irq(context: *mut Context, anchor: *const Anchor, now: u64) {
    // SAFETY: as in `rust_guest_sync`.
    let (context, anchor) = unsafe { (&mut *context, &*anchor) };
    exits::interrupt(context, anchor.pcpu(), now);
}

/// Called by the vectors after an SError that a guest caused.
///
/// # Safety
/// As [`rust_guest_sync`].
#[unsafe(no_mangle)]
unsafe extern "C" fn rust_guest_serror(_: *mut Context, anchor: *const Anchor) {
    // SAFETY: as in `rust_guest_sync`.
    let anchor = unsafe { &*anchor };
    exits::system_error(anchor.pcpu());
}

/// Called by the vectors after any exception of the hypervisor itself.
///
/// # Safety
/// Only the vectors call it, with the registers they have just stored.
#[unsafe(no_mangle)]
unsafe extern "C" fn rust_hypervisor_fault(context: *mut Context) -> ! {
    // SAFETY: the vectors stored the registers there, on this CPU's emergency stack.
    let context = unsafe { &*context };
    exits::hypervisor_fault(context)
}

global_asm!(
    r#"
.macro save_x2_to_x27
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x19, [sp, #144]
    stp     x20, x21, [sp, #160]
    stp     x22, x23, [sp, #176]
    stp     x24, x25, [sp, #192]
    stp     x26, x27, [sp, #208]
.endm

// `now`: the handler is told when that was, in ticks of the system counter.
.macro guest_exit handler, now=0
    .balign 128
    stp     x0, x1, [sp, #0]
    save_x2_to_x27
    .if \now
    mrs     x4, cntpct_el0
    .endif
    mrs     x1, tpidr_el2
    mrs     x2, elr_el2
    mrs     x3, spsr_el2
    stp     x28, x29, [sp, #224]
    stp     x30, x2, [sp, #240]
    str     x3, [sp, #256]
    mov     x0, sp
    ldr     x2, [x1]
    mov     x19, x0
    mov     sp, x2
    .if \now
    mov     x2, x4
    .endif
    mov     x29, xzr
    adr     x30, guest_resume
    b       \handler
.endm

.macro hypervisor_exception
    .balign 128
    b       hypervisor_fault_entry
.endm

// EL2 unmasks SErrors only where it expects one (`cpu::take_error`): goes on with them masked, the syndrome in x0.
.macro expected_error
    .balign 128
    mrs     x0, spsr_el2
    orr     x0, x0, #(1 << 8)
    msr     spsr_el2, x0
    mrs     x0, esr_el2
    eret
.endm

.section .text.vectors, "ax"
.balign 2048
.globl vectors
vectors:
    hypervisor_exception        // current EL with SP_EL0: never used
    hypervisor_exception
    hypervisor_exception
    hypervisor_exception
    hypervisor_exception        // current EL: a bug of ours
    hypervisor_exception
    hypervisor_exception
    expected_error
    guest_exit rust_guest_sync  // guest in AArch64
    guest_exit rust_guest_irq, 1
    guest_exit rust_guest_irq, 1
    guest_exit rust_guest_serror
    guest_exit rust_guest_sync  // guest's EL0 in AArch32
    guest_exit rust_guest_irq, 1
    guest_exit rust_guest_irq, 1
    guest_exit rust_guest_serror
    .balign 128

.section .text.enter_guest, "ax"
guest_resume:
    mov     x0, x19
.globl enter_guest
enter_guest:
    mov     sp, x0
    ldp     x30, x2, [sp, #240]
    ldr     x3, [sp, #256]
    msr     elr_el2, x2
    msr     spsr_el2, x3
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldp     x8, x9, [sp, #64]
    ldp     x10, x11, [sp, #80]
    ldp     x12, x13, [sp, #96]
    ldp     x14, x15, [sp, #112]
    ldp     x16, x17, [sp, #128]
    ldp     x18, x19, [sp, #144]
    ldp     x20, x21, [sp, #160]
    ldp     x22, x23, [sp, #176]
    ldp     x24, x25, [sp, #192]
    ldp     x26, x27, [sp, #208]
    ldp     x28, x29, [sp, #224]
    ldp     x0, x1, [sp, #0]
    eret
    // Nothing may be speculated past the return.
    dsb     nsh
    isb

// The stack may be what failed: switch to the emergency stack of the CPU. The
// guest's read-only thread register serves as scratch; nothing returns from here.
hypervisor_fault_entry:
    msr     tpidrro_el0, x0
    mov     x0, sp
    msr     sp_el0, x0
    mrs     x0, tpidr_el2
    cbz     x0, 1f
    ldr     x0, [x0, #8]
    mov     sp, x0
1:  sub     sp, sp, #272
    mrs     x0, tpidrro_el0
    stp     x0, x1, [sp, #0]
    save_x2_to_x27
    stp     x28, x29, [sp, #224]
    mrs     x2, elr_el2
    mrs     x3, spsr_el2
    stp     x30, x2, [sp, #240]
    str     x3, [sp, #256]
    mov     x0, sp
    bl      rust_hypervisor_fault
    b       .
"#
);
