// Exception vectors. Threads run with SP_EL0; handlers with SP_EL1, so that a thread that
// overflows its stack is still reported.

    .macro  save
    sub     sp, sp, #272
    stp     x0, x1, [sp, #0]
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
    stp     x28, x29, [sp, #224]
    mrs     x0, sp_el0
    stp     x30, x0, [sp, #240]
    mrs     x0, elr_el1
    mrs     x1, spsr_el1
    stp     x0, x1, [sp, #256]
    mov     x0, sp
    .endm

    .macro  entry handler
    .balign 128
    save
    bl      \handler
    b       restore
    .endm

    // An exception that must not happen. The stack in use may be the cause: keep its pointer and x0,
    // and report from a stack of its own.
    .macro  unexpected number
    .balign 128
    msr     tpidr_el1, x0
    mov     x0, sp
    msr     tpidrro_el0, x0
    mov     x0, #\number
    msr     tpidr_el0, x0
    b       fault
    .endm

    .section .text.vectors, "ax"
    .balign 2048
    .globl  vectors
vectors:
    entry   {thread_exception}
    entry   {interrupt}
    unexpected 2
    unexpected 3
    unexpected 4
    unexpected 5
    unexpected 6
    unexpected 7
    entry   {thread_exception}          // from EL0, which only tests use
    entry   {interrupt}
    unexpected 10
    unexpected 11
    entry   {thread_exception}          // from EL0 in AArch32
    unexpected 13
    unexpected 14
    unexpected 15

restore:
    ldp     x0, x1, [sp, #256]
    msr     elr_el1, x0
    msr     spsr_el1, x1
    ldp     x30, x0, [sp, #240]
    msr     sp_el0, x0
    ldp     x28, x29, [sp, #224]
    ldp     x26, x27, [sp, #208]
    ldp     x24, x25, [sp, #192]
    ldp     x22, x23, [sp, #176]
    ldp     x20, x21, [sp, #160]
    ldp     x18, x19, [sp, #144]
    ldp     x16, x17, [sp, #128]
    ldp     x14, x15, [sp, #112]
    ldp     x12, x13, [sp, #96]
    ldp     x10, x11, [sp, #80]
    ldp     x8, x9, [sp, #64]
    ldp     x6, x7, [sp, #48]
    ldp     x4, x5, [sp, #32]
    ldp     x2, x3, [sp, #16]
    ldp     x0, x1, [sp, #0]
    add     sp, sp, #272
    eret

fault:
    msr     spsel, #1
    adrp    x0, {stacks}
    add     x0, x0, :lo12:{stacks}
    add     sp, x0, #{fault_end}
    mrs     x0, tpidr_el1
    save
    mrs     x1, tpidr_el0
    mrs     x2, tpidrro_el0
    bl      {unexpected_exception}
    b       .
