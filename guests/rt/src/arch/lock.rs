//! A lock for data that threads and interrupt handlers share.

use spin::Mutex;

use super::cpu;

/// Data that is used by one processor at a time, with interrupts masked.
pub struct InterruptLock<T>(Mutex<T>);

impl<T> InterruptLock<T> {
    /// Puts `value` under a lock.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Calls `f` with the data. Must not be called again from within `f`: that would wait for ever.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        cpu::without_interrupts(|| f(&mut self.0.lock()))
    }
}
