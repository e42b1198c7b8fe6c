// Entry of a guest: arm64 Image header, first processor, further processors.

    .section .text.boot, "ax"
    .globl _start
_start:
    b       primary
    .long   0
    .quad   0x80000                     // text_offset: where in RAM the image goes
    .quad   __image_bytes               // memory the image needs, .bss and stacks included
    .quad   0x2                         // little endian, 4 KiB pages
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0

    // Offset 0x40: arguments for machines without a device tree, to be patched into the file.
    .ascii  "RTBOOTAR"
    .globl  patched_arguments
patched_arguments:
    .space  184

primary:
    msr     daifset, #15
    isb
    mov     x19, x0                     // device tree, 0 without one
    msr     spsel, #1
    adrp    x0, {stacks}
    add     x0, x0, :lo12:{stacks}
    mov     x1, #{handler_end}
    add     x20, x0, x1
    mov     sp, x20

    adrp    x0, __bss_start
    add     x0, x0, :lo12:__bss_start
    adrp    x1, __image_end
    add     x1, x1, :lo12:__image_end
1:  stp     xzr, xzr, [x0], #16
    cmp     x0, x1
    b.lo    1b

    mrs     x0, CurrentEL
    cmp     x0, #4
    b.ne    wrong_level
    adrp    x0, vectors
    add     x0, x0, :lo12:vectors
    msr     vbar_el1, x0
    isb
    mov     x0, x19
    bl      {build_tables}

    // Stacks and zeroed memory were written past the caches: drop what these may hold of them.
    mrs     x2, ctr_el0
    ubfx    x2, x2, #16, #4
    mov     x3, #4
    lsl     x3, x3, x2                  // bytes of the smallest data cache line
    adrp    x0, __memory_start
    add     x0, x0, :lo12:__memory_start
    adrp    x1, __image_end
    add     x1, x1, :lo12:__image_end
2:  dc      ivac, x0
    add     x0, x0, x3
    cmp     x0, x1
    b.lo    2b

    bl      mmu_on
    mov     x0, x20
    bl      to_thread
    mov     x0, x19
    bl      {rust_entry}
    b       .

wrong_level:
    mov     x0, x19
    bl      {wrong_level}
    b       .

// A further processor, started by CPU_ON; x0: end of its handler stack.
    .globl  secondary_entry
secondary_entry:
    msr     daifset, #15
    msr     spsel, #1
    mov     x20, x0
    mov     sp, x20
    adrp    x0, vectors
    add     x0, x0, :lo12:vectors
    msr     vbar_el1, x0
    isb
    bl      mmu_on
    mov     x0, x20
    bl      to_thread
    bl      {secondary_rust_entry}
    b       .

// Goes on with SP_EL0, the stack of the thread, which lies above the handler stack (x0).
to_thread:
    mov     x1, #{thread_from_handler}
    add     x0, x0, x1
    msr     sp_el0, x0
    msr     spsel, #0
    mov     x29, xzr
    ret

// Turns on MMU and caches with the tables that {build_tables} made.
mmu_on:
    dsb     sy
    tlbi    vmalle1
    ic      iallu
    dsb     nsh
    isb
    ldr     x0, ={mair}
    msr     mair_el1, x0
    ldr     x0, ={tcr}
    msr     tcr_el1, x0
    adrp    x0, {root_table}
    add     x0, x0, :lo12:{root_table}
    msr     ttbr0_el1, x0
    isb
    ldr     x0, ={sctlr}
    msr     sctlr_el1, x0
    isb
    ret
    .ltorg
