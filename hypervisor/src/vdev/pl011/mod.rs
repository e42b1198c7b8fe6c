//! Virtual PL011 UART (Arm DDI 0183, r1p5).
//!
//! The model has the registers, FIFOs and interrupts that drivers rely on: polling drivers, which
//! read the flag register before each byte, and interrupt-driven drivers, which write half a FIFO
//! after each transmit interrupt. It differs from a chip where the difference does not matter to a
//! VM:
//!
//! - Bytes are sent and received whether or not the control register enables it, at no particular
//!   rate, because early consoles assume that firmware set up the UART.
//! - The far end waits with its input while the receive FIFO is full, up to [`BACKLOG`] bytes;
//!   further input is an overrun. The receive timeout has elapsed at once.
//! - DMA, modem lines (always ready), loopback and line errors are not modelled.

mod queue;
mod registers;
#[cfg(test)]
mod tests;

use queue::Queue;
use registers::*;

/// Returns true if a write at this offset in the frame clears interrupts.
pub fn clears_interrupts(offset: u64) -> bool {
    offset == ICR
}

/// Size of the register frame in bytes.
pub const FRAME_SIZE: u64 = 0x1000;

/// Bytes of each FIFO.
pub const FIFO: usize = 32;

/// Bytes of input that wait, including those in the receive FIFO.
pub const BACKLOG: usize = 1024;

/// The far end of the transmit line.
pub trait Line {
    /// Takes a byte. Returns false if there is no room now; call [`Pl011::line_ready`] when there
    /// is room again.
    fn send(&mut self, byte: u8) -> bool;

    /// The same for several bytes; returns the number that it takes.
    fn send_all(&mut self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| self.send(**byte)).count()
    }
}

/// A virtual PL011.
pub struct Pl011 {
    transmit: Queue<FIFO>,
    receive: Queue<BACKLOG>,
    // Bytes entered the receive FIFO since the VM read the flags or a byte.
    unseen: bool,
    // The next byte read from the data register carries the overrun flag.
    overrun: bool,
    overruns: u32,
    status: u32,
    low_power: u32,
    integer_baud: u32,
    fraction_baud: u32,
    line_control: u32,
    control: u32,
    levels: u32,
    mask: u32,
    raw: u32,
    dma: u32,
}

impl Pl011 {
    /// Makes a UART in its reset state.
    pub const fn new() -> Self {
        Self {
            transmit: Queue::new(),
            receive: Queue::new(),
            unseen: false,
            overrun: false,
            overruns: 0,
            status: 0,
            low_power: 0,
            integer_baud: 0,
            fraction_baud: 0,
            line_control: 0,
            control: CR_RESET,
            levels: IFLS_RESET,
            mask: 0,
            raw: 0,
            dma: 0,
        }
    }

    /// Resets the UART; bytes in its FIFOs are lost.
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    /// Returns true if the interrupt line is high; call after every other call.
    pub fn interrupt(&self) -> bool {
        self.raw & self.mask != 0
    }

    /// Returns the bytes of input that were lost because the VM did not read.
    pub fn overruns(&self) -> u32 {
        self.overruns
    }

    /// Serves a read of `size` bytes (1, 2, 4 or 8) at `offset` in the frame. Registers are 32 bits
    /// wide; bytes beyond and between them are zero.
    pub fn read(&mut self, offset: u64, size: usize) -> u64 {
        let value = u64::from(self.read_register(offset & !3)) >> (8 * (offset & 3));
        if size >= 8 { value } else { value & ((1 << (8 * size)) - 1) }
    }

    /// Serves a write of `size` bytes (1, 2, 4 or 8) at `offset` in the frame. Writes that do not
    /// start at a register are ignored.
    pub fn write(&mut self, offset: u64, size: usize, value: u64, line: &mut dyn Line) {
        let value = if size >= 4 { value as u32 } else { value as u32 & ((1 << (8 * size)) - 1) };
        if offset == DR {
            self.send(value as u8, line);
        } else {
            self.write_register(offset, value);
        }
    }

    /// Receives a byte; `overrun`: bytes before it were lost on the way.
    pub fn receive(&mut self, byte: u8, overrun: bool) {
        if overrun {
            self.note_overrun();
        }
        if !self.receive.push(byte) {
            return self.note_overrun();
        }
        if self.receive.len() <= self.depth() {
            self.arrived();
        }
    }

    /// Returns true if bytes wait in the transmit FIFO for the line.
    pub fn is_sending(&self) -> bool {
        self.transmit.len() > 0
    }

    /// Returns true if the receive FIFO has room for a byte.
    pub fn has_room(&self) -> bool {
        self.receive.len() < self.depth()
    }

    /// The far end has `more` bytes, of which the receive FIFO has none yet: those for which there is room enter it before
    /// the guest looks. If there is none, the guest has not read, and is reminded each time that the other end tells something.
    pub fn announce(&mut self, more: usize) {
        if more > 0 {
            self.raw |= RT;
            if self.receive.len() + more >= self.receive_limit() {
                self.raw |= RX;
            }
        }
    }

