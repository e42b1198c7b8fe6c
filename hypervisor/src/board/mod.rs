//! Drivers of board devices.

#[cfg(target_os = "none")]
pub mod memory;
pub mod uart;
