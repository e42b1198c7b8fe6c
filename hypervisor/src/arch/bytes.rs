//! `memset` and `memcpy`, which compiled code calls. Those of the compiler's library store a word at a time, and
//! are larger.

use core::arch::global_asm;

global_asm!(
    r#"
// x0 to, w1 byte, x2 how many; keeps x0
.section .text.memset, "ax"
.globl memset
memset:
    mov     x3, x0
    and     x1, x1, #0xff
    orr     x1, x1, x1, lsl #8
    orr     x1, x1, x1, lsl #16
    orr     x1, x1, x1, lsl #32
    subs    x2, x2, #64
    b.lo    2f
1:  stp     x1, x1, [x3]
    stp     x1, x1, [x3, #16]
    stp     x1, x1, [x3, #32]
    stp     x1, x1, [x3, #48]
    add     x3, x3, #64
    subs    x2, x2, #64
    b.hs    1b
    // The low bits count what is left.
2:  tbz     x2, #5, 3f
    stp     x1, x1, [x3], #16
    stp     x1, x1, [x3], #16
3:  tbz     x2, #4, 4f
    stp     x1, x1, [x3], #16
4:  tbz     x2, #3, 5f
    str     x1, [x3], #8
5:  tbz     x2, #2, 6f
    str     w1, [x3], #4
6:  tbz     x2, #1, 7f
    strh    w1, [x3], #2
7:  tbz     x2, #0, 8f
    strb    w1, [x3]
8:  ret

// x0 to, x1 from, x2 how many; keeps x0
.section .text.memcpy, "ax"
.globl memcpy
memcpy:
    mov     x3, x0
    subs    x2, x2, #32
    b.lo    2f
1:  ldp     x4, x5, [x1], #16
    ldp     x6, x7, [x1], #16
    stp     x4, x5, [x3], #16
    stp     x6, x7, [x3], #16
    subs    x2, x2, #32
    b.hs    1b
2:  tbz     x2, #4, 4f
    ldp     x4, x5, [x1], #16
    stp     x4, x5, [x3], #16
4:  tbz     x2, #3, 5f
    ldr     x4, [x1], #8
    str     x4, [x3], #8
5:  tbz     x2, #2, 6f
    ldr     w4, [x1], #4
    str     w4, [x3], #4
6:  tbz     x2, #1, 7f
    ldrh    w4, [x1], #2
    strh    w4, [x3], #2
7:  tbz     x2, #0, 8f
    ldrb    w4, [x1]
    strb    w4, [x3]
8:  ret
"#
);
