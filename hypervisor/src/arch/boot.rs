//! The entry code: from the boot loader's jump to Rust code with MMU and stack.
//!
//! The file starts with the 64-byte header of an arm64 `Image`, so that QEMU,
//! U-Boot and the Raspberry Pi firmware load it. The entry code runs wherever
//! it was loaded: it applies its own relocations, maps the gigabytes that hold
//! image and device tree one to one, turns the MMU on (Rust code must not run
//! without: unaligned and exclusive accesses would fault) and calls
//! [`crate::start::boot`]. The real tables replace these early ones later.

use core::arch::global_asm;

use super::guest_state;
use super::mmu::{EARLY_SCTLR, MAIR, TCR_BASE};

/// Bytes of the stack that each CPU uses in EL2.
pub const STACK_BYTES: usize = 16 * 1024;

/// Address and end of the running image, and where the payload starts.
#[derive(Clone, Copy, Debug)]
pub struct ImageLayout {
    /// First byte of code.
    pub text: usize,
    /// First byte of constants.
    pub rodata: usize,
    /// First byte of writable data.
    pub data: usize,
    /// First byte behind the image: the payload.
    pub end: usize,
}

/// Returns where the image was loaded.
pub fn image_layout() -> ImageLayout {
    unsafe extern "C" {
        static __image_start: u8;
        static __rodata_start: u8;
        static __data_start: u8;
        static __image_end: u8;
    }
    ImageLayout {
        text: &raw const __image_start as usize,
        rodata: &raw const __rodata_start as usize,
        data: &raw const __data_start as usize,
        end: &raw const __image_end as usize,
    }
}

/// The stack on which the boot CPU starts.
pub fn boot_stack() -> core::ops::Range<u64> {
    unsafe extern "C" {
        static boot_stack: u8;
        static boot_stack_top: u8;
    }
    &raw const boot_stack as u64..&raw const boot_stack_top as u64
}

/// The page below that stack. It holds the early table; when that is not in use any more, it
/// must not be mapped, so that a stack overflow is a fault.
pub fn boot_stack_guard() -> u64 {
    boot_stack().start - 4096
}

/// The values that a secondary CPU needs before it can run Rust code. They are read with the MMU
/// off, so the structure is cleaned to the point of coherency before the CPU starts. It is part of
/// a [`Released`](super::spin_table::Released), and so in one page.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SecondaryEntry {
    /// TTBR0_EL2.
    pub ttbr: u64,
    /// TCR_EL2.
    pub tcr: u64,
    /// SCTLR_EL2.
    pub sctlr: u64,
    /// First address above the stack.
    pub stack_top: u64,
    /// Index of the CPU in the plan.
    pub pcpu: u64,
}

unsafe extern "C" {
    /// Entry point for PSCI `CPU_ON`; `x0` holds the address of a [`SecondaryEntry`].
    pub fn secondary_start();
}

/// Called by the entry code of the boot CPU.
#[unsafe(no_mangle)]
extern "C" fn rust_primary(device_tree: usize) -> ! {
    crate::start::boot(device_tree)
}

/// Called by the entry code of every other CPU.
#[unsafe(no_mangle)]
extern "C" fn rust_secondary(pcpu: usize) -> ! {
    crate::start::secondary(pcpu)
}

