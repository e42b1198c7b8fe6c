//! The saved state of a thread.

/// The integer state of an interrupted thread. A handler that exchanges it for another one switches
/// threads.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// `x0`..`x30`.
    pub(super) x: [u64; 31],
    /// Stack pointer.
    pub(super) sp: u64,
    /// The address at which the thread goes on.
    pub(super) pc: u64,
    /// Processor state (`SPSR_EL1`).
    pub(super) pstate: u64,
}

const _: () = assert!(size_of::<Frame>() == 272, "vectors.s saves 272 bytes");

/// EL1 with SP_EL0, debug exceptions and FIQ masked, interrupts and system errors not.
const PSTATE_THREAD: u64 = 0x4 | 1 << 9 | 1 << 6;

impl Frame {
    /// The state of no thread.
    pub const EMPTY: Self = Self { x: [0; 31], sp: 0, pc: 0, pstate: 0 };

    /// A thread at EL1 that will start at `pc` with this stack, interrupts enabled.
    pub(super) const fn at_el1(pc: u64, sp: u64) -> Self {
        Self { sp, pc, pstate: PSTATE_THREAD, ..Self::EMPTY }
    }
}
