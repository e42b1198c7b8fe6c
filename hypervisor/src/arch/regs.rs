//! System registers as functions: `regs::esr_el2::read()`, `regs::hcr_el2::write(v)`.

macro_rules! read {
    ($register:literal) => {
        /// Reads the register.
        #[inline(always)]
        pub fn read() -> u64 {
            let value;
            // SAFETY: reading this register changes nothing.
            unsafe {
                core::arch::asm!(concat!("mrs {}, ", $register), out(reg) value,
                    options(nomem, nostack, preserves_flags));
            }
            value
        }
    };
}

macro_rules! readable {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => {$(
        $(#[$doc])*
        pub mod $name {
            read!($register);
        }
    )*};
}

macro_rules! writable {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => {$(
        $(#[$doc])*
        pub mod $name {
            read!($register);
            /// Writes the register; takes effect for EL2 at the next context
            /// synchronisation.
            #[inline(always)]
            pub fn write(value: u64) {
                // SAFETY: the registers of this list configure the lower exception
                // levels, timers, traps and counters; those of EL2's own translation are
                // not among them. HCR_EL2 and CPTR_EL2 act on EL2 too: `guest_state`
                // writes values without VHE, and EL2 has no vector code by then.
                unsafe {
                    core::arch::asm!(concat!("msr ", $register, ", {}"), in(reg) value,
                        options(nostack, preserves_flags));
                }
            }
        }
    )*};
}

readable! {
    /// Exception syndrome.
    esr_el2 = "esr_el2";
    /// Faulting virtual address.
    far_el2 = "far_el2";
    /// Faulting IPA, bits 47..12 in bits 43..4.
    hpfar_el2 = "hpfar_el2";
    /// Address to which `eret` returns.
    elr_el2 = "elr_el2";
    /// System counter.
    cntpct_el0 = "cntpct_el0";
    /// Ticks per second of the system counter.
    cntfrq_el0 = "cntfrq_el0";
    /// Affinity of this CPU.
    mpidr_el1 = "mpidr_el1";
    /// Memory model features 0.
    id_aa64mmfr0_el1 = "id_aa64mmfr0_el1";
    /// Memory model features 1.
    id_aa64mmfr1_el1 = "id_aa64mmfr1_el1";
    /// Memory model features 2.
    id_aa64mmfr2_el1 = "id_aa64mmfr2_el1";
    /// Processor features 0.
    id_aa64pfr0_el1 = "id_aa64pfr0_el1";
    /// Processor features 1.
    id_aa64pfr1_el1 = "id_aa64pfr1_el1";
    /// Debug features 0.
    id_aa64dfr0_el1 = "id_aa64dfr0_el1";
    /// Instruction set features 0.
    id_aa64isar0_el1 = "id_aa64isar0_el1";
    /// Instruction set features 1.
    id_aa64isar1_el1 = "id_aa64isar1_el1";
    /// Instruction set features 2.
    id_aa64isar2_el1 = "s3_0_c0_c6_2";
    /// AArch32 processor features 0.
    id_pfr0_el1 = "s3_0_c0_c1_0";
    /// AArch32 processor features 1.
    id_pfr1_el1 = "s3_0_c0_c1_1";
    /// AArch32 memory model features 0.
    id_mmfr0_el1 = "s3_0_c0_c1_4";
    /// AArch32 memory model features 1.
    id_mmfr1_el1 = "s3_0_c0_c1_5";
    /// AArch32 memory model features 2.
    id_mmfr2_el1 = "s3_0_c0_c1_6";
    /// AArch32 memory model features 3.
    id_mmfr3_el1 = "s3_0_c0_c1_7";
    /// AArch32 memory model features 4.
    id_mmfr4_el1 = "s3_0_c0_c2_6";
    /// AArch32 instruction set features 0.
    id_isar0_el1 = "s3_0_c0_c2_0";
    /// AArch32 instruction set features 1.
    id_isar1_el1 = "s3_0_c0_c2_1";
    /// AArch32 instruction set features 2.
    id_isar2_el1 = "s3_0_c0_c2_2";
    /// AArch32 instruction set features 3.
    id_isar3_el1 = "s3_0_c0_c2_3";
    /// AArch32 instruction set features 4.
    id_isar4_el1 = "s3_0_c0_c2_4";
    /// AArch32 instruction set features 5.
    id_isar5_el1 = "s3_0_c0_c2_5";
    /// AArch32 instruction set features 6.
    id_isar6_el1 = "s3_0_c0_c2_7";
    /// AArch32 floating-point features 0.
    mvfr0_el1 = "s3_0_c0_c3_0";
    /// AArch32 floating-point features 1.
    mvfr1_el1 = "s3_0_c0_c3_1";
    /// AArch32 floating-point features 2.
    mvfr2_el1 = "s3_0_c0_c3_2";
    /// Cache levels.
    clidr_el1 = "clidr_el1";
    /// Cache type.
    ctr_el0 = "ctr_el0";
    /// Main ID.
    midr_el1 = "midr_el1";
    /// Interrupt status: which exceptions are pending on this CPU.
    isr_el1 = "isr_el1";
    /// Common events of the performance monitors: 0 to 31, and 32 from 0x4000 on.
    pmceid0_el0 = "pmceid0_el0";
    /// The 32 common events behind each of these.
    pmceid1_el0 = "pmceid1_el0";
}

writable! {
    /// Hypervisor configuration.
    hcr_el2 = "hcr_el2";
    /// Debug and performance monitor traps.
    mdcr_el2 = "mdcr_el2";
    /// Traps of floating point and SVE.
    cptr_el2 = "cptr_el2";
    /// Traps of CP15 accesses of AArch32.
    hstr_el2 = "hstr_el2";
    /// Access of EL1 to counter and timer.
    cnthctl_el2 = "cnthctl_el2";
    /// Offset of the virtual counter.
    cntvoff_el2 = "cntvoff_el2";
    /// Control of the hypervisor's timer.
    cnthp_ctl_el2 = "cnthp_ctl_el2";
    /// Compare value of the hypervisor's timer.
    cnthp_cval_el2 = "cnthp_cval_el2";
    /// Control of the virtual timer.
    cntv_ctl_el0 = "cntv_ctl_el0";
    /// Compare value of the virtual timer.
    cntv_cval_el0 = "cntv_cval_el0";
    /// Control of the physical timer.
    cntp_ctl_el0 = "cntp_ctl_el0";
    /// Access of EL0 to counters and timers.
    cntkctl_el1 = "cntkctl_el1";
    /// MIDR that EL1 sees.
    vpidr_el2 = "vpidr_el2";
    /// MPIDR that EL1 sees.
    vmpidr_el2 = "vmpidr_el2";
    /// Stage-2 translation control.
    vtcr_el2 = "vtcr_el2";
    /// Stage-2 table and VMID.
    vttbr_el2 = "vttbr_el2";
    /// EL1 system control.
    sctlr_el1 = "sctlr_el1";
    /// EL1 access to floating point.
    cpacr_el1 = "cpacr_el1";
    /// EL1 translation control.
    tcr_el1 = "tcr_el1";
    /// EL1 table 0.
    ttbr0_el1 = "ttbr0_el1";
    /// EL1 table 1.
    ttbr1_el1 = "ttbr1_el1";
    /// EL1 memory attributes.
    mair_el1 = "mair_el1";
    /// EL1 auxiliary memory attributes.
    amair_el1 = "amair_el1";
    /// EL1 vectors.
    vbar_el1 = "vbar_el1";
    /// EL1 exception syndrome.
    esr_el1 = "esr_el1";
    /// EL1 fault address.
    far_el1 = "far_el1";
    /// EL1 exception return address.
    elr_el1 = "elr_el1";
    /// EL1 saved state.
    spsr_el1 = "spsr_el1";
    /// EL1 stack pointer.
    sp_el1 = "sp_el1";
    /// EL0 stack pointer.
    sp_el0 = "sp_el0";
    /// EL1 thread pointer.
    tpidr_el1 = "tpidr_el1";
    /// EL0 thread pointer.
    tpidr_el0 = "tpidr_el0";
    /// EL0 read-only thread pointer.
    tpidrro_el0 = "tpidrro_el0";
    /// EL1 context number.
    contextidr_el1 = "contextidr_el1";
    /// EL1 debug control.
    mdscr_el1 = "mdscr_el1";
    /// Cache size selection.
    csselr_el1 = "csselr_el1";
    /// EL1 auxiliary fault status 0.
    afsr0_el1 = "afsr0_el1";
    /// EL1 auxiliary fault status 1.
    afsr1_el1 = "afsr1_el1";
    /// Result of an address translation.
    par_el1 = "par_el1";
    /// Control of the performance monitors.
    pmcr_el0 = "pmcr_el0";
    /// Access of EL0 to the performance monitors.
    pmuserenr_el0 = "pmuserenr_el0";
    /// Counters that count; ones enable.
    pmcntenset_el0 = "pmcntenset_el0";
    /// Ones disable.
    pmcntenclr_el0 = "pmcntenclr_el0";
    /// Counters whose overflow interrupts; ones enable.
    pmintenset_el1 = "pmintenset_el1";
    /// Ones disable.
    pmintenclr_el1 = "pmintenclr_el1";
    /// Counters that have overflowed; ones clear.
    pmovsclr_el0 = "pmovsclr_el0";
    /// The event that counter 0 counts.
    pmevtyper0_el0 = "pmevtyper0_el0";
    /// Counter 0.
    pmevcntr0_el0 = "pmevcntr0_el0";
    /// The exception levels in which the cycle counter counts.
    pmccfiltr_el0 = "pmccfiltr_el0";
    /// The cycle counter.
    pmccntr_el0 = "pmccntr_el0";
}
