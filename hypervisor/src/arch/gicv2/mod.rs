//! Physical GICv2 (Arm IHI 0048), as the GIC-400: all registers lie in memory, and each CPU sees its
//! own at the same addresses.
//!
//! All interrupts are in the one group that EL2 sees, whether the controller has two security
//! states (then firmware has put them into group 1) or one (group 0): both
//! have their bits in the same places.

#[cfg(target_os = "none")]
mod cpu_interface;
pub mod list_register;
#[cfg(target_os = "none")]
mod virtual_interface;

#[cfg(target_os = "none")]
pub(super) use cpu_interface::{acknowledge, deactivate, end, init_cpu, send_sgi};
#[cfg(target_os = "none")]
pub(super) use virtual_interface::{
    VMCR_RESET, count, empty, load, misr, read_list, save, set_control, write_list,
};
