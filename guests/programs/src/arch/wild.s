// Code that may do anything, and the way back from it: what wild code does to its registers, nothing
// here relies on. The state of a processor is found by its number; the layout is `State` in wild.rs.

    .section .text.wild, "ax"
    .balign 2048
wild_vectors:
    .macro  vector target
    .balign 128
    b       \target
    .endm
    vector  wild_synchronous            // with SP_EL0
    vector  wild_interrupt
    vector  wild_other
    vector  wild_other
    vector  wild_synchronous            // with SP_EL1
    vector  wild_interrupt
    vector  wild_other
    vector  wild_other
    vector  wild_synchronous            // from EL0
    vector  wild_interrupt
    vector  wild_other
    vector  wild_other
    vector  wild_other                  // from AArch32
    vector  wild_other
    vector  wild_other
    vector  wild_other

    .macro  state
    mrs     x16, mpidr_el1
    and     x16, x16, #3
    adrp    x17, {states}
    add     x17, x17, :lo12:{states}
    add     x17, x17, x16, lsl #12
    .endm

    // extern "C" fn(state): saves what the program needs, and goes to the wild code.
    .globl  wild_run
wild_run:
    msr     daifset, #15
    stp     x19, x20, [x0, #0]
    stp     x21, x22, [x0, #16]
    stp     x23, x24, [x0, #32]
    stp     x25, x26, [x0, #48]
    stp     x27, x28, [x0, #64]
    stp     x29, x30, [x0, #80]
    mov     x1, sp
    msr     spsel, #1
    mov     x2, sp
    stp     x1, x2, [x0, #96]
    mrs     x1, ttbr0_el1
    mrs     x2, tcr_el1
    stp     x1, x2, [x0, #112]
    mrs     x1, mair_el1
    mrs     x2, sctlr_el1
    stp     x1, x2, [x0, #128]
    mrs     x1, vbar_el1
    mrs     x2, cpacr_el1
    stp     x1, x2, [x0, #144]
    adr     x1, wild_vectors
    msr     vbar_el1, x1
    mov     x1, #3 << 20                // FPEN: no trap
    msr     cpacr_el1, x1
    ldp     x1, x2, [x0, #160]
    msr     ttbr0_el1, x1
    isb
    tlbi    vmalle1
    dsb     nsh
    isb
    msr     sctlr_el1, x2
    ic      iallu
    dsb     nsh
    isb
    ldp     x1, x2, [x0, #176]
    msr     elr_el1, x1
    msr     spsr_el1, x2
    ldr     x1, [x0, #504]
    mov     sp, x1
    ldp     x2, x3, [x0, #272]
    ldp     x4, x5, [x0, #288]
    ldp     x6, x7, [x0, #304]
    ldp     x8, x9, [x0, #320]
    ldp     x10, x11, [x0, #336]
    ldp     x12, x13, [x0, #352]
    ldp     x14, x15, [x0, #368]
    ldp     x16, x17, [x0, #384]
    ldp     x18, x19, [x0, #400]
    ldp     x20, x21, [x0, #416]
    ldp     x22, x23, [x0, #432]
    ldp     x24, x25, [x0, #448]
    ldp     x26, x27, [x0, #464]
    ldp     x28, x29, [x0, #480]
    ldr     x30, [x0, #496]
    ldp     x0, x1, [x0, #256]
    eret

    // An instruction that faults is skipped, unless it was fetched from elsewhere.
wild_synchronous:
    state
    mrs     x16, esr_el1
    lsr     x18, x16, #26
    cmp     x18, #0x15                  // SVC
    b.ne    1f
    and     x16, x16, #0xffff
    mov     x18, #{end}
    cmp     x16, x18
    mov     x18, #0
    b.eq    wild_return
1:  ldr     x16, [x17, #216]
    add     x16, x16, #1
    str     x16, [x17, #216]
    cmp     x16, #{faults_max}
    mov     x18, #1
    b.hi    wild_return
    mrs     x16, elr_el1
    ldr     x18, [x17, #200]
    sub     x16, x16, x18
    ldr     x18, [x17, #208]
    cmp     x16, x18
    mov     x18, #1
    b.hs    wild_return
    mrs     x16, elr_el1
    add     x16, x16, #4
    msr     elr_el1, x16
    eret

    // An interrupt is taken and ended; that of the timer ends the code, and so do too many.
wild_interrupt:
    state
    mrs     x16, S3_0_C12_C12_0         // ICC_IAR1_EL1
    msr     S3_0_C12_C12_1, x16         // ICC_EOIR1_EL1
    isb
    cmp     x16, #27
    mov     x18, #2
    b.eq    wild_return
    ldr     x16, [x17, #224]
    add     x16, x16, #1
    str     x16, [x17, #224]
    cmp     x16, #{interrupts_max}
    b.hi    wild_return
    eret

wild_other:
    state
    mov     x18, #3

    // Back to the program: x17 is the state, x18 the reason.
wild_return:
    msr     daifset, #15
    mrs     x16, elr_el1
    stp     x18, x16, [x17, #232]
    msr     cntv_ctl_el0, xzr
    ldp     x1, x2, [x17, #112]
    msr     ttbr0_el1, x1
    msr     tcr_el1, x2
    ldp     x1, x2, [x17, #128]
    msr     mair_el1, x1
    msr     sctlr_el1, x2
    ldp     x1, x2, [x17, #144]
    msr     vbar_el1, x1
    msr     cpacr_el1, x2
    isb
    tlbi    vmalle1
    dsb     nsh
    isb
    msr     spsel, #1
    ldp     x1, x2, [x17, #96]
    mov     sp, x2
    msr     spsel, #0
    mov     sp, x1
    ldp     x19, x20, [x17, #0]
    ldp     x21, x22, [x17, #16]
    ldp     x23, x24, [x17, #32]
    ldp     x25, x26, [x17, #48]
    ldp     x27, x28, [x17, #64]
    ldp     x29, x30, [x17, #80]
    ret
    .globl  wild_end
wild_end:
