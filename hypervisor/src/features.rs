//! A list of the features of its CPU that a guest sees in the identification registers. All that a later
//! architecture version adds is hidden, because nobody here keeps its registers apart or lets it work.
//!
//! A field has four bits; larger numbers mean more. A guest reads the number of its CPU, but no more than the
//! one listed; 0 says that there is no such feature. A few fields are signed: there -1 says that.

/// The most that a guest sees of an identification register.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Most {
    /// For each field the largest number.
    pub fields: u64,
    /// The signed fields, one bit each.
    pub signed: u16,
}

/// All bits of a register, for fields in AArch32 that have had all their meanings for a long time.
const ALL: u64 = 0xffff_ffff;

/// The list: registers `S3_0_C0_C<crm>_<op2>`. Registers that are not on it read as zero.
#[rustfmt::skip]
pub const fn most(crm: u64, op2: u64) -> Most {
    let (fields, signed) = match (crm, op2) {
        // ID_AA64PFR0: CSV3, CSV2 without SCXTNUM, DIT, GICv3, Advanced SIMD and floating point to half precision (signed),
        // no EL3 and EL2, EL1 in AArch64, EL0 in both.
        (4, 0) => (0x1101_0000_0111_0011 | 2, 1 << 5 | 1 << 4),
        // ID_AA64PFR1: SSBS, BTI.
        (4, 1) => (0x21, 0),
        // ID_AA64DFR0: as few break- and watchpoints as there can be, which have no effect; Armv8.0. Signed: no OS double lock.
        (5, 0) => (0x0010_1006, 1 << 9),
        // ID_AA64ISAR0: RNDR, TLB ranges, flags, FHM, DP, SM4, SM3, SHA3, RDM, -, atomics, CRC32, SHA2, SHA1, AES.
        (6, 0) => (0x1221_1111_1021_2120, 0),
        // ID_AA64ISAR1: -, XS, I8MM, DGH, BF16, SPECRES, SB, FRINTTS, GPI, GPA, LRCPC, FCMA, JSCVT, API, APA, DPB.
        (6, 1) => (0x0111_1111_1121_1552, 0),
        // ID_AA64ISAR2: CSSC, RPRFM, CLRBHB, PAC_frac, BC, APA3, GPA3, RPRES; no MOPS, no WFxT.
        (6, 2) => (0x0011_0000_1110_5110, 0),
        // ID_AA64MMFR0: ExS, TGran4 and TGran64 (signed) and TGran16 without LPA2, big endian, ASIDs, 48-bit addresses.
        (7, 0) => (0x0000_1000_0011_1125, 1 << 7 | 1 << 6),
        // ID_AA64MMFR1: ECBHB, nTLBPA, AFP, ETS, SpecSEI, PAN, HPDS, HAFDBS.
        (7, 1) => (0x1001_1020_0130_2002, 0),
        // ID_AA64MMFR2: E0PD, BBM, TTL, IDS, AT, ST, CCIDX, VARange, LSM, UAO, CnP.
        (7, 2) => (0x1021_0011_1011_0111, 0),
        // AArch32 at EL0, without its debug features and error records. ID_PFR0: DIT, CSV2, states.
        (1, 0) => (0x0101_ffff, 0),
        // ID_PFR1: GIC, what EL1 has.
        (1, 1) => (0x1fff_ffff, 0),
        // ID_MMFR0..3, ID_ISAR0..4
        (1, 4..=7) | (2, 0..=4) => (ALL, 0),
        // ID_ISAR5: VCMA, RDM, CRC32, SHA2, SHA1, AES, SEVL.
        (2, 5) => (0x1101_1121, 0),
        // ID_MMFR4: CCIDX, LSM, HPDS, CnP, XNX, AC2, SpecSEI.
        (2, 6) => (0x0112_1111, 0),
        // ID_ISAR6: CLRBHB, I8MM, BF16, SPECRES, SB, FHM, DP, JSCVT.
        (2, 7) => (0x1111_1111, 0),
        // MVFR0..2
        (3, 0..=2) => (ALL, 0),
        _ => (0, 0),
    };
    Most { fields, signed }
}

