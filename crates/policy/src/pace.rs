//! How often VCPUs and devices may interrupt a physical CPU on account of a VCPU that does not run there.
//!
//! The hypervisor keeps to these numbers, and the analysis counts them.

/// Most kicks for a VCPU (interrupts because something has changed for it) from one time that it executes to the
/// next: one that was on its way when it stopped, and two while it waits, of which the first may
/// find that it has nothing to do yet.
pub const KICKS_MAX: u32 = 3;

/// Most interrupts of a device for a VCPU, from one time that the VCPU executes to the next: it is masked after one that finds
/// the VCPU elsewhere, and one more may be on its way then.
pub const DEVICE_INTERRUPTS_MAX: u32 = 2;

/// Most interrupts of the console in a second, whatever VMs write and people type: more than fill the FIFO of 16 bytes of a
/// UART at 115,200 baud.
pub const CONSOLE_PER_SECOND: u64 = 1_000;

/// Most interrupts for a VCPU whose VM has so many devices, from one time that it executes to the next.
pub const fn interrupts_max(devices: u32) -> u32 {
    KICKS_MAX.saturating_add(DEVICE_INTERRUPTS_MAX.saturating_mul(devices))
}