    /// The line takes bytes again: sends the bytes in the transmit FIFO.
    pub fn line_ready(&mut self, line: &mut dyn Line) {
        while self.is_sending() {
            let bytes = self.transmit.first();
            let (all, taken) = (bytes.len(), line.send_all(bytes));
            self.transmit.skip(taken);
            if taken < all {
                break;
            }
        }
        self.transmit_level();
    }

    fn send(&mut self, byte: u8, line: &mut dyn Line) {
        // The common case: nothing waits, and the line takes the byte.
        if self.transmit.len() == 0 && line.send(byte) {
            self.raw |= TX;
            return;
        }
        // A driver that writes into a full FIFO loses the byte, as on a chip.
        if self.transmit.len() < self.depth() {
            self.transmit.push(byte);
        }
        self.line_ready(line);
    }

    fn transmit_level(&mut self) {
        let limit = if self.fifos() { level(self.levels) } else { 0 };
        if self.transmit.len() <= limit {
            self.raw |= TX;
        } else {
            self.raw &= !TX;
        }
    }

    fn fifos(&self) -> bool {
        self.line_control & LCR_FEN != 0
    }

    /// Returns the capacity of a FIFO in the current mode.
    fn depth(&self) -> usize {
        if self.fifos() { FIFO } else { 1 }
    }

    /// Returns the number of bytes in the receive FIFO at which the receive interrupt is raised.
    fn receive_limit(&self) -> usize {
        if self.fifos() { level(self.levels >> 3) } else { 1 }
    }

    /// A byte entered the receive FIFO.
    fn arrived(&mut self) {
        self.unseen = true;
        self.remind();
    }

    /// Raises the interrupts of the bytes in the receive FIFO.
    fn remind(&mut self) {
        self.raw |= RT;
        if self.receive.len() >= self.receive_limit() {
            self.raw |= RX;
        }
    }

    /// Clears interrupts, but for those of bytes that the VM cannot have seen: on a chip the receive timeout comes some time
    /// after a byte, so that the VM clears it only for bytes that came before it looked.
    fn clear(&mut self, interrupts: u32) {
        self.raw &= !interrupts;
        if self.unseen {
            self.remind();
        }
    }

    fn note_overrun(&mut self) {
        self.overrun = true;
        self.overruns = self.overruns.saturating_add(1);
        self.status |= RSR_OE;
        self.raw |= OE;
    }

    fn read_data(&mut self) -> u32 {
        self.unseen = false;
        let byte = self.receive.pop().unwrap_or(0);
        if self.receive.len() >= self.depth() {
            // The far end, which waited, sends the next byte.
            self.arrived();
        }
        if self.receive.len() < self.receive_limit() {
            self.raw &= !RX;
        }
        if self.receive.len() == 0 {
            self.raw &= !RT;
        }
        let flag = if core::mem::take(&mut self.overrun) { DR_OE } else { 0 };
        u32::from(byte) | flag
    }

    fn flags(&self) -> u32 {
        let mut flags = FR_CTS | FR_DSR | FR_DCD;
        if self.receive.len() == 0 {
            flags |= FR_RXFE;
        }
        if self.receive.len() >= self.depth() {
            flags |= FR_RXFF;
        }
        if self.transmit.len() == 0 {
            flags |= FR_TXFE;
        } else {
            flags |= FR_BUSY;
        }
        if self.transmit.len() >= self.depth() {
            flags |= FR_TXFF;
        }
        flags
    }

    fn read_register(&mut self, offset: u64) -> u32 {
        match offset {
            DR => self.read_data(),
            RSR => self.status,
            FR => {
                self.unseen = false;
                self.flags()
            }
            ILPR => self.low_power,
            IBRD => self.integer_baud,
            FBRD => self.fraction_baud,
            LCR_H => self.line_control,
            CR => self.control,
            IFLS => self.levels,
            IMSC => self.mask,
            RIS => self.raw,
            MIS => self.raw & self.mask,
            DMACR => self.dma,
            IDENTITY..FRAME_SIZE => identity(offset),
            _ => 0,
        }
    }

    fn write_register(&mut self, offset: u64, value: u32) {
        match offset {
            RSR => self.status = 0,
            ILPR => self.low_power = value & 0xff,
            IBRD => self.integer_baud = value & 0xffff,
            FBRD => self.fraction_baud = value & 0x3f,
            LCR_H => self.line_control = value & 0xff,
            CR => self.control = value & 0xff87,
            IFLS => self.levels = value & 0x3f,
            IMSC => self.mask = value & INTERRUPTS,
            ICR => self.clear(value),
            DMACR => self.dma = value & 7,
            _ => {}
        }
    }
}

impl Default for Pl011 {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the FIFO level that three bits of IFLS select: 1/8, 1/4, 1/2, 3/4 or 7/8. Reserved
/// values count as 7/8.
fn level(select: u32) -> usize {
    match select & 7 {
        0 => FIFO / 8,
        1 => FIFO / 4,
        2 => FIFO / 2,
        3 => FIFO * 3 / 4,
        _ => FIFO * 7 / 8,
    }
}
