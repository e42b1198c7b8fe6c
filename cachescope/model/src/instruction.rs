//! The properties of instructions that the model has to know: those of A64, and two NOPs of x86-64.

/// Returns true if an instruction is of the class of loads and stores and accesses
/// memory when it is executed. Prefetches are of that class but do not.
///
/// Source: Arm ARM (DDI 0487), C4.1, "Loads and Stores".
pub const fn accesses_memory(word: u32) -> bool {
    let load_or_store = word >> 25 & 0b0101 == 0b0100;
    load_or_store && !prefetches(word)
}

/// The effect of an instruction on the line of an address without loading or
/// storing: QEMU does not report it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineOperation {
    /// DC ZVA: fills a block, [`ZERO_BLOCK`] bytes, with zeroes.
    Zero,
    /// DC CVAU: the line goes to the last-level cache, where instructions come from.
    CleanToShared,
    /// DC CVAC, CVAP and CVADP: the line is written to memory if it was changed.
    Clean,
    /// DC CIVAC, and DC IVAC as a guest's takes effect: the same, and no data
    /// cache keeps it.
    Remove,
}

/// Bytes of a block of DC ZVA, on all CPUs of QEMU with lines of 64 bytes.
pub const ZERO_BLOCK: u64 = 64;

impl LineOperation {
    /// The effect of an instruction, and the number of the general register with
    /// the virtual address; 31 is zero.
    ///
    /// Source: Arm ARM (DDI 0487), C5.3, "A64 System instructions for cache maintenance".
    pub const fn of(word: u32) -> Option<(Self, u32)> {
        let operation = match word & !0x1f {
            0xd50b_7420 => Self::Zero,
            0xd50b_7b20 => Self::CleanToShared,
            0xd50b_7a20 | 0xd50b_7c20 | 0xd50b_7d20 => Self::Clean,
            0xd50b_7e20 | 0xd508_7620 => Self::Remove,
            _ => return None,
        };
        Some((operation, word & 0x1f))
    }
}

/// Returns true if the instruction is PRFM (literal, unsigned offset, register offset) or PRFUM.
const fn prefetches(word: u32) -> bool {
    word & 0xff00_0000 == 0xd800_0000
        || word & 0xffc0_0000 == 0xf980_0000
        || word & 0xffe0_0c00 == 0xf8a0_0800
        || word & 0xffe0_0c00 == 0xf880_0000
}

/// Returns true if an instruction is `hint #0x50`, which CPUs take for a NOP: with it
/// Bulkhead's hypervisor passes a guest's mark on, its value in `x0`.
pub const fn is_mark(word: u32) -> bool {
    word == 0xd503_2a1f
}

/// Returns true if an instruction is `hint #0x51`, which CPUs take for a NOP: with it
/// Bulkhead's hypervisor says where the counter of its CPU is to be (address in
/// `x0`), and by which interrupt it wants to hear of it (`x1`).
pub const fn is_counter(word: u32) -> bool {
    word == 0xd503_2a3f
}

/// Returns true if a CPU may stand still after an instruction: WFI, or a call of firmware (HVC, SMC).
pub const fn may_wait(word: u32) -> bool {
    word == 0xd503_207f || word & 0xffe0_001f == 0xd400_0002 || word & 0xffe0_001f == 0xd400_0003
}

/// Returns true if a hypervisor lets an interrupt come with an instruction, or asks for one: ERET, WFI, or a read of
/// ISR_EL1.
pub const fn looks_for_interrupts(word: u32) -> bool {
    word == 0xd69f_03e0 || word == 0xd503_207f || word & !0x1f == 0xd538_c100
}

/// Bytes of the block of memory of a counter; its address is a multiple of them.
pub const COUNTER_BYTES: u64 = 64;

/// The general register that an instruction writes to TTBR0_EL1: which address space is used.
pub const fn new_space(word: u32) -> Option<u32> {
    if word & !0x1f == 0xd518_2000 { Some(word & 0x1f) } else { None }
}

/// What a machine says by a NOP of x86-64: `nop [rax + N]` with 7 bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Said {
    /// `N` is 0x424b4d01: a guest sets a mark, its value in `rax`.
    Mark,
    /// `N` is 0x424b4d02: the page at the physical address in `rax` belongs to the VM whose number is in `rcx`.
    Page,
}

impl Said {
    /// Bytes of such an instruction.
    pub const BYTES: usize = 7;

