//! The processor that runs: its number, its interrupt mask, waiting, and counted work.

use core::arch::asm;

use super::sysreg::read_sysreg;

/// Affinity of this processor, as PSCI takes it (`MPIDR_EL1`, affinity fields only).
pub fn affinity() -> u64 {
    read_sysreg!("mpidr_el1") & 0xff_00ff_ffff
}

/// Index of this processor: its lowest affinity field.
pub fn index() -> usize {
    (affinity() & 0xff) as usize
}

/// Exception level that the processor runs at.
pub fn exception_level() -> u64 {
    read_sysreg!("CurrentEL") >> 2 & 3
}

/// Interrupts and system errors may be taken from now on.
pub fn unmask_interrupts() {
    // SAFETY: handlers use memory of their own or take locks that mask interrupts.
    unsafe { asm!("msr daifclr, #6", options(nostack)) }
}

/// No interrupt is taken from now on.
pub fn mask_interrupts() {
    // SAFETY: delaying interrupts does not affect memory.
    unsafe { asm!("msr daifset, #2", options(nostack)) }
}

/// Calls `f` with interrupts masked, and restores the mask as it was.
pub fn without_interrupts<R>(f: impl FnOnce() -> R) -> R {
    let daif = read_sysreg!("daif");
    mask_interrupts();
    let result = f();
    // SAFETY: the mask gets the value it had.
    unsafe { asm!("msr daif, {}", in(reg) daif, options(nostack)) }
    result
}

/// Waits for an interrupt. Returns also when one is pending that is masked.
pub fn wait_for_interrupt() {
    // SAFETY: waiting does not affect memory; `dsb` completes earlier accesses to devices.
    unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) }
}

/// Tells that this processor only waits for another one, which may run instead.
pub fn relax() {
    // SAFETY: a hint.
    unsafe { asm!("yield", options(nomem, nostack, preserves_flags)) }
}

/// Lets earlier writes to devices and system registers take effect.
pub fn synchronize() {
    // SAFETY: barriers do not change memory.
    unsafe { asm!("dsb sy", "isb", options(nostack, preserves_flags)) }
}

/// Executes at least `instructions` instructions, and a few more, that use only the processor.
// Most of them are `nop`: an emulator that counts instructions adds up a block of them at once, and a loop of two in each round.
pub fn burn(instructions: u64) {
    let (blocks, rest) = (instructions / BLOCK, instructions % BLOCK);
    // SAFETY: counts in registers.
    unsafe {
        asm!(
            "cbz {blocks}, 3f",
            "2: .rept {nops}",
            "nop",
            ".endr",
            "subs {blocks}, {blocks}, #1",
            "b.ne 2b",
            "3: subs {rounds}, {rounds}, #1",
            "b.ne 3b",
            blocks = inout(reg) blocks => _,
            rounds = inout(reg) rest.div_ceil(2).max(1) => _,
            nops = const BLOCK - 2,
            options(nomem, nostack)
        );
    }
}

/// Instructions of a block of [`burn`].
const BLOCK: u64 = 64;
