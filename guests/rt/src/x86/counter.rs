//! The clock: nanoseconds of the host.

use super::block;

/// Ticks in one second.
pub fn frequency() -> u64 {
    1_000_000_000
}

/// The time now, in ticks.
#[inline]
pub fn now() -> u64 {
    let clock = block::clock();
    // SAFETY: the guest may use the instruction, which changes no memory.
    let counter = unsafe { core::arch::x86_64::_rdtsc() };
    abi::kvm::nanoseconds(counter, clock)
}
