//! Sequentially consistent atomics for loom.
//!
//! loom takes a sequentially consistent access for an acquiring and releasing one, and so reports losses
//! that are none where a CPU stores one atomic and loads another. With fences around it is what it says. Where all
//! accesses to the atomics are sequentially consistent and all else is behind locks, this allows exactly what the
//! language does: what can happen in an interleaving.

use std::sync::atomic::Ordering;

use loom::sync::atomic::fence;

/// For mutants.
pub const RELAXED: Ordering = Ordering::Relaxed;

#[derive(Debug)]
pub struct AtomicU8(loom::sync::atomic::AtomicU8);

impl AtomicU8 {
    pub fn new(value: u8) -> Self {
        Self(loom::sync::atomic::AtomicU8::new(value))
    }

    pub fn load(&self, order: Ordering) -> u8 {
        Self::fenced(order, || self.0.load(weak(order, Ordering::Acquire)))
    }

    pub fn store(&self, value: u8, order: Ordering) {
        Self::fenced(order, || self.0.store(value, weak(order, Ordering::Release)));
    }

    pub fn swap(&self, value: u8, order: Ordering) -> u8 {
        Self::fenced(order, || self.0.swap(value, weak(order, Ordering::AcqRel)))
    }

    pub fn fetch_or(&self, value: u8, order: Ordering) -> u8 {
        Self::fenced(order, || self.0.fetch_or(value, weak(order, Ordering::AcqRel)))
    }

    pub fn fetch_add(&self, value: u8, order: Ordering) -> u8 {
        Self::fenced(order, || self.0.fetch_add(value, weak(order, Ordering::AcqRel)))
    }

    fn fenced<T>(order: Ordering, access: impl FnOnce() -> T) -> T {
        if order != Ordering::SeqCst {
            return access();
        }
        fence(Ordering::SeqCst);
        let result = access();
        fence(Ordering::SeqCst);
        result
    }
}

fn weak(order: Ordering, within_fences: Ordering) -> Ordering {
    if order == Ordering::SeqCst { within_fences } else { order }
}
