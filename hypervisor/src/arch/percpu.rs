//! Finding the state of the CPU that runs the code.

use alloc::boxed::Box;
use core::alloc::Layout;
use core::mem::offset_of;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::boot::STACK_BYTES;
use crate::pcpu::Pcpu;

/// The data of a CPU at which TPIDR_EL2 points. The entry code knows the first two words.
#[repr(C)]
pub struct Anchor {
    /// First address above the stack of the CPU: reset at every exit.
    stack_top: usize,
    /// First address above the stack for faults of the hypervisor itself.
    emergency_stack_top: usize,
    /// Address of its [`Stacks`].
    stacks: usize,
    pcpu: &'static Pcpu,
}

/// Bytes of the stack for faults of the hypervisor itself.
const EMERGENCY_STACK_BYTES: usize = 4096;
/// Bytes below a stack that are not mapped: a page.
const GUARD_BYTES: usize = 4096;

impl Anchor {
    /// State of this CPU.
    #[inline(always)]
    pub fn pcpu(&self) -> &'static Pcpu {
        self.pcpu
    }
}

/// Stacks of one CPU; allocated at boot, before the final tables are made.
///
/// Below each stack is a page that those tables do not map: code that needs more stack than there is
/// gets a fault and writes over nothing. No function has a frame that reaches beyond the page.
#[repr(C, align(4096))]
struct Stacks {
    emergency_guard: [u8; GUARD_BYTES],
    emergency: [u8; EMERGENCY_STACK_BYTES],
    guard: [u8; GUARD_BYTES],
    stack: [u8; STACK_BYTES],
}

/// Makes the anchor of a CPU: its state and its stacks.
pub fn new_anchor(pcpu: &'static Pcpu) -> &'static Anchor {
    let layout = Layout::new::<Stacks>();
    // SAFETY: the layout is not empty; the memory is used by nobody else.
    let stacks = unsafe { alloc::alloc::alloc(layout) } as usize;
    if stacks == 0 {
        alloc::alloc::handle_alloc_error(layout);
    }
    Box::leak(Box::new(Anchor {
        stack_top: stacks + size_of::<Stacks>(),
        emergency_stack_top: stacks + offset_of!(Stacks, guard),
        stacks,
        pcpu,
    }))
}

impl Anchor {
    /// First address above the stack of the CPU.
    pub fn stack_top(&self) -> usize {
        self.stack_top
    }

    /// The pages that must not be mapped, in the order of their addresses.
    pub fn guards(&self) -> [u64; 2] {
        [offset_of!(Stacks, emergency_guard), offset_of!(Stacks, guard)]
            .map(|offset| (self.stacks + offset) as u64)
    }

    /// Makes this the anchor of the CPU that calls.
    pub fn install(&'static self) {
        // SAFETY: the anchor lives for ever and is what the vectors expect there.
        unsafe {
            core::arch::asm!("msr tpidr_el2, {}", in(reg) self, options(nostack, preserves_flags));
        }
    }
}

fn anchor() -> Option<&'static Anchor> {
    let anchor: *const Anchor;
    // SAFETY: reading the register changes nothing.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el2", out(reg) anchor, options(nomem, nostack, preserves_flags));
    }
    // SAFETY: the register is 0 (set by the entry code) or holds the address of
    // an anchor that lives for ever.
    unsafe { anchor.as_ref() }
}

/// State of this CPU, once it has an anchor.
pub fn this() -> Option<&'static Pcpu> {
    anchor().map(Anchor::pcpu)
}

/// The stack of this CPU that contains an address.
pub fn stack_range(address: u64) -> Option<core::ops::Range<u64>> {
    let own = anchor().map(|anchor| {
        let [_, guard] = anchor.guards();
        [
            (anchor.stacks + offset_of!(Stacks, emergency)) as u64..guard,
            guard + GUARD_BYTES as u64..anchor.stack_top as u64,
        ]
    });
    let boot = super::boot::boot_stack();
    own.into_iter().flatten().chain([boot]).find(|range| range.contains(&address))
}

/// A place for a reference to something that lives for ever, or nothing.
#[derive(Debug)]
pub struct StaticRef<T: 'static>(AtomicPtr<T>);

impl<T: Sync> StaticRef<T> {
    /// Holds nothing.
    pub const fn empty() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Returns the value.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: only `set` stores here, and only references that live for ever.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the stored reference, where this CPU stored it itself, or the boot CPU once. Then this CPU finds all of it:
    /// it reads it at an address that it has to load first, and so not before what the address was stored behind.
    #[inline(always)]
    pub fn own(&self) -> Option<&'static T> {
        // SAFETY: as in `get`.
        unsafe { self.0.load(Ordering::Relaxed).as_ref() }
    }

    /// Replaces a reference at which only this CPU looks by one that it has found.
    #[inline(always)]
    pub fn set_own(&self, value: Option<&'static T>) {
        self.0.store(Self::pointer(value), Ordering::Relaxed);
    }

    /// Replaces the reference.
    pub fn set(&self, value: Option<&'static T>) {
        self.0.store(Self::pointer(value), Ordering::Release);
    }

    #[inline(always)]
    fn pointer(value: Option<&'static T>) -> *mut T {
        value.map_or(core::ptr::null_mut(), |value| core::ptr::from_ref(value).cast_mut())
    }
}
