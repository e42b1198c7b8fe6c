//! The processor that runs: its number, and counted work.

use core::arch::asm;

use abi::kvm::{STACK_BYTES, VCPUS_MAX, stack_end};

/// Index of this processor: each one has its own stack.
#[inline]
pub fn index() -> usize {
    let here = 0u8;
    let behind_first = (&raw const here as u64).saturating_sub(stack_end(0) - STACK_BYTES);
    ((behind_first / STACK_BYTES) as usize).min(VCPUS_MAX - 1)
}

/// Tells that this processor only waits for another one.
pub fn relax() {
    core::hint::spin_loop();
}

/// Shows a mark to a model of the caches, where QEMU has one (cachescope, `Said::Mark`): a NOP for the processor.
#[inline]
pub fn show(mark: u64) {
    // SAFETY: a NOP of 7 bytes, which accesses no memory and changes no register.
    unsafe {
        asm!(
            "nop dword ptr [rax + 0x424b4d01]",
            in("rax") mark,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// Executes at least `instructions` instructions, and a few more, that use only the processor.
pub fn burn(instructions: u64) {
    let rounds = instructions.div_ceil(2).max(1);
    // SAFETY: counts in a register.
    unsafe {
        asm!("2: dec {rounds}", "jnz 2b", rounds = inout(reg) rounds => _, options(nomem, nostack))
    }
}
