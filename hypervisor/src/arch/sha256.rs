//! The SHA-256 instructions of Armv8 (FEAT_SHA256). For use at boot only: they
//! work on vector registers, which belong to the guests afterwards.

use core::arch::global_asm;

use super::regs;

unsafe extern "C" {
    fn sha256_blocks(state: *mut u32, blocks: *const u8, count: usize);
}

/// Takes the blocks into the state. Returns false if this CPU lacks the instructions.
pub fn compress(state: &mut [u32; 8], blocks: &[[u8; 64]]) -> bool {
    if regs::id_aa64isar0_el1::read() >> 12 & 0xf == 0 {
        return false;
    }
    if !blocks.is_empty() {
        // SAFETY: reads `blocks.len()` blocks and updates the eight words, as the
        // types say; changes no register that compiled code uses.
        unsafe { sha256_blocks(state.as_mut_ptr(), blocks.as_ptr().cast(), blocks.len()) }
    }
    true
}

global_asm!(
    r#"
.arch_extension fp
.arch_extension simd
.arch_extension sha2

// Four rounds: v2, v3 working variables; \a the next four words of the schedule.
.macro sha256_rounds a
    ld1     {{v16.4s}}, [x6], #16
    add     v16.4s, v16.4s, \a\().4s
    mov     v17.16b, v2.16b
    sha256h q2, q3, v16.4s
    sha256h2 q3, q17, v16.4s
.endm

// The same, and the four words that come sixteen rounds later take the place of \a.
.macro sha256_schedule a, b, c, d
    sha256_rounds \a
    sha256su0 \a\().4s, \b\().4s
    sha256su1 \a\().4s, \c\().4s, \d\().4s
.endm

// x0 state, x1 blocks, x2 their number, at least 1
.section .text.sha256_blocks, "ax"
.globl sha256_blocks
sha256_blocks:
    mrs     x4, cptr_el2
    bic     x5, x4, #(1 << 10)  // TFP: no trap of vector instructions
    msr     cptr_el2, x5
    isb
    adrp    x3, {constants}
    add     x3, x3, :lo12:{constants}
    ld1     {{v0.4s, v1.4s}}, [x0]
1:  ld1     {{v4.16b-v7.16b}}, [x1], #64
    rev32   v4.16b, v4.16b
    rev32   v5.16b, v5.16b
    rev32   v6.16b, v6.16b
    rev32   v7.16b, v7.16b
    mov     v2.16b, v0.16b
    mov     v3.16b, v1.16b
    mov     x6, x3
    mov     x7, #3
2:  sha256_schedule v4, v5, v6, v7
    sha256_schedule v5, v6, v7, v4
    sha256_schedule v6, v7, v4, v5
    sha256_schedule v7, v4, v5, v6
    subs    x7, x7, #1
    b.ne    2b
    sha256_rounds v4
    sha256_rounds v5
    sha256_rounds v6
    sha256_rounds v7
    add     v0.4s, v0.4s, v2.4s
    add     v1.4s, v1.4s, v3.4s
    subs    x2, x2, #1
    b.ne    1b
    st1     {{v0.4s, v1.4s}}, [x0]
    msr     cptr_el2, x4
    isb
    ret

.arch_extension nosha2
.arch_extension nosimd
.arch_extension nofp
"#,
    constants = sym crate::digest::CONSTANTS,
);
