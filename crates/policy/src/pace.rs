//! The limits on interrupts of a physical CPU for VCPUs that do not run there.
//!
//! The hypervisor keeps to these numbers, and the analysis counts them.

/// Maximum number of kicks for a VCPU (interrupts because something has changed for it) between two
/// of its executions: one that was on its way when the VCPU stopped, and two while it waits, the
/// first of which may find that the VCPU has nothing to do yet.
pub const KICKS_MAX: u32 = 3;

/// Maximum number of interrupts of a device for a VCPU between two executions of the VCPU. The
/// interrupt is masked after one that comes while the VCPU does not execute; one more may be on its
/// way then.
pub const DEVICE_INTERRUPTS_MAX: u32 = 2;

/// Maximum number of interrupts of the console in a second, whatever VMs and users write: more than
/// fill the FIFO of 16 bytes of a UART at 115,200 baud.
pub const CONSOLE_PER_SECOND: u64 = 1_000;

/// Returns the maximum number of interrupts for a VCPU between two of its executions, if its VM has
/// this number of devices.
pub const fn interrupts_max(devices: u32) -> u32 {
    KICKS_MAX.saturating_add(DEVICE_INTERRUPTS_MAX.saturating_mul(devices))
}
