//! Virtual devices: the devices at the addresses of a guest's machine.
pub mod access;
pub mod color_serial;
pub mod gic;
pub mod pl011;
pub mod virtio;
pub mod wire;
