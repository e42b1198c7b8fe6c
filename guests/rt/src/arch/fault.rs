//! Faults: what the processor says about an exception, and those that are expected.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::frame::Frame;
use super::stacks::CPUS_MAX;
use super::{cpu, sysreg::read_sysreg};

/// The processor's description of an exception.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fault {
    /// Syndrome (`ESR_EL1`).
    pub syndrome: u64,
    /// Address whose access failed (`FAR_EL1`); says nothing for other exceptions.
    pub address: u64,
    /// Address of the instruction.
    pub pc: u64,
}

impl Fault {
    pub(super) fn read(pc: u64) -> Self {
        Self { syndrome: read_sysreg!("esr_el1"), address: read_sysreg!("far_el1"), pc }
    }

    pub(super) fn class(self) -> u64 {
        self.syndrome >> 26 & 0x3f
    }

    /// The kind of exception, in words.
    pub fn kind(self) -> &'static str {
        match self.class() {
            0x00 => "undefined instruction",
            0x0e => "illegal execution state",
            0x11 | 0x15 => "SVC",
            0x16 => "HVC",
            0x17 => "SMC",
            0x18 => "trapped system register",
            0x20 => "instruction abort at EL0",
            0x21 => "instruction abort",
            0x22 => "misaligned PC",
            0x24 => "data abort at EL0",
            0x25 => "data abort",
            0x26 => "misaligned SP",
            0x2f => "SError",
            0x3c => "breakpoint",
            _ => "exception",
        }
    }
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "fault=\"{}\" esr={:#x} far={:#x} pc={:#x}",
            self.kind(),
            self.syndrome,
            self.address,
            self.pc
        )
    }
}

/// For each processor, true if a fault is expected, and the last expected one.
static EXPECTED: [AtomicBool; CPUS_MAX] = [const { AtomicBool::new(false) }; CPUS_MAX];
static CAUGHT: [[AtomicU64; 3]; CPUS_MAX] = [const { [const { AtomicU64::new(0) }; 3] }; CPUS_MAX];

/// Calls `f`; a synchronous exception in it is kept for the caller, and the instruction skipped (a
/// branch to a bad address returns to where it came from).
///
/// # Safety
///
/// `f` must be sound when an instruction of it that faults is skipped.
pub unsafe fn catch(f: impl FnOnce()) -> Option<Fault> {
    let cpu = cpu::index();
    CAUGHT[cpu][0].store(0, Relaxed);
    EXPECTED[cpu].store(true, Relaxed);
    f();
    EXPECTED[cpu].store(false, Relaxed);
    let [syndrome, address, pc] = [0, 1, 2].map(|i: usize| CAUGHT[cpu][i].load(Relaxed));
    // A syndrome of an exception that was taken is never 0 except for undefined instructions with a
    // 16-bit length, which AArch64 does not have.
    (syndrome != 0).then_some(Fault { syndrome, address, pc })
}

/// Returns true if a fault is expected on this processor.
pub(super) fn is_expected() -> bool {
    EXPECTED[cpu::index()].load(Relaxed)
}

/// Keeps an expected fault for [`catch`], and lets the thread go on behind the instruction.
pub(super) fn caught(frame: &mut Frame, fault: Fault) {
    for (slot, value) in CAUGHT[cpu::index()].iter().zip([fault.syndrome, fault.address, fault.pc])
    {
        slot.store(value, Relaxed);
    }
    frame.pc = match fault.class() {
        0x21 | 0x22 => frame.x[30],
        _ => frame.pc + 4,
    };
}
