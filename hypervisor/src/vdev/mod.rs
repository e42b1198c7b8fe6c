//! Virtual devices: what a guest finds at the addresses of its machine.
pub mod access;
pub mod color_serial;
pub mod gic;
pub mod pl011;
