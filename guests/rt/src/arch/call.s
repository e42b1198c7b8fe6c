// u64 call_in_tables(ttbr0, tcr, function, argument): HVC while other translation tables are active.
// They need not map more than the page of this code, so it uses no memory; a granule can only be
// changed with the MMU off.
    .section .text.call_in_tables, "ax"
    .balign 256
    .globl  call_in_tables
call_in_tables:
    mrs     x9, daif
    msr     daifset, #15
    mrs     x10, ttbr0_el1
    mrs     x11, tcr_el1
    mrs     x12, sctlr_el1
    bic     x13, x12, #1                // M
    dsb     ish                         // entries that were written are seen by walks

    msr     sctlr_el1, x13
    isb
    msr     ttbr0_el1, x0
    msr     tcr_el1, x1
    isb
    tlbi    vmalle1
    dsb     nsh
    isb
    msr     sctlr_el1, x12
    isb

    mov     x0, x2
    mov     x1, x3
    hvc     #0

    msr     sctlr_el1, x13
    isb
    msr     ttbr0_el1, x10
    msr     tcr_el1, x11
    isb
    tlbi    vmalle1
    dsb     nsh
    isb
    msr     sctlr_el1, x12
    isb
    msr     daif, x9
    ret
