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
    .globl  user_code_end
user_code_end:
