//! The instruction that brought a guest to EL2, as the syndrome (ESR_EL2) describes it: the code skips it, and finds
//! the event for which it waits.

/// PSTATE: the guest is in AArch32.
const AARCH32: u64 = 1 << 4;
/// PSTATE in AArch32: the state of an IT block, its low two bits and the other six.
const IT_LOW: u32 = 25;
const IT_HIGH: u32 = 10;
const IT_BITS: u64 = 0x3 << IT_LOW | 0x3f << IT_HIGH;

/// The instruction has four bytes; two only in AArch32.
const LONG: u64 = 1 << 25;

/// The instruction that waits: 0 is WFI, 1 WFE, 2 WFIT, 3 WFET.
const WHICH: u64 = 0b11;
const WFIT: u64 = 2;
/// The register of WFIT, if the bit says that it is there.
const REGISTER: u32 = 5;
const REGISTER_VALID: u64 = 1 << 2;
/// The condition, if it is not `always`: an instruction may trap although it is not met.
const CONDITION: u64 = 0xf << 20;
const ALWAYS: u64 = 0xe << 20;

/// Lets a guest with this program counter and PSTATE go on behind the instruction.
#[inline(always)]
pub fn skip(pc: &mut u64, pstate: &mut u64, syndrome: u64) {
    if *pstate & AARCH32 != 0 {
        return skip_in_aarch32(pc, pstate, syndrome);
    }
    *pc += 4;
}

#[cold]
#[inline(never)]
fn skip_in_aarch32(pc: &mut u64, pstate: &mut u64, syndrome: u64) {
    *pc += if syndrome & LONG != 0 { 4 } else { 2 };
    let it = *pstate >> IT_HIGH << 2 & 0xfc | *pstate >> IT_LOW & 0x3;
    // The last one of a block has ended, or the next bit of the mask moves up (DDI 0487, ITAdvance).
    let next = if it & 0x7 == 0 { 0 } else { it & 0xe0 | it << 1 & 0x1f };
    *pstate = *pstate & !IT_BITS | next >> 2 << IT_HIGH | (next & 0x3) << IT_LOW;
}

/// The event for which an instruction waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wait {
    /// An interrupt.
    Interrupt,
    /// An interrupt, or the time of the virtual counter in this register.
    Until(u64),
    /// No known event: the instruction is a hint, which may end at once.
    Nothing,
}

impl Wait {
    /// Returns the event for which WFI, WFE, WFIT or WFET waits.
    #[inline(always)]
    pub fn of(syndrome: u64) -> Self {
        if syndrome & (CONDITION | WHICH) == ALWAYS {
            return Self::Interrupt;
        }
        if syndrome & (CONDITION | WHICH | REGISTER_VALID) == ALWAYS | WFIT | REGISTER_VALID {
            return Self::Until(syndrome >> REGISTER & 0x1f);
        }
        Self::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PSTATE of AArch32 at EL0 in Thumb state, with this state of an IT block.
    fn thumb(it: u64) -> u64 {
        0x30 | it >> 2 << 10 | (it & 3) << 25 | 0xf000_0000
    }

    fn skipped(mut pstate: u64, syndrome: u64) -> (u64, u64) {
        let mut pc = 0x1000;
        skip(&mut pc, &mut pstate, syndrome);
        (pc, pstate)
    }

    #[test]
    fn instructions_are_skipped_by_their_length() {
        assert_eq!(skipped(0x3c5, LONG), (0x1004, 0x3c5));
        assert_eq!(skipped(0x10, LONG), (0x1004, 0x10));
        assert_eq!(skipped(thumb(0), LONG), (0x1004, thumb(0)));
        assert_eq!(skipped(thumb(0), 0), (0x1002, thumb(0)));
        // Bits of AArch64 that lie where AArch32 has others.
        assert_eq!(skipped(0x3 << 25 | 0x5, LONG), (0x1004, 0x3 << 25 | 0x5));
    }

    /// ITTET EQ: EQ, EQ, NE, EQ.
    #[test]
    fn an_it_block_goes_on() {
        let mut pstate = thumb(0b0000_0101);
        let mut conditions = Vec::new();
        while pstate != thumb(0) {
            let it = pstate >> 10 << 2 & 0xfc | pstate >> 25 & 3;
            conditions.push(it >> 4);
            pstate = skipped(pstate, 0).1;
        }
        assert_eq!(conditions, [0, 0, 1, 0]);
    }

    #[test]
    fn a_wait_ends_as_the_instruction_says() {
        const CV: u64 = 1 << 24;
        assert_eq!(Wait::of(CV | ALWAYS), Wait::Interrupt);
        assert_eq!(Wait::of(CV | ALWAYS | LONG), Wait::Interrupt);
        assert_eq!(Wait::of(CV | ALWAYS | WFIT | REGISTER_VALID | 7 << 5), Wait::Until(7));
        assert_eq!(Wait::of(CV | ALWAYS | WFIT | 7 << 5), Wait::Nothing, "no register");
        assert_eq!(Wait::of(CV | ALWAYS | 1), Wait::Nothing, "WFE");
        assert_eq!(Wait::of(CV | ALWAYS | 3 | REGISTER_VALID), Wait::Nothing, "WFET");
        assert_eq!(Wait::of(CV), Wait::Nothing, "WFIEQ, perhaps without its condition");
    }
}
