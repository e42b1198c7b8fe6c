//! Traps that EL2 sets up on a CPU, the same for all guests.

use super::regs;

/// HCR_EL2 until a guest runs: no VHE, EL1 is AArch64, interrupts and SErrors come
/// to EL2.
pub(super) const HCR_IDLE: u64 = 1 << 3 // FMO
    | 1 << 4 // IMO
    | 1 << 5 // AMO
    | 1 << 31; // RW: EL1 is AArch64

/// HCR_EL2 while a guest runs: stage 2 on; SMC, set/way maintenance, auxiliary
/// control, identification, error record, ordering region and
/// implementation-defined registers trap.
///
/// Local TLB and instruction cache maintenance stays local (no FB): a VCPU never
/// leaves its CPU, and the caches of other VMs' CPUs are not the guest's to empty.
/// Bits of later architecture versions are RES0 on older CPUs.
pub(super) const HCR: u64 = HCR_IDLE
    | 1            // VM
    | 1 << 1       // SWIO: invalidate by set/way also cleans
    | 1 << 2       // PTW: table walks do not reach devices, not even those that EL2 asks for
    | 1 << 18      // TID3: identification registers
    | 1 << 19      // TSC: SMC
    | 1 << 20      // TIDCP: implementation-defined registers
    | 1 << 21      // TACR: auxiliary control
    | 1 << 22      // TSW: maintenance by set/way
    | 1 << 35      // TLOR: ordering regions, which name physical addresses
    | 1 << 36      // TERR: error records of the CPU
    | 1 << 40      // APK: pointer authentication keys are the guest's
    | 1 << 41; // API: pointer authentication instructions do not trap

/// MDCR_EL2: debug, trace, profiling and performance monitor registers trap. HPMN
/// keeps its reset value, the number of counters.
const MDCR_TRAPS: u64 = 1 << 5 // TPMCR
    | 1 << 6                   // TPM
    | 1 << 9                   // TDA
    | 1 << 10                  // TDOSA
    | 1 << 11                  // TDRA
    | 1 << 14                  // TPMS
    | 1 << 19; // TTRF

/// CPTR_EL2 until a guest runs: reserved ones; floating point does not trap, SVE does.
pub(super) const CPTR_IDLE: u64 = 0x33ff;
/// CPTR_EL2 while a guest runs: trace and activity monitors trap too.
const CPTR: u64 = CPTR_IDLE | 1 << 20 | 1 << 30;

/// CNTHCTL_EL2: EL1 and EL0 may read the physical counter; the physical timer traps.
const CNTHCTL: u64 = 1;

/// CNTHP_CTL_EL2: the timer of the hypervisor is on and its interrupt not masked.
const CNTHP_ON: u64 = 1;

/// Switches the timer of the hypervisor on.
#[inline(always)]
pub fn switch_on_timer() {
    regs::cnthp_ctl_el2::write(CNTHP_ON);
}

/// Switches the timer of the hypervisor off if it would not fire in the next centuries.
#[inline(always)]
pub fn switch_off_useless_timer() {
    regs::cnthp_ctl_el2::write(regs::cnthp_cval_el2::read() >> 63 ^ CNTHP_ON);
}

/// Prepares this CPU for guests; once.
pub fn init() {
    let counters = regs::mdcr_el2::read() & 0x1f;
    regs::mdcr_el2::write(MDCR_TRAPS | counters);
    regs::cptr_el2::write(CPTR);
    regs::hstr_el2::write(0);
    regs::mdscr_el1::write(0); // guests cannot change it
    regs::cnthctl_el2::write(CNTHCTL);
    regs::cntvoff_el2::write(0);
    regs::cntp_ctl_el0::write(0);
    regs::cnthp_cval_el2::write(u64::MAX); // never
    switch_on_timer();
    regs::vpidr_el2::write(regs::midr_el1::read());
    regs::vtcr_el2::write(super::stage2::vtcr());
    super::cpu::isb();
}
