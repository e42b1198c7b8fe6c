//! The interrupt of a VCPU's virtual timer in the interrupt controller of its PCPU, where all
//! VCPUs of the PCPU have the same one.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::arch::gicv3;
use crate::pcpu::Pcpu;

/// INTID of the virtual timer.
pub const VIRTUAL_TIMER: u32 = 27;

/// The interrupt is enabled.
pub const ENABLED: u8 = 1;
/// The guest has it, and it does not fire.
pub const ACTIVE: u8 = 2;

/// State of the interrupt. That it is pending is not kept: the timer tells.
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

    /// Takes the state from the PCPU, which is this one.
    pub fn save(&self, pcpu: usize) {
        let Some(private) = gicv3::private(pcpu) else { return };
        if private.is_active(VIRTUAL_TIMER) {
            private.set_active(VIRTUAL_TIMER, false);
            self.set(ACTIVE, true);
        }
    }

    /// Gives the state to the PCPU, which is this one and on which the interrupt is not active.
    pub fn load(&self, pcpu: &Pcpu) {
        self.apply(pcpu);
        if self.0.load(Relaxed) & ACTIVE != 0
            && let Some(private) = gicv3::private(pcpu.index)
        {
            private.set_active(VIRTUAL_TIMER, true);
            self.set(ACTIVE, false); // the PCPU has it now
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
    if let Some(private) = gicv3::private(pcpu.index) {
        private.set_enabled(VIRTUAL_TIMER, enabled);
    }
}