impl Most {
    /// Returns the value that a guest sees of a register with this value.
    #[inline(never)]
    pub fn of(self, value: u64) -> u64 {
        (0..16).fold(0, |seen, n| {
            let at = |word: u64| (word >> (4 * n) & 0xf) as u8;
            let (value, most) = (at(value), at(self.fields));
            // A signed number is compared with its sign turned, as one without.
            let turn = if self.signed >> n & 1 != 0 { 8 } else { 0 };
            seen | u64::from((value ^ turn).min(most ^ turn) ^ turn) << (4 * n)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU that has more of everything than any that exists.
    const FULL: u64 = 0x7777_7777_7777_7777;

    #[test]
    fn nothing_shows_that_is_not_listed() {
        for crm in 0..8 {
            for op2 in 0..8 {
                let most = most(crm, op2);
                assert_eq!(most.of(FULL) & !most.of(u64::MAX), 0);
                for n in (0..16).filter(|n| most.signed >> n & 1 == 0) {
                    let field = |word: u64| word >> (4 * n) & 0xf;
                    assert!(field(most.of(u64::MAX)) <= field(most.fields), "C{crm}_{op2} {n}");
                }
            }
        }
        assert_eq!(most(4, 2).of(u64::MAX), 0, "ID_AA64PFR2");
        assert_eq!(most(4, 4).of(u64::MAX), 0, "ID_AA64ZFR0");
        assert_eq!(most(7, 3).of(u64::MAX), 0, "ID_AA64MMFR3");
    }

    #[test]
    fn a_cpu_with_less_shows_what_it_has() {
        let cortex_a53 = [
            ((4, 0), 0x0100_2222, 0x0100_0012),
            ((5, 0), 0x1030_5106, 0x0010_1006),
            ((6, 0), 0x0001_1120, 0x0001_1120),
            ((7, 0), 0x0000_1122, 0x0000_1122),
            ((2, 5), 0x0001_1121, 0x0001_1121),
        ];
        for ((crm, op2), value, seen) in cortex_a53 {
            assert_eq!(most(crm, op2).of(value), seen, "C{crm}_{op2}");
        }
    }

    #[test]
    fn what_a_signed_field_lacks_it_still_lacks() {
        let pfr0 = most(4, 0);
        assert_eq!(pfr0.of(0x00ff_0022), 0x00ff_0012, "neither floating point nor Advanced SIMD");
        assert_eq!(pfr0.of(0x0011_0022), 0x0011_0012);
        assert_eq!(pfr0.of(0x0022_0022), 0x0011_0012);
        let mmfr0 = most(7, 0);
        assert_eq!(mmfr0.of(0xff10_1122), 0xff10_1122, "pages of 16 KiB only");
        assert_eq!(mmfr0.of(0x1020_1126), 0x0010_1125, "no LPA2");
        assert_eq!(most(5, 0).of(0xf0_0000_0006), 0xf0_0000_0006);
    }

    #[test]
    fn features_without_a_home_are_hidden() {
        let field = |crm, op2, n: u32| most(crm, op2).of(FULL) >> (4 * n) & 0xf;
        for (name, crm, op2, n) in [
            ("WFxT", 6, 2, 0),
            ("MOPS", 6, 2, 4),
            ("LS64", 6, 1, 15),
            ("MTE", 4, 1, 2),
            ("SME", 4, 1, 6),
            ("NMI", 4, 1, 9),
            ("GCS", 4, 1, 11),
            ("THE", 4, 1, 12),
            ("RAS", 4, 0, 7),
            ("SVE", 4, 0, 8),
            ("MPAM", 4, 0, 10),
            ("AMU", 4, 0, 11),
            ("FGT", 7, 0, 14),
            ("ECV", 7, 0, 15),
            ("VH", 7, 1, 2),
            ("LO", 7, 1, 4),
            ("HCX", 7, 1, 10),
            ("TIDCP1", 7, 1, 13),
            ("NV", 7, 2, 6),
            ("PMU", 5, 0, 2),
            ("SPE", 5, 0, 8),
        ] {
            assert_eq!(field(crm, op2, n), 0, "{name}");
        }
    }
}
