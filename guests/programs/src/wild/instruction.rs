//! Encodings of instructions (Arm DDI 0487, C4.1).

/// A system register or operation: op0, op1, CRn, CRm, op2.
pub type System = [u32; 5];

const fn fields([op0, op1, crn, crm, op2]: System) -> u32 {
    (op0 & 3) << 19 | (op1 & 7) << 16 | (crn & 15) << 12 | (crm & 15) << 8 | (op2 & 7) << 5
}

/// `MSR <register>, Xt`, or `SYS` for op0 = 1.
pub const fn write_system(register: System, t: u32) -> u32 {
    0xd500_0000 | fields(register) | t
}

/// `MRS Xt, <register>`, or `SYSL` for op0 = 1.
pub const fn read_system(register: System, t: u32) -> u32 {
    0xd520_0000 | fields(register) | t
}

/// `LDR Xt`, from an address `words` words further.
pub const fn load_literal(t: u32, words: u32) -> u32 {
    0x5800_0000 | (words & 0x7_ffff) << 5 | t
}

/// `SVC #immediate`.
pub const fn svc(immediate: u32) -> u32 {
    0xd400_0001 | (immediate & 0xffff) << 5
}

/// `HVC #immediate`.
pub const fn hvc(immediate: u32) -> u32 {
    0xd400_0002 | (immediate & 0xffff) << 5
}

/// `SMC #immediate`.
pub const fn smc(immediate: u32) -> u32 {
    0xd400_0003 | (immediate & 0xffff) << 5
}

/// `HINT #number`: `WFE` is 2, `WFI` 3, `SEV` 4.
pub const fn hint(number: u32) -> u32 {
    0xd503_201f | (number & 0x7f) << 5
}

/// `BR Xn`.
pub const fn branch_to(n: u32) -> u32 {
    0xd61f_0000 | n << 5
}

/// `B .`
pub const STAY: u32 = 0x1400_0000;
/// `DSB ISHST`.
pub const TABLES_WRITTEN: u32 = 0xd503_3a9f;
/// `DSB ISH`.
pub const DSB: u32 = 0xd503_3b9f;
/// `ISB`.
pub const ISB: u32 = 0xd503_3fdf;
/// `STR Xt, [Xn]`, of which the registers are 0.
pub const STORE: u32 = 0xf900_0000;
/// `LDR Xt, [Xn]`.
pub const LOAD: u32 = 0xf940_0000;

/// An access to memory at `Xn`, with the registers that it needs besides.
pub const fn access(form: u32, n: u32, t: u32) -> u32 {
    form | n << 5 | t
}

/// Instructions that access memory, without the register of the address and the first one for data: what the
/// syndrome of an abort tells completely comes first.
pub const ACCESSES: [u32; 41] = [
    0x3940_0000, // LDRB
    0x3900_0000, // STRB
    0x7940_0000, // LDRH
    0x7900_0000, // STRH
    0xb940_0000, // LDR W
    0xb900_0000, // STR W
    0xf940_0000, // LDR X
    0xf900_0000, // STR X
    0x3980_0000, // LDRSB
    0x39c0_0000, // LDRSB W
    0x7980_0000, // LDRSH
    0xb980_0000, // LDRSW
    0xf840_0800, // LDTR
    0xb800_0800, // STTR W
    0xf840_0000, // LDUR
    0xb800_0000, // STUR W
    0x88df_fc00, // LDAR W
    0x889f_fc00, // STLR W
    0xa940_0800, // LDP X
    0xa900_0800, // STP X
    0x2940_0800, // LDP W
    0x6940_0800, // LDPSW
    0xf840_8400, // LDR post-index
    0xf800_8c00, // STR pre-index
    0xb840_4400, // LDR W post-index
    0xc85f_7c00, // LDXR
    0xc803_7c00, // STXR
    0x885f_fc00, // LDAXR W
    0xc87f_0800, // LDXP
    0xc823_0800, // STXP
    0xf820_0000, // LDADD (Armv8.1)
    0xc8a0_7c00, // CAS
    0xf820_8000, // SWP
    0x3dc0_0000, // LDR Q
    0x3d80_0000, // STR Q
    0x4c40_7000, // LD1
    0x4c00_7000, // ST1
    0x4c40_0000, // LD4
    0xf980_0000, // PRFM
    0xbd40_0000, // LDR S
    0xbd00_0000, // STR S
];

/// Number of [`ACCESSES`] that a hypervisor can emulate from the syndrome.
pub const PLAIN_ACCESSES: usize = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_those_of_the_architecture() {
        assert_eq!(hvc(0), 0xd400_0002);
        assert_eq!(smc(1), 0xd400_0023);
        assert_eq!(hint(3), 0xd503_207f, "WFI");
        assert_eq!(read_system([3, 0, 0, 0, 5], 0), 0xd538_00a0, "MRS X0, MPIDR_EL1");
        assert_eq!(write_system([3, 0, 12, 0, 0], 1), 0xd518_c001, "MSR VBAR_EL1, X1");
        assert_eq!(write_system([1, 0, 8, 7, 0], 31), 0xd508_871f, "TLBI VMALLE1");
        assert_eq!(load_literal(3, 2), 0x5800_0043);
        assert_eq!(access(LOAD, 2, 1), 0xf940_0041, "LDR X1, [X2]");
        assert_eq!(branch_to(30), 0xd61f_03c0);
    }
}
