//! The SHA-256 instructions of Armv8 (FEAT_SHA256). For use at boot only: they
//! work on vector registers, which belong to the guests afterwards.

use core::arch::global_asm;

use super::regs;

unsafe extern "C" {
    fn sha256_blocks(state: *mut u32, blocks: *const u8, count: usize);
}

/// Takes the blocks into the state; `false` if this CPU lacks the instructions.
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
    adrp    x3, sha256_constants
    add     x3, x3, :lo12:sha256_constants
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

.section .rodata.sha256_constants, "a"
.balign 16
sha256_constants:
    .word 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5
    .word 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174
    .word 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da
    .word 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967
    .word 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85
    .word 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070
    .word 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3
    .word 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
.arch_extension nosha2
.arch_extension nosimd
.arch_extension nofp
"#
);
