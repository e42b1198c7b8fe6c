//! The interrupt of a VCPU's virtual timer in the interrupt controller of its PCPU, where all
//! VCPUs of the PCPU have the same one.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::arch::gicv3;

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
        let active = private.is_active(VIRTUAL_TIMER);
        self.set(ACTIVE, active);
        if active {
            private.set_active(VIRTUAL_TIMER, false);
        }
    }

    /// Gives the state to the PCPU, which is this one and on which the interrupt is not active.
    pub fn load(&self, pcpu: usize) {
        self.apply(pcpu);
        if self.0.load(Relaxed) & ACTIVE != 0
            && let Some(private) = gicv3::private(pcpu)
        {
            private.set_active(VIRTUAL_TIMER, true);
        }
    }

    /// Enables or disables the interrupt on the PCPU, which is this one.
    pub fn apply(&self, pcpu: usize) {
        let Some(private) = gicv3::private(pcpu) else { return };
        let enabled = self.0.load(Relaxed) & ENABLED != 0;
        if private.is_enabled(VIRTUAL_TIMER) != enabled {
            private.set_enabled(VIRTUAL_TIMER, enabled);
        }
    }
}
