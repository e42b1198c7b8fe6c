//! The interrupt of a VCPU's virtual timer in the interrupt controller of its PCPU, where all
//! VCPUs of the PCPU have the same one.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::arch::gic;
use crate::pcpu::Pcpu;

/// INTID of the virtual timer.
pub const VIRTUAL_TIMER: u32 = 27;

/// The interrupt is enabled.
pub const ENABLED: u8 = 1;
/// The guest handles the interrupt, and it does not fire.
pub const ACTIVE: u8 = 2;

/// State of the interrupt. Whether it is pending is not kept, because the timer determines it.
#[derive(Debug)]
pub struct VirtualTimer(AtomicU8);

impl VirtualTimer {
    /// Neither enabled nor active.
    pub const fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    /// Sets or clears a part of the state.
    pub fn set(&self, part: u8, on: bool) {
        if on {
            self.0.fetch_or(part, Relaxed)
        } else {
            self.0.fetch_and(!part, Relaxed)
        };
    }

    /// Saves the state of the previous VCPU, if it may be handling the interrupt, from this PCPU,
    /// and sets the state of another VCPU.
    #[inline(always)]
    pub fn pass(before: Option<&Self>, to: &Self, pcpu: &Pcpu) {
        let state = to.0.load(Relaxed);
        let enabled = state & ENABLED != 0;
        let changes = pcpu.timer_enabled.load(Relaxed) != enabled;
        if before.is_some() || changes || state & ACTIVE != 0 {
            if changes {
                pcpu.timer_enabled.store(enabled, Relaxed);
            }
            Self::pass_physical(before, to, state, changes, pcpu.index);
        }
    }

    /// Changes the physical state: an interrupt that is active in the PCPU is not kept in the
    /// state.
    #[inline(never)]
    fn pass_physical(before: Option<&Self>, to: &Self, state: u8, changes: bool, pcpu: usize) {
        let Some(private) = gic::private(pcpu) else { return };
        if changes {
            private.set_enabled(VIRTUAL_TIMER, state & ENABLED != 0);
        }
        let shall = state & ACTIVE != 0;
        if shall {
            to.set(ACTIVE, false);
        }
        if private.exchange_active(VIRTUAL_TIMER, before.is_some(), shall)
            && let Some(before) = before
        {
            before.set(ACTIVE, true);
        }
    }

    /// Enables or disables the interrupt on the PCPU, which is this one.
    #[inline]
    pub fn apply(&self, pcpu: &Pcpu) {
        let enabled = self.0.load(Relaxed) & ENABLED != 0;
        if pcpu.timer_enabled.load(Relaxed) != enabled {
            enable(pcpu, enabled);
        }
    }
}

/// Enables or disables the interrupt on a PCPU.
#[inline(never)]
pub fn enable(pcpu: &Pcpu, enabled: bool) {
    pcpu.timer_enabled.store(enabled, Relaxed);
    if let Some(private) = gic::private(pcpu.index) {
        private.set_enabled(VIRTUAL_TIMER, enabled);
    }
}
