//! Linux as a guest: an unmodified kernel (`bzImage`) on a PC with one CPU and few devices.
//!
//! The machine is a PC without PCI, ACPI and APIC: two interrupt controllers of type 8259, a timer of type 8254 and a serial
//! port of type 16550, all emulated here ([`board`]). KVM emulates none of them: so `hlt` leaves the VCPU, and its thread knows
//! that the guest waits, and until when. For the scheduler a Linux waits and wakes as real-time guests do.

mod board;
mod boot;
mod cpuid;
mod interrupts;
mod privileged;
mod registers;
mod run;
mod serial;
mod timer;

pub use boot::Files;
pub(crate) use boot::load;
pub(crate) use cpuid::fit;
pub(crate) use privileged::check;
pub(crate) use registers::registers;
pub(crate) use run::Machine;
