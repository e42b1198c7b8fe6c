//! Memory for the structures that are built at boot. Nothing is ever given back: after boot the
//! hypervisor allocates nothing, and [`seal`] makes an attempt fail.
//!
//! While a VM with colours is built, the heap is in memory of that VM ([`replace`]).

use core::alloc::{GlobalAlloc, Layout};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

struct BootHeap {
    next: AtomicUsize,
    end: AtomicUsize,
    exhausted: AtomicBool,
}

#[global_allocator]
static HEAP: BootHeap = BootHeap {
    next: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
    exhausted: AtomicBool::new(false),
};

// SAFETY: the ranges handed out come from the region given to `init`, are
// aligned, and never overlap, because `next` only grows.
unsafe impl GlobalAlloc for BootHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut taken = 0;
        let result = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            let start = next.checked_add(layout.align() - 1)? & !(layout.align() - 1);
            let after = start.checked_add(layout.size())?;
            taken = start;
            (after <= self.end.load(Ordering::Relaxed)).then_some(after)
        });
        if result.is_ok() {
            return taken as *mut u8;
        }
        self.exhausted.store(true, Ordering::Relaxed);
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

/// Gives the heap this memory, and returns the unused part of the memory before.
///
/// # Safety
/// The range is writable memory that nothing else uses, now or later, or what this
/// function returned, once. One CPU runs.
pub unsafe fn replace(memory: Range<usize>) -> Range<usize> {
    let next = HEAP.next.swap(memory.start, Ordering::Relaxed);
    next..HEAP.end.swap(memory.end, Ordering::Relaxed)
}

/// First address that was not handed out yet.
pub fn next() -> usize {
    HEAP.next.load(Ordering::Relaxed)
}

/// Makes the heap end at this address at the latest.
pub fn limit(end: usize) {
    HEAP.end.fetch_min(end, Ordering::Relaxed);
}

/// Returns true if something found no room at boot: the plan gives the hypervisor too little.
pub fn is_exhausted() -> bool {
    HEAP.exhausted.load(Ordering::Relaxed) && HEAP.end.load(Ordering::Relaxed) != 0
}

/// Takes the rest away: allocation after boot is a bug and fails.
pub fn seal() {
    HEAP.end.store(0, Ordering::Relaxed);
}
