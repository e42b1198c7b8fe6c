//! A PL031 clock that the guest owns, as QEMU has it: an interrupt now, or whole seconds from now, to the
//! tick.
//!
//! On QEMU the clock's seconds do not begin when it is set: an alarm that is n seconds ahead when the
//! clock is set comes exactly n seconds later.

use crate::arch::mmio::Registers;

/// INTID of its interrupt.
pub const INTID: u32 = 34;

const BASE: u64 = 0x0901_0000;
const MATCH: usize = 0x4;
const LOAD: usize = 0x8;
const MASK: usize = 0x10;
const STATUS: usize = 0x14;
const CLEAR: usize = 0x1c;
/// Any time will do: the guest does not use the date.
const TIME: u32 = 1 << 20;

/// The clock.
#[derive(Clone, Copy, Debug)]
pub struct Alarm(Registers);

impl Alarm {
    /// The clock, with its interrupt enabled in the device, and no alarm ahead.
    pub fn new() -> Option<Self> {
        let alarm = Self(Registers::page(BASE)?);
        alarm.0.write32(LOAD, TIME + 1); // past the match, which comes round in a century
        alarm.0.write32(MATCH, TIME);
        alarm.0.write32(CLEAR, 1);
        alarm.0.write32(MASK, 1);
        Some(alarm)
    }

    /// Interrupts `seconds` from now; 0: now. An alarm that is still ahead is forgotten.
    #[inline(always)]
    pub fn ring_after(self, seconds: u32) {
        self.0.write32(LOAD, TIME - seconds);
    }

    /// Returns true if the alarm rings.
    pub fn rings(self) -> bool {
        self.0.read32(STATUS) & 1 != 0
    }

    /// Ends its ringing.
    pub fn silence(self) {
        self.0.write32(CLEAR, 1);
    }
}