global_asm!(
    r#"
.section .text.boot, "ax"
.globl _start
_start:
    b       primary_start
    .long   0
    .quad   0x80000             // text_offset
    .quad   0                   // image_size: set when the image is made
    .quad   0xa                 // little endian, 4 KiB pages, anywhere in memory
    .quad   0
    .quad   0
    .quad   0
    .ascii  "ARM\x64"
    .long   0

primary_start:
    msr     daifset, #15
    mrs     x1, CurrentEL
    cmp     x1, #(2 << 2)
    b.ne    halt
    mov     x20, x0             // device tree of the firmware
    bl      set_up_el2
    adrp    x21, __image_start  // load address

    // Relocate: only R_AARCH64_RELATIVE entries exist in a static PIE.
    adrp    x2, __rela_start
    add     x2, x2, :lo12:__rela_start
    adrp    x3, __rela_end
    add     x3, x3, :lo12:__rela_end
1:  cmp     x2, x3
    b.hs    2f
    ldp     x4, x5, [x2], #16
    ldr     x6, [x2], #8
    cmp     x5, #1027
    b.ne    halt
    add     x6, x6, x21
    str     x6, [x4, x21]
    b       1b

    // The same in short form: the place of a word, then words whose bits 1..63
    // stand for the 63 words that follow.
2:  adrp    x2, __relr_start
    add     x2, x2, :lo12:__relr_start
    adrp    x3, __relr_end
    add     x3, x3, :lo12:__relr_end
3:  cmp     x2, x3
    b.hs    7f
    ldr     x4, [x2], #8
    tbnz    x4, #0, 4f
    add     x5, x4, x21
    ldr     x6, [x5]
    add     x6, x6, x21
    str     x6, [x5], #8
    b       3b
4:  mov     x7, x5
5:  lsr     x4, x4, #1
    cbz     x4, 6f
    tbz     x4, #0, 8f
    ldr     x6, [x7]
    add     x6, x6, x21
    str     x6, [x7]
8:  add     x7, x7, #8
    b       5b
6:  add     x5, x5, #(63 * 8)
    b       3b
7:
    // Where there is no GICv3, code for it becomes branches (`gic::is_v2`).
    mrs     x2, id_aa64pfr0_el1
    tst     x2, #(0xf << 24)
    b.ne    9f
    adrp    x2, __gicv2_sites_start
    add     x2, x2, :lo12:__gicv2_sites_start
    adrp    x3, __gicv2_sites_end
    add     x3, x3, :lo12:__gicv2_sites_end
    mov     w6, #0x14000000     // B
8:  cmp     x2, x3
    b.hs    9f
    ldpsw   x4, x5, [x2]        // instruction and target, from these words
    add     x4, x4, x2
    add     x5, x5, x2
    add     x5, x5, #4
    sub     x5, x5, x4
    ubfx    x5, x5, #2, #26
    orr     w5, w5, w6
    str     w5, [x4]
    add     x2, x2, #8
    b       8b
9:
    // Early table: one gigabyte block each for image, its end, device tree.
    adrp    x7, early_table
    ldr     x8, ={early_block}
    ldr     x9, [x21, #16]      // image_size
    add     x9, x9, x21
    mov     x10, x21
    bl      map_gigabyte
    mov     x10, x9
    bl      map_gigabyte
    mov     x10, x20
    tst     x10, #7             // no device tree: not an address of one
    ccmp    x10, #0, #4, eq
    b.eq    4f
    bl      map_gigabyte
4:

    // What was written with the MMU off must not be hidden by stale lines.
    adrp    x2, __image_start
    adrp    x3, __image_end
    dsb     sy
3:  dc      ivac, x2
    add     x2, x2, #64
    cmp     x2, x3
    b.lo    3b
    dsb     sy

    ldr     x1, ={tcr}
    mrs     x2, id_aa64mmfr0_el1
    and     x2, x2, #7
    orr     x1, x1, x2, lsl #16
    ldr     x2, ={sctlr}
    mov     x0, x7
    bl      enable_mmu
    adrp    x1, boot_stack_top
    mov     sp, x1
    mov     x29, xzr
    mov     x0, x20
    bl      rust_primary
    b       halt

// What reset and firmware leave open: own stack pointer, no VHE, no trap of EL1 to
// EL2 by TGE, interrupts come to EL2 (so that they end its WFI), no timer, no anchor.
set_up_el2:
    msr     spsel, #1
    ldr     x1, ={hcr}
    msr     hcr_el2, x1
    isb
    mov     x1, #{cptr}
    msr     cptr_el2, x1
    msr     cnthp_ctl_el2, xzr
    msr     tpidr_el2, xzr
    isb
    ret

// x7 table, x8 attributes, x10 address: maps the gigabyte around it, if it is in range.
map_gigabyte:
    lsr     x11, x10, #30
    cmp     x11, #512
    b.hs    1f
    orr     x12, x8, x11, lsl #30
    str     x12, [x7, x11, lsl #3]
1:  ret

// x0 table, x1 TCR_EL2, x2 SCTLR_EL2
enable_mmu:
    ldr     x3, ={mair}
    msr     mair_el2, x3
    msr     tcr_el2, x1
    msr     ttbr0_el2, x0
    tlbi    alle2
    ic      iallu
    dsb     nsh
    isb
    msr     sctlr_el2, x2
    isb
    adr     x3, vectors
    msr     vbar_el2, x3
    isb
    ret

.globl secondary_start
secondary_start:
    msr     daifset, #15
    mov     x20, x0
    bl      set_up_el2
    ldp     x0, x1, [x20]
    ldp     x2, x21, [x20, #16]
    ldr     x22, [x20, #32]     // all of it now: with the MMU on it is elsewhere
    bl      enable_mmu
    mov     sp, x21
    mov     x0, x22
    mov     x29, xzr
    bl      rust_secondary

halt:
    wfi
    b       halt

// Copies the pages x3..x4 (each: address, frame) to their frames, then replaces the
// tables: x0 table, x1 SCTLR_EL2 and x2 MAIR_EL2 to run with afterwards. No memory is
// written but the frames: stack and code may be among the pages. The MMU is off in
// between, so that no change of block size or memory type is ever seen by a table walk.
.globl replace_tables
replace_tables:
1:  cmp     x3, x4
    b.hs    3f
    ldp     x5, x6, [x3], #16
    mov     x7, #4096
2:  ldp     x8, x9, [x5], #16
    stp     x8, x9, [x6]
    dc      cvau, x6            // the page may be code
    add     x6, x6, #16
    subs    x7, x7, #16
    b.ne    2b
    b       1b
3:  mrs     x5, sctlr_el2
    bic     x5, x5, #1
    dsb     sy
    ic      iallu
    dsb     sy
    msr     sctlr_el2, x5
    isb
    msr     mair_el2, x2
    msr     ttbr0_el2, x0
    tlbi    alle2
    dsb     nsh
    isb
    msr     sctlr_el2, x1
    isb
    ret

.section .bss.boot, "aw", %nobits
.balign 4096
.globl early_table
early_table:
    .space  4096
.globl boot_stack
boot_stack:
    .space  {stack_bytes}
.globl boot_stack_top
boot_stack_top:
"#,
    early_block = const super::mmu::EARLY_BLOCK,
    tcr = const TCR_BASE,
    mair = const MAIR,
    sctlr = const EARLY_SCTLR,
    hcr = const guest_state::HCR_IDLE,
    cptr = const guest_state::CPTR_IDLE,
    stack_bytes = const STACK_BYTES,
);
