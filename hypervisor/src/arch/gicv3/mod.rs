//! Physical GICv3 (Arm IHI 0069): non-secure group 1 interrupts at EL2.

#[cfg(target_os = "none")]
mod cpu_interface;
mod redistributor;
#[cfg(target_os = "none")]
mod virtual_interface;

#[cfg(target_os = "none")]
pub(super) use cpu_interface::{acknowledge, init_cpu, send_sgi};
#[cfg(target_os = "none")]
pub(super) use virtual_interface::{
    Copying, VMCR_RESET, copy, count, empty, many_priorities, misr, read_bits, set_control,
    write_bits,
};

pub use redistributor::{Redistributor, redistributors};
