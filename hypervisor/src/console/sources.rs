//! Sources of output: a ring for each VM and one for the hypervisor.
//!
//! Each ring has a lock of its own, so a guest exit waits for VCPUs of its own
//! VM at most, and for the few bytes that the multiplexer takes in one go.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};

use super::MAX_VMS;
use super::ring::{RING_SIZE, Ring};
use crate::arch::page_table::PAGE_BYTES;
use crate::lock::{Mutex, MutexGuard};

/// The source of the hypervisor's own messages; those before it are the VMs.
pub(super) const HYPERVISOR: usize = MAX_VMS;

/// Number of sources.
pub(super) const SOURCES: usize = MAX_VMS + 1;

// For `eager`: no source.
const NONE: u8 = u8::MAX;

/// Room that a VM which was refused is told about: half a ring, so that it is
/// told once for a thousand bytes and not for each.
const ENOUGH_ROOM: usize = RING_SIZE / 2;

/// Something that has a page, or some, for itself: the tables of EL2 give the ring of a VM with colours
/// a frame of that VM.
#[repr(align(4096))]
struct OwnPage<T>(T);

const _: () = assert!(size_of::<OwnPage<Mutex<Ring>>>() == PAGE_BYTES as usize);

/// The rings, and the facts that they tell the multiplexer without it taking their locks.
pub(super) struct Sources {
    rings: [OwnPage<Mutex<Ring>>; SOURCES],
    // Sources with something to show now. A bit changes only under the ring's lock.
    ready: AtomicU16,
    // The source whose bytes are shown without waiting for the end of the line.
    eager: AtomicU8,
    // VMs that were refused and have room again.
    relieved: AtomicU8,
    // Some source may hold an incomplete line that is not ready.
    partial: AtomicBool,
}

impl Sources {
    pub(super) const fn new() -> Self {
        Self {
            rings: [const { OwnPage(Mutex::new(Ring::new())) }; SOURCES],
            ready: AtomicU16::new(0),
            eager: AtomicU8::new(NONE),
            relieved: AtomicU8::new(0),
            partial: AtomicBool::new(false),
        }
    }

    /// Address of the page that holds the ring of a VM and nothing else.
    pub(super) fn page(&self, vm: usize) -> usize {
        self.rings.as_ptr().wrapping_add(vm) as usize
    }

    /// Takes bytes from a VM. Returns their number, and true if there is something to show.
    pub(super) fn write(&self, vm: usize, bytes: &[u8]) -> (usize, bool) {
        let mut ring = self.rings[vm].0.lock();
        let taken = ring.push(bytes);
        if taken < bytes.len() {
            ring.starved = true;
        }
        (taken, self.note(vm, &ring))
    }

    /// Takes a message of the hypervisor.
    pub(super) fn print(&self, message: fmt::Arguments) {
        let mut ring = self.lock(HYPERVISOR);
        ring.push_message(message);
        self.note(HYPERVISOR, &ring);
    }

    /// Bytes that `vm` may write now.
    pub(super) fn space(&self, vm: usize) -> usize {
        self.lock(vm).space()
    }

    pub(super) fn lock(&self, source: usize) -> MutexGuard<'_, Ring> {
        self.rings[source].0.lock()
    }

    pub(super) fn try_lock(&self, source: usize) -> Option<MutexGuard<'_, Ring>> {
        self.rings[source].0.try_lock()
    }

    /// Sources with something to show, as bits.
    pub(super) fn ready(&self) -> u16 {
        self.ready.load(Ordering::SeqCst)
    }

    // Bytes came: the source may be ready now. It does not cease to be, because
    // a turn may be under way that was to show incomplete lines.
    fn note(&self, source: usize, ring: &Ring) -> bool {
        let ready = self.has_something(source, ring);
        if ready {
            self.mark(source, true);
        } else {
            self.partial.store(true, Ordering::Relaxed);
        }
        ready
    }

    /// A source's turn ended: it stays ready if there is more to show.
    pub(super) fn end_turn(&self, source: usize, ring: &Ring) {
        let ready = self.has_something(source, ring);
        if !ready && ring.len() > 0 {
            self.partial.store(true, Ordering::Relaxed);
        }
        self.mark(source, ready);
    }

    fn has_something(&self, source: usize, ring: &Ring) -> bool {
        ring.is_ready()
            || ring.len() > 0 && usize::from(self.eager.load(Ordering::Relaxed)) == source
    }

    /// Shows the bytes that a source holds, be the line complete or not.
    pub(super) fn force(&self, source: usize, ring: &Ring) {
        if ring.len() > 0 {
            self.mark(source, true);
        }
    }

    fn mark(&self, source: usize, ready: bool) {
        let bit = 1 << source;
        // Only changes cost an atomic operation: most calls change nothing.
        if (self.ready.load(Ordering::Relaxed) & bit != 0) != ready {
            if ready {
                self.ready.fetch_or(bit, Ordering::SeqCst);
            } else {
                self.ready.fetch_and(!bit, Ordering::SeqCst);
            }
        }
    }

    pub(super) fn set_eager(&self, source: Option<usize>) {
        let source = source.map_or(NONE, |source| source as u8);
        if self.eager.load(Ordering::Relaxed) != source {
            self.eager.store(source, Ordering::Relaxed);
        }
    }

    /// Notes that bytes were taken out of a ring.
    pub(super) fn taken(&self, source: usize, ring: &mut Ring) {
        if ring.starved && ring.space() >= ENOUGH_ROOM && source < MAX_VMS {
            ring.starved = false;
            self.relieved.fetch_or(1 << source, Ordering::Release);
        }
    }

    /// The VMs that were refused and have room again, as bits; each is told once.
    pub(super) fn take_relieved(&self) -> u8 {
        if self.relieved.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.relieved.swap(0, Ordering::Acquire)
    }

    pub(super) fn has_partial(&self) -> bool {
        self.partial.load(Ordering::Relaxed)
    }

    pub(super) fn set_partial(&self, partial: bool) {
        self.partial.store(partial, Ordering::Relaxed);
    }
}
