//! The address space of guests: where `bulkhead plan` puts what, and where the guests of this repository look.
//!
//! It is laid out like that of QEMU's machine `virt`. A plan may say otherwise, and the device tree of a guest says what
//! the plan says.

/// Distributor of the interrupt controller.
pub const GICD: u64 = 0x0800_0000;
/// CPU interface of a GICv2.
pub const GICC: u64 = 0x0801_0000;
/// Redistributors of a GICv3.
pub const GICR: u64 = 0x080a_0000;
/// The PL011 of the console.
pub const UART: u64 = 0x0900_0000;
/// INTID of [`UART`].
pub const UART_INTERRUPT: u32 = 33;
/// The page on which guests ask for colours, where that machine has devices that guests do not get.
pub const DOORBELL: u64 = 0x0a00_0000;
/// The PL011 on which closed guests ask for colours.
pub const COLOR_UART: u64 = 0x0a01_0000;
/// The bell: the page on which writers of channels ring.
pub const BELL: u64 = 0x0a02_0000;
/// The PL011s at the ends of serial lines between VMs, a page for each line.
pub const SERIAL_LINES: u64 = 0x0a03_0000;
/// The network cards at the ends of links between VMs, a page for each link.
pub const LINKS: u64 = 0x0a04_0000;
/// The channels between VMs, one behind the other.
pub const CHANNELS: u64 = 0x3000_0000;
/// Start of RAM.
pub const RAM: u64 = 0x4000_0000;
