//! The processor: registers, translation tables, exceptions, firmware calls.
//!
//! `unsafe` lives here and in `board`, nowhere else in the hypervisor. What
//! contains instructions exists only on the target; the rest is tested on the host.

#[cfg(target_os = "none")]
pub mod backtrace;
#[cfg(target_os = "none")]
pub mod boot;
#[cfg(target_os = "none")]
mod bytes;
#[cfg(target_os = "none")]
pub mod cache;
#[cfg(target_os = "none")]
pub mod context;
pub mod counter;
#[cfg(target_os = "none")]
pub mod cpu;
pub mod gic;
pub mod gicv2;
pub mod gicv3;
#[cfg(target_os = "none")]
pub mod guest_state;
#[cfg(target_os = "none")]
pub mod heap;
#[cfg(target_os = "none")]
pub mod memory;
pub mod mmio;
#[cfg(target_os = "none")]
pub mod mmu;
pub mod page_table;
#[cfg(target_os = "none")]
pub mod percpu;
#[cfg(target_os = "none")]
mod pmu;
#[cfg(target_os = "none")]
pub mod power;
#[cfg(target_os = "none")]
pub mod registers;
#[cfg(target_os = "none")]
pub mod regs;
#[cfg(target_os = "none")]
pub mod sha256;
#[cfg(target_os = "none")]
pub mod smc;
#[cfg(target_os = "none")]
pub mod spin_table;
#[cfg(target_os = "none")]
pub mod stage2;
pub mod text;
#[cfg(target_os = "none")]
mod vectors;
