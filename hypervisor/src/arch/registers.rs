//! The registers of a VCPU that stay in the CPU while EL2 works for it, and are saved when
//! another VCPU gets the CPU: EL1, vector registers, virtual timer.

use core::arch::global_asm;

use super::regs;

/// HCR_EL2: WFI of the guest traps.
const HCR_WFI_TRAPS: u64 = 1 << 13;
/// HCR_EL2: cache identification registers trap (TID2).
const HCR_CACHE_TRAPS: u64 = 1 << 17;
/// SCTLR_EL1 after reset: MMU and caches off, little endian.
const SCTLR_EL1_RESET: u64 = 0x30d0_0800;
/// CNTV_CTL_EL0: the timer counts and its interrupt is not masked.
const TIMER_ON: u64 = 1;
const TIMER_MASK: u64 = 0b11;

/// Bits of the fourth word of the configuration: the CPU has pointer authentication, and an SError
/// that ESB defers for the guest (VDISR_EL2).
const HAS_KEYS: u64 = 1 << 0;
const HAS_DEFERRED_ERROR: u64 = 1 << 1;

/// Words of EL1, see the assembler code below for their order.
const WORDS: usize = 28;
/// SCTLR_EL1.
const SCTLR: usize = 0;
/// CNTV_CTL_EL0 and CNTV_CVAL_EL0.
const TIMER_CONTROL: usize = WORDS - 2;
const TIMER_VALUE: usize = WORDS - 1;
/// Halves of the five keys of pointer authentication.
const KEYS: usize = 10;

/// The registers of a VCPU that are kept here while another one is in the CPU.
///
/// The layout is known to the assembler code below.
#[repr(C, align(16))]
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// HCR_EL2, VMPIDR_EL2, VTTBR_EL2: written only. Then the bits of the optional registers that the CPU has.
    configuration: [u64; 4],
    words: [u64; WORDS],
    keys: [u64; KEYS],
    vectors: [[u64; 2]; 32],
}

impl Registers {
    /// Makes the registers of EL1 as after a reset.
    pub(super) const fn new() -> Self {
        let mut words = [0; WORDS];
        words[SCTLR] = SCTLR_EL1_RESET;
        Self { configuration: [0; 4], words, keys: [0; KEYS], vectors: [[0; 2]; 32] }
    }

    /// Resets the registers for VCPU `vcpu` of a VM with these traps and stage-2 tables (VTTBR_EL2).
    pub(super) fn reset(&mut self, vcpu: usize, traps: Traps, tables: u64) {
        *self = Self::new();
        let wfi = if traps.wfi { HCR_WFI_TRAPS } else { 0 };
        let caches = if traps.caches { HCR_CACHE_TRAPS } else { 0 };
        let hcr = super::guest_state::HCR | wfi | caches;
        self.configuration = [hcr, 1 << 31 | vcpu as u64, tables, features()];
    }

    /// Returns when the virtual timer fires that was saved: ticks of the system counter, if it is on.
    pub(super) fn timer(&self) -> Option<u64> {
        fires(self.words[TIMER_CONTROL], self.words[TIMER_VALUE])
    }
}

/// Returns when the virtual timer of the VCPU fires that is loaded: ticks of the system counter, if it is on.
pub fn loaded_timer() -> Option<u64> {
    fires(regs::cntv_ctl_el0::read(), regs::cntv_cval_el0::read())
}

fn fires(control: u64, value: u64) -> Option<u64> {
    (control & TIMER_MASK == TIMER_ON).then_some(value)
}

/// Returns the bits of the optional registers that this CPU has.
fn features() -> u64 {
    // By an algorithm of the architecture or by another one.
    let algorithms =
        regs::id_aa64isar1_el1::read() & 0xff00_0ff0 | regs::id_aa64isar2_el1::read() & 0xff00;
    let keys = if algorithms != 0 { HAS_KEYS } else { 0 };
    let ras = regs::id_aa64pfr0_el1::read() >> 28 & 0xf != 0;
    keys | if ras { HAS_DEFERRED_ERROR } else { 0 }
}

/// Actions of a guest that come to EL2 in some VMs only.
#[derive(Clone, Copy, Debug)]
pub struct Traps {
    /// WFI: others may have the CPU meanwhile.
    pub wfi: bool,
    /// Registers that describe caches.
    pub caches: bool,
}

unsafe extern "C" {
    /// Stores the registers of the CPU, and stops the virtual timer.
    pub(super) fn save_registers(to: *mut Registers);
    /// Puts it into the CPU. The caller synchronises the context.
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
    \what   cpacr_el1, ttbr0_el1, 48
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

.section .text.save_registers, "ax"
.globl save_registers
save_registers:
    ldr     x3, [x0, #24]
    save_words sctlr_el1, tcr_el1, 32
    for_words save_words
    mrs     x1, fpsr
    str     x1, [x0, #224]
    save_words cntv_ctl_el0, cntv_cval_el0, 240
    msr     cntv_ctl_el0, xzr
    for_vectors stp
    tbz     x3, #{has_keys}, 1f
    for_keys save_words
1:  tbz     x3, #{has_deferred_error}, 2f
    mrs     x1, s3_4_c12_c1_1   // VDISR_EL2
    str     x1, [x0, #232]
2:  ret

// While the registers of two VCPUs are mixed, a speculated address translation could leave an
// entry in the TLB that belongs to neither (errata 1530924 of Cortex-A53, 1530923 of A55, 1319537
// of A57, 1319367 of A72, 1165522 of A76). So stage 1 is on meanwhile and may not walk: no walk, no
// entry. Its control registers come last, TCR_EL1 after all others have taken effect.
.section .text.load_registers, "ax"
.globl load_registers
load_registers:
    mov     w1, #0x800080       // EPD0, EPD1
    mov     x2, #{sctlr_on} & 0xffff
    movk    x2, #{sctlr_on} >> 16, lsl #16
    msr     tcr_el1, x1
    isb
    msr     sctlr_el1, x2
    isb
    ldp     x1, x2, [x0]
    ldp     x4, x3, [x0, #16]
    msr     hcr_el2, x1
    msr     vmpidr_el2, x2
    msr     vttbr_el2, x4
    for_words load_words
    ldr     x1, [x0, #224]
    msr     fpsr, x1
    ldp     x1, x2, [x0, #240]
    msr     cntv_cval_el0, x2
    msr     cntv_ctl_el0, x1
    for_vectors ldp
    tbz     x3, #{has_keys}, 1f
    for_keys load_words
1:  tbz     x3, #{has_deferred_error}, 2f
    ldr     x1, [x0, #232]
    msr     s3_4_c12_c1_1, x1   // VDISR_EL2
2:  ldp     x1, x2, [x0, #32]
    isb
    msr     sctlr_el1, x1
    isb
    msr     tcr_el1, x2
    ret

.arch_extension nosimd
.arch_extension nofp
"#,
    has_keys = const HAS_KEYS.trailing_zeros(),
    has_deferred_error = const HAS_DEFERRED_ERROR.trailing_zeros(),
    sctlr_on = const SCTLR_EL1_RESET | 1,
);

const _: () = assert!(core::mem::offset_of!(Registers, words) == 32);
const _: () = assert!(core::mem::offset_of!(Registers, keys) == 256);
const _: () = assert!(core::mem::offset_of!(Registers, vectors) == 336);
