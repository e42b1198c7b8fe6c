//! Shows in a log of all instructions from when until when locks are held: for `cargo xtask bench-exits`, which
//! counts how long that is. The image that is shipped has none of this.

use crate::arch::cpu;

/// Nothing shows the time for which a CPU waits: it is that for which another one has the lock.
#[inline(always)]
pub fn wanted<T>() {}

/// A CPU has a lock.
#[inline(always)]
pub fn taken<T>() {
    cpu::mark_taken();
}

/// This CPU has the lock no more.
#[inline(always)]
pub fn released<T>() {
    cpu::mark_released();
}
