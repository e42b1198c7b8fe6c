//! Locks of which something is told when they are wanted, taken and given back: `order` checks that, `marks` shows it.

use core::any::type_name;
use core::fmt;
use core::ops::{Deref, DerefMut};

use super::Relax;
#[cfg(target_os = "none")]
use super::marks as watch;
#[cfg(not(target_os = "none"))]
use super::order as watch;

/// A lock like `super::Mutex` of the image, which tests watch.
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
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        watch::wanted::<T>();
        MutexGuard::of(self.0.lock())
    }

    /// Takes it if nobody has it: that is no waiting.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().map(MutexGuard::of)
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<Self>())
    }
}

impl<'a, T> MutexGuard<'a, T> {
    #[inline(always)]
    fn of(guard: spin::MutexGuard<'a, T>) -> Self {
        watch::taken::<T>();
        Self(guard)
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        watch::released::<T>();
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
