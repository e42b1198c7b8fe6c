//! The performance monitors of a CPU (Arm DDI 0487, chapter D13): event counter 0, or the cycle
//! counter, for EL2.
//!
//! They count at EL0, EL1 and EL2 in the non-secure state. Guests neither see nor reach them:
//! every access of theirs to a register of the performance monitors traps (`guest_state`), so
//! that no counter needs to be set apart for EL2 by MDCR_EL2.HPMN. The registers are 64 bit
//! wide; of a counter of 32 bits they show zeros above.

use super::counter::width::Width;
use super::{cpu, regs};
use crate::plan::Missing;

/// PMCR_EL0: enable, reset events and cycles, overflow of all 64 bits of the cycle counter, and
/// of event counters. Not set: stop of the cycle counter where counting is prohibited.
const ENABLE: u64 = 1 << 0;
const RESET: u64 = 1 << 1 | 1 << 2;
const LONG_CYCLES: u64 = 1 << 6;
const LONG_EVENTS: u64 = 1 << 7;
/// Types and filters: EL2 counts too.
const EL2_COUNTS: u64 = 1 << 27;
/// MDCR_EL2: counters that are not set apart for EL2.
const HPMN: u64 = 0x1f;
/// ID_AA64DFR0_EL1.PMUVer: no performance monitors, or not those of the architecture; and the
/// first version whose event counters have 64 bits.
const NO_MONITORS: [u64; 2] = [0, 0xf];
const WIDE_EVENTS: u64 = 6;

/// The counter that is used: its bit in the registers that have one for each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Event counter 0.
    Event = 0,
    /// The cycle counter.
    Cycles = 31,
}

impl Unit {
    const fn bit(self) -> u64 {
        1 << self as u32
    }

    /// Returns the count.
    #[inline(always)]
    pub fn value(self) -> u64 {
        match self {
            Self::Event => regs::pmevcntr0_el0::read(),
            Self::Cycles => regs::pmccntr_el0::read(),
        }
    }

    /// Lets it go on from a value.
    #[inline(always)]
    pub fn set(self, value: u64) {
        match self {
            Self::Event => regs::pmevcntr0_el0::write(value),
            Self::Cycles => regs::pmccntr_el0::write(value),
        }
    }

    /// Takes its request for an interrupt back.
    #[inline(always)]
    pub fn acknowledge(self) {
        regs::pmovsclr_el0::write(self.bit());
        cpu::isb();
    }

    /// Lets this counter of this CPU count, and interrupt when it overflows. `event`: the event that counter 0 counts.
    pub fn init(self, event: u16, width: Width) -> Result<(), Missing> {
        let version = regs::id_aa64dfr0_el1::read() >> 8 & 0xf;
        if NO_MONITORS.contains(&version) {
            return Err(Missing::Monitors);
        }
        let counters = regs::pmcr_el0::read() >> 11 & 0x1f;
        if self == Self::Event {
            if counters == 0 {
                return Err(Missing::EventCounters);
            }
            if !counts(event) {
                return Err(Missing::Event(event));
            }
            if width == Width::BITS_64 && version < WIDE_EVENTS {
                return Err(Missing::WideEventCounters);
            }
        }
        regs::mdcr_el2::write(regs::mdcr_el2::read() & !HPMN | counters);
        let long = if width == Width::BITS_64 { LONG_CYCLES | LONG_EVENTS } else { 0 };
        regs::pmuserenr_el0::write(0);
        regs::pmcntenclr_el0::write(u64::MAX >> 32);
        regs::pmintenclr_el1::write(u64::MAX >> 32);
        regs::pmcr_el0::write(RESET | long);
        regs::pmovsclr_el0::write(u64::MAX >> 32);
        match self {
            Self::Event => regs::pmevtyper0_el0::write(EL2_COUNTS | u64::from(event)),
            Self::Cycles => regs::pmccfiltr_el0::write(EL2_COUNTS),
        }
        regs::pmintenset_el1::write(self.bit());
        regs::pmcntenset_el0::write(self.bit());
        regs::pmcr_el0::write(ENABLE | long);
        cpu::isb();
        Ok(())
    }
}

/// Returns true if the CPU counts an event. Of those that are not common ones it does not tell.
fn counts(event: u16) -> bool {
    let (place, known) = match event {
        0..0x20 => (event, regs::pmceid0_el0::read()),
        0x20..0x40 => (event - 0x20, regs::pmceid1_el0::read()),
        0x4000..0x4020 => (event - 0x4000 + 32, regs::pmceid0_el0::read()),
        0x4020..0x4040 => (event - 0x4020 + 32, regs::pmceid1_el0::read()),
        _ => return true,
    };
    known >> place & 1 != 0
}
