//! The registers of a VCPU that stay in the CPU while EL2 works for it, and are saved when
//! another VCPU gets the CPU: EL1, vector registers, virtual timer.

use core::arch::global_asm;

/// HCR_EL2: WFI of the guest traps.
const HCR_WFI_TRAPS: u64 = 1 << 13;
/// HCR_EL2: cache identification registers trap (TID2).
const HCR_CACHE_TRAPS: u64 = 1 << 17;
/// SCTLR_EL1 after reset: MMU and caches off, little endian.
const SCTLR_EL1_RESET: u64 = 0x30d0_0800;
/// CNTV_CTL_EL0: the timer counts and its interrupt is not masked.
const TIMER_ON: u64 = 1;
const TIMER_MASK: u64 = 0b11;

/// Words of EL1, see the assembler code below for their order.
const WORDS: usize = 28;
/// SCTLR_EL1.
const SCTLR: usize = 0;
/// CNTV_CTL_EL0 and CNTV_CVAL_EL0.
const TIMER_CONTROL: usize = WORDS - 2;
const TIMER_VALUE: usize = WORDS - 1;
/// Halves of the five keys of pointer authentication.
const KEYS: usize = 10;

/// What of a VCPU is not in the CPU while another one is.
///
/// The layout is known to the assembler code below.
#[repr(C, align(16))]
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// HCR_EL2, VMPIDR_EL2, VTTBR_EL2: written only.
    configuration: [u64; 4],
    words: [u64; WORDS],
    keys: [u64; KEYS],
    vectors: [[u64; 2]; 32],
}

impl Registers {
    /// All of EL1 as after a reset.
    pub(super) const fn new() -> Self {
        let mut words = [0; WORDS];
        words[SCTLR] = SCTLR_EL1_RESET;
        Self { configuration: [0; 4], words, keys: [0; KEYS], vectors: [[0; 2]; 32] }
    }

    /// The same, of VCPU `vcpu` of a VM with these traps and stage-2 tables (VTTBR_EL2).
    pub(super) fn reset(&mut self, vcpu: usize, traps: Traps, tables: u64) {
        *self = Self::new();
        let wfi = if traps.wfi { HCR_WFI_TRAPS } else { 0 };
        let caches = if traps.caches { HCR_CACHE_TRAPS } else { 0 };
        let hcr = super::guest_state::HCR | wfi | caches;
        self.configuration = [hcr, 1 << 31 | vcpu as u64, tables, 0];
    }

    /// When the virtual timer fires: ticks of the system counter, if it is on.
    pub(super) fn timer(&self) -> Option<u64> {
        (self.words[TIMER_CONTROL] & TIMER_MASK == TIMER_ON).then_some(self.words[TIMER_VALUE])
    }
}

/// What of a guest's doing comes to EL2 in some VMs only.
#[derive(Clone, Copy, Debug)]
pub struct Traps {
    /// WFI: others may have the CPU meanwhile.
    pub wfi: bool,
    /// Registers that describe caches.
    pub caches: bool,
}

unsafe extern "C" {
    /// Stores what is in the CPU, and stops the virtual timer.
    pub(super) fn save_registers(to: *mut Registers);
    /// Puts it into the CPU again. The caller synchronises the context.
    pub(super) fn load_registers(from: *const Registers);
}

global_asm!(
    r#"
.arch_extension fp
.arch_extension simd

.macro save_words first, second, at
    mrs     x1, \first
    mrs     x2, \second
    stp     x1, x2, [x0, #\at]
.endm
.macro load_words first, second, at
    ldp     x1, x2, [x0, #\at]
    msr     \first, x1
    msr     \second, x2
.endm
.macro for_words what
    \what   sctlr_el1, cpacr_el1, 32
    \what   tcr_el1, ttbr0_el1, 48
    \what   ttbr1_el1, mair_el1, 64
    \what   amair_el1, vbar_el1, 80
    \what   esr_el1, far_el1, 96
    \what   elr_el1, spsr_el1, 112
    \what   sp_el1, sp_el0, 128
    \what   tpidr_el1, tpidr_el0, 144
    \what   tpidrro_el0, contextidr_el1, 160
    \what   afsr0_el1, afsr1_el1, 176
    \what   par_el1, csselr_el1, 192
    \what   cntkctl_el1, fpcr, 208
    \what   fpsr, mdscr_el1, 224
.endm
.macro for_keys what
    \what   s3_0_c2_c1_0, s3_0_c2_c1_1, 256
    \what   s3_0_c2_c1_2, s3_0_c2_c1_3, 272
    \what   s3_0_c2_c2_0, s3_0_c2_c2_1, 288
    \what   s3_0_c2_c2_2, s3_0_c2_c2_3, 304
    \what   s3_0_c2_c3_0, s3_0_c2_c3_1, 320
.endm
.macro for_vectors what
    \what   q0, q1, [x0, #336]
    \what   q2, q3, [x0, #368]
    \what   q4, q5, [x0, #400]
    \what   q6, q7, [x0, #432]
    \what   q8, q9, [x0, #464]
    \what   q10, q11, [x0, #496]
    \what   q12, q13, [x0, #528]
    \what   q14, q15, [x0, #560]
    \what   q16, q17, [x0, #592]
    \what   q18, q19, [x0, #624]
    \what   q20, q21, [x0, #656]
    \what   q22, q23, [x0, #688]
    \what   q24, q25, [x0, #720]
    \what   q26, q27, [x0, #752]
    \what   q28, q29, [x0, #784]
    \what   q30, q31, [x0, #816]
.endm

// Pointer authentication, by an algorithm of the architecture or another one: not zero.
.macro has_keys
    mrs     x1, id_aa64isar1_el1
    mrs     x2, s3_0_c0_c6_2    // ID_AA64ISAR2_EL1
    ubfx    x3, x1, #24, #8
    ubfx    x1, x1, #4, #8
    orr     x1, x1, x3
    ubfx    x2, x2, #8, #8
    orr     x1, x1, x2
.endm

.section .text.registers, "ax"
.globl save_registers
save_registers:
    for_words save_words
    save_words cntv_ctl_el0, cntv_cval_el0, 240
    msr     cntv_ctl_el0, xzr
    has_keys
    cbz     x1, 1f
    for_keys save_words
1:  for_vectors stp
    ret

.globl load_registers
load_registers:
    ldp     x1, x2, [x0]
    ldr     x3, [x0, #16]
    msr     hcr_el2, x1
    msr     vmpidr_el2, x2
    msr     vttbr_el2, x3
    for_words load_words
    ldp     x1, x2, [x0, #240]
    msr     cntv_cval_el0, x2
    msr     cntv_ctl_el0, x1
    has_keys
    cbz     x1, 1f
    for_keys load_words
1:  for_vectors ldp
    ret

.arch_extension nosimd
.arch_extension nofp
"#
);

const _: () = assert!(core::mem::offset_of!(Registers, words) == 32);
const _: () = assert!(core::mem::offset_of!(Registers, keys) == 256);
const _: () = assert!(core::mem::offset_of!(Registers, vectors) == 336);
