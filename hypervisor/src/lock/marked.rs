//! Locks that show in a log of all instructions from when until when they are held: for `cargo xtask bench-exits`, which
//! counts how long that is. The image that is shipped has none of this.

use core::ops::{Deref, DerefMut};

use super::Relax;
use crate::arch::cpu;

/// As `super::Mutex` of the image, with marks.
#[derive(Debug)]
pub struct Mutex<T>(spin::mutex::Mutex<T, Relax>);

/// The lock is held.
pub struct MutexGuard<'a, T>(spin::MutexGuard<'a, T>);

impl<T> Mutex<T> {
    /// A lock that nobody has.
    pub const fn new(value: T) -> Self {
        Self(spin::mutex::Mutex::new(value))
    }

    /// Waits for its turn.
    #[inline(always)]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock();
        cpu::mark_taken();
        MutexGuard(guard)
    }

    /// Takes it if nobody has it.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let guard = self.0.try_lock()?;
        cpu::mark_taken();
        Some(MutexGuard(guard))
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        cpu::mark_released();
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
