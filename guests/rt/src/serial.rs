//! The ends of serial lines: PL011s, polled or with interrupts.

use crate::arch::mmio::Registers;
use crate::arguments;

const DR: usize = 0x0;
const FR: usize = 0x18;
const LCR_H: usize = 0x2c;
const CR: usize = 0x30;
const IMSC: usize = 0x38;
const ICR: usize = 0x44;
const FR_RECEIVE_EMPTY: u32 = 1 << 4;
const FR_TRANSMIT_FULL: u32 = 1 << 5;
/// Interrupts for bytes that came: the FIFO is half full, or it is not empty and nothing more comes.
const RECEIVES: u32 = 1 << 4 | 1 << 6;

/// An end of a serial line.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    page: Registers,
    interrupt: u32,
}

impl Port {
    /// The end of the VM's serial line with this number, in the order of the device tree, if there is one.
    pub fn of(number: usize) -> Option<Self> {
        let (page, interrupt) = arguments::serial_line(number)?;
        Some(Self { page: Registers::page(page)?, interrupt })
    }

    /// The same, on, and without interrupts.
    pub fn open(number: usize) -> Option<Self> {
        let port = Self::of(number)?;
        port.page.write32(IMSC, 0);
        port.page.write32(LCR_H, 0x70);
        port.page.write32(CR, 0x301);
        Some(port)
    }

    /// INTID of its interrupt, a level, which comes when there are bytes: see [`Port::listen`].
    pub fn interrupt(self) -> u32 {
        self.interrupt
    }

    /// Lets it interrupt while there are bytes to receive, or never.
    pub fn listen(self, on: bool) {
        self.page.write32(IMSC, if on { RECEIVES } else { 0 });
    }

    /// Sends a byte. Returns false if there is no room, because the other end does not read.
    pub fn send(self, byte: u8) -> bool {
        let has_room = self.page.read32(FR) & FR_TRANSMIT_FULL == 0;
        if has_room {
            self.send_blindly(byte);
        }
        has_room
    }

    /// Sends a byte, which is lost if there is no room.
    pub fn send_blindly(self, byte: u8) {
        self.page.write32(DR, byte.into());
    }

    /// Receives a byte, if there is one.
    pub fn receive(self) -> Option<u8> {
        let is_empty = self.page.read32(FR) & FR_RECEIVE_EMPTY != 0;
        (!is_empty).then(|| self.page.read32(DR) as u8)
    }

    /// Lets all interrupts come and go, as fast as they can.
    pub fn toggle(self) {
        for mask in [u32::MAX, 0, RECEIVES, 0, 1 << 5, 0, u32::MAX, 0] {
            self.page.write32(IMSC, mask);
            self.page.write32(ICR, !mask);
        }
    }

    /// Writes all registers as no driver would, to see that only this VM is hurt.
    pub fn abuse(self, value: u32) {
        for offset in (4..0x1000).step_by(4) {
            self.page.write32(offset, value);
            self.page.read32(offset);
        }
    }
}
