//! Registers that only a redistributor has: those of its first frame.

use super::VGic;
use super::distributor::{IIDR_VALUE, identification};
use super::env::Env;

const CTLR: usize = 0x0000;
const IIDR: usize = 0x0004;
const TYPER_LOW: usize = 0x0008;
const TYPER_HIGH: usize = 0x000c;
const WAKER: usize = 0x0014;

/// GICR_CTLR.RWP.
const RWP: u32 = 1 << 3;
/// GICR_TYPER.Last.
const LAST: u32 = 1 << 4;
/// GICR_WAKER.ProcessorSleep and ChildrenAsleep.
const PROCESSOR_SLEEP: u32 = 1 << 1;
const CHILDREN_ASLEEP: u32 = 1 << 2;

impl VGic {
    /// Reads a register of redistributor `of`, which exists.
    pub(super) fn read_redistributor<E: Env>(
        &self,
        env: &E,
        of: usize,
        offset: usize,
        bytes: usize,
    ) -> u64 {
        let word = |offset| match offset {
            CTLR if self.lock().unsettled(env) >> of & 1 != 0 => RWP,
            IIDR => IIDR_VALUE,
            TYPER_LOW => {
                let last = if of + 1 == self.vcpus.len() { LAST } else { 0 };
                (of as u32) << 8 | last
            }
            // Affinity 0.0.0.of
            TYPER_HIGH => of as u32,
            WAKER if self.lock().asleep >> of & 1 != 0 => PROCESSOR_SLEEP | CHILDREN_ASLEEP,
            _ => identification(offset),
        };
        let low = word(offset) as u64;
        if bytes == 8 { low | (word(offset + 4) as u64) << 32 } else { low }
    }

    /// Writes a register of redistributor `of`, which exists.
    pub(super) fn write_redistributor(&self, of: usize, offset: usize, value: u64) {
        if offset == WAKER {
            let mut state = self.lock();
            if value as u32 & PROCESSOR_SLEEP != 0 {
                state.asleep |= 1 << of;
            } else {
                state.asleep &= !(1 << of);
            }
        }
    }
}
