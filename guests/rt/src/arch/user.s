// Code for EL0, which ends by SVC #2 with a result in x0. Position independent; copied to pages of tests.
    .section .text.user, "ax"
    .balign 64
    .globl  user_code
user_code:
    // Offset 0: stores x1 at x0 + x2, then loads from x0 + x3.
    str     x1, [x0, x2]
    ldr     x0, [x0, x3]
    svc     #2
    nop
    // Offset 16: loads 32 bits from x0.
    ldr     w0, [x0]
    svc     #2
    nop
    nop
    // Offset 32: loads 32 bits from x0 until no bit of x1 is set in them, at most x2 times.
1:  ldr     w3, [x0]
    and     x3, x3, x1
    cbz     x3, 2f
    sub     x2, x2, #1
    cbnz    x2, 1b
2:  mov     x0, x2
    svc     #2
    .balign 64
    // Offset 64, Thumb: waits, also in an IT block, and loads 32 bits from r1, all in short instructions. The
    // result has 1 for what follows the first wait, 2 for what follows the block, and the word; 1 more if the
    // block's other condition was taken.
    .hword  0x2000              // movs r0, #0
    .hword  0xbf30              // wfi
    .hword  0x3001              // adds r0, #1
    .hword  0x4280              // cmp r0, r0
    .hword  0xbf0c              // ite eq
    .hword  0xbf30              // wfieq
    .hword  0x3001              // addne r0, #1
    .hword  0x3002              // adds r0, #2
    .hword  0x680a              // ldr r2, [r1]
    .hword  0x1880              // adds r0, r0, r2
    .hword  0xdf02              // svc #2
    .hword  0xbf00              // nop
    .globl  user_code_end
user_code_end:
