//! Work that waits at the ports of a VM, one bit for each.
//!
//! The other end of a line *tells* first, and calls a VCPU of the VM then, which does what was told. If it *misses* the port
//! because another VCPU is there, that one does it when it has left. Each VCPU does so once: if it is missed again meanwhile, it
//! has one called. So an interrupt costs a look at each port at most, however often the other ends tell something; and of
//! what the other end tells, a VCPU has to know twice at most.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicU8, fence};

/// Notes about the ports of a VM.
pub struct Notes {
    told: AtomicU8,
    missed: AtomicU8,
}

impl Notes {
    /// No notes.
    pub const fn new() -> Self {
        Self { told: AtomicU8::new(0), missed: AtomicU8::new(0) }
    }

    /// There is something to do at a port.
    pub fn tell(&self, port: usize) {
        self.told.fetch_or(1 << port, SeqCst);
    }

    /// Returns the ports at which there is something to do, one bit each.
    #[inline(always)]
    pub fn told(&self) -> u8 {
        self.told.load(Relaxed)
    }

    /// A VCPU is called to a port: `try_lock` returns what is there, unless another VCPU is. Returns that, if the caller is to do what
    /// was told.
    pub fn attend<T>(&self, port: usize, try_lock: impl Fn() -> Option<T>) -> Option<T> {
        if self.told() >> port & 1 == 0 {
            return None;
        }
        let found = try_lock().or_else(|| {
            self.missed.fetch_or(1 << port, SeqCst);
            // Who is at the port leaves it before it looks for that.
            fence(SeqCst);
            try_lock()
        })?;
        self.told.fetch_and(!(1 << port), SeqCst);
        self.missed.fetch_and(!(1 << port), SeqCst);
        Some(found)
    }

    /// A VCPU has left a port. Returns true if another one has missed the port.
    pub fn left(&self, port: usize) -> bool {
        fence(SeqCst);
        self.missed.load(Relaxed) & 1 << port != 0
            && self.missed.fetch_and(!(1 << port), SeqCst) & 1 << port != 0
    }

    /// Forgets all notes. Bytes that were sent before one of them are seen afterwards.
    pub fn forget(&self) {
        self.told.swap(0, SeqCst);
    }
}
