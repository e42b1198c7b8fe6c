// The measurement guest from its first instruction, and its exception vectors: the vector table starts
// at the image header, because only the vectors at 0x200 and 0x280 are used.

    .section .bench.boot, "ax"
    .globl  bench_start
bench_start:
    mrs     x9, cntvct_el0              // the first instruction: when was it?
    b       enter_bench
    .quad   0x80000                     // text_offset
    .quad   bench_bytes
    .quad   0xa                         // little endian, 4 KiB pages, anywhere in RAM
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0

    .ascii  "BENCHPAR"                  // 0x40
    .globl  bench_parameters
bench_parameters:
    .quad   {uart}                      // 0x48
    .quad   {gicd}                      // 0x50
    .quad   {gicr}                      // 0x58
    .long   {gic_version}               // 0x60
    .long   {hvc_function}              // 0x64
    .long   {isenabler_value}           // 0x68
    .long   {runs}                      // 0x6c

enter_bench:
    msr     daifset, #15
    msr     spsel, #1
    adr     x1, bench_start
    msr     vbar_el1, x1
    adrp    x1, bench_stack
    add     x1, x1, :lo12:bench_stack
    mov     sp, x1
    msr     tpidrro_el0, xzr
    isb
    mov     x0, x9
    bl      {main}
    b       .

    // An exception: count it and skip the instruction.
    .org    bench_start + 0x200
    msr     tpidr_el1, x16
    mrs     x16, tpidrro_el0
    add     x16, x16, #1
    msr     tpidrro_el0, x16
    mrs     x16, elr_el1
    add     x16, x16, #4
    msr     elr_el1, x16
    mrs     x16, tpidr_el1
    eret

    // The timer's interrupt: time to x17, silence the timer, end the interrupt, go on at x13.
    // x14: GICC of a GICv2, or 0.
    .org    bench_start + 0x280
    mrs     x17, cntvct_el0
    msr     cntv_ctl_el0, xzr
    isb
    cbnz    x14, 1f
    mrs     x16, S3_0_C12_C12_0         // ICC_IAR1_EL1
    dsb     sy
    msr     S3_0_C12_C12_1, x16         // ICC_EOIR1_EL1
    b       2f
1:  ldr     w16, [x14, #0xc]            // GICC_IAR
    str     w16, [x14, #0x10]           // GICC_EOIR
2:  dsb     sy
    msr     elr_el1, x13
    eret