    /// The meaning of an instruction of x86-64, if it has one.
    pub const fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x0f, 0x1f, 0x80, 0x01, 0x4d, 0x4b, 0x42] => Some(Self::Mark),
            [0x0f, 0x1f, 0x80, 0x02, 0x4d, 0x4b, 0x42] => Some(Self::Page),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_told_from_other_nops() {
        assert_eq!(Said::of(b"\x0f\x1f\x80\x01MKB"), Some(Said::Mark));
        assert_eq!(Said::of(b"\x0f\x1f\x80\x02MKB"), Some(Said::Page));
        for other in [&b"\x0f\x1f\x80\0\0\0\0"[..], b"\x0f\x1f\x81\x01MKB", b"\x90"] {
            assert_eq!(Said::of(other), None, "{other:?}");
        }
    }

    #[test]
    fn loads_and_stores_are_told_from_the_rest() {
        for (word, name) in [
            (0xf940_0020, "ldr x0, [x1]"),
            (0xa9bf_7bfd, "stp x29, x30, [sp, #-16]!"),
            (0x3dc0_0020, "ldr q0, [x1]"),
            (0x5800_0040, "ldr x0, .+8"),
            (0xc85f_fc20, "ldaxr x0, [x1]"),
            (0xc802_fc20, "stlxr w2, x0, [x1]"),
            (0x4c40_7020, "ld1 {v0.16b}, [x1]"),
            (0xf822_0020, "ldadd x2, x0, [x1]"),
            (0x3862_6820, "ldrb w0, [x1, x2]"),
        ] {
            assert!(accesses_memory(word), "{name}");
        }
        for (word, name) in [
            (0x8b02_0020, "add x0, x1, x2"),
            (0x9100_0420, "add x0, x1, #1"),
            (0x5400_0040, "b.eq .+8"),
            (0xd65f_03c0, "ret"),
            (0x1e62_2820, "fadd d0, d1, d2"),
            (0xd503_3f9f, "dsb sy"),
            (0xf980_0020, "prfm pldl1keep, [x1]"),
            (0xd800_0040, "prfm pldl1keep, .+8"),
            (0xf8a2_6820, "prfm pldl1keep, [x1, x2]"),
            (0xf880_0020, "prfum pldl1keep, [x1]"),
            (0xd50b_7421, "dc zva, x1"),
        ] {
            assert!(!accesses_memory(word), "{name}");
        }
    }

    #[test]
    fn operations_on_lines_are_told_apart() {
        for (word, operation, register) in [
            (0xd50b_7421, LineOperation::Zero, 1),
            (0xd50b_7b20, LineOperation::CleanToShared, 0),
            (0xd50b_7a3e, LineOperation::Clean, 30),
            (0xd50b_7c22, LineOperation::Clean, 2),
            (0xd50b_7d22, LineOperation::Clean, 2),
            (0xd50b_7e23, LineOperation::Remove, 3),
            (0xd508_763f, LineOperation::Remove, 31),
        ] {
            assert_eq!(LineOperation::of(word), Some((operation, register)), "{word:#x}");
        }
        // dc cisw, ic ivau, at s1e1r, ldr
        for other in [0xd508_7e41, 0xd50b_7521, 0xd508_7801, 0xf940_0020] {
            assert_eq!(LineOperation::of(other), None, "{other:#x}");
        }
    }

    #[test]
    fn marks_are_told_from_other_hints() {
        assert!(is_mark(0xd503_2a1f));
        // nop, wfe, sev, hint #0x4f, hint #0x51, bti c, hvc #0
        for other in [
            0xd503_201f,
            0xd503_205f,
            0xd503_209f,
            0xd503_29ff,
            0xd503_2a3f,
            0xd503_245f,
            0xd400_0002,
        ] {
            assert!(!is_mark(other), "{other:#x}");
        }
    }

    #[test]
    fn what_stands_still_is_told() {
        for (word, name) in
            [(0xd503_207f, "wfi"), (0xd400_0002, "hvc #0"), (0xd41f_ffe3, "smc #0xffff")]
        {
            assert!(may_wait(word), "{name}");
        }
        for (word, name) in [(0xd503_205f, "wfe"), (0xd400_0001, "svc #0"), (0xd420_0000, "brk #0")]
        {
            assert!(!may_wait(word), "{name}");
        }
    }

    #[test]
    fn counters_are_told_from_marks() {
        assert!(is_counter(0xd503_2a3f), "hint #0x51");
        assert!(!is_counter(0xd503_2a1f) && !is_mark(0xd503_2a3f));
    }

    #[test]
    fn writes_to_the_table_register_are_told_from_others() {
        assert_eq!(new_space(0xd518_2003), Some(3), "msr ttbr0_el1, x3");
        assert_eq!(new_space(0xd518_2023), None, "msr ttbr1_el1, x3");
        assert_eq!(new_space(0xd538_2003), None, "mrs x3, ttbr0_el1");
    }
}
