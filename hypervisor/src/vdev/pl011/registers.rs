//! Registers of the PL011: offsets, bits, identity (Arm DDI 0183, chapter 3).

/// Data.
pub(super) const DR: u64 = 0x000;
/// Receive status; error clear when written.
pub(super) const RSR: u64 = 0x004;
/// Flags.
pub(super) const FR: u64 = 0x018;
/// IrDA low-power counter.
pub(super) const ILPR: u64 = 0x020;
/// Integer part of the baud rate divisor.
pub(super) const IBRD: u64 = 0x024;
/// Fraction of the baud rate divisor.
pub(super) const FBRD: u64 = 0x028;
/// Line control.
pub(super) const LCR_H: u64 = 0x02c;
/// Control.
pub(super) const CR: u64 = 0x030;
/// Levels of the FIFO interrupts.
pub(super) const IFLS: u64 = 0x034;
/// Interrupt mask: 1 enables.
pub(super) const IMSC: u64 = 0x038;
/// Raw interrupt status.
pub(super) const RIS: u64 = 0x03c;
/// Masked interrupt status.
pub(super) const MIS: u64 = 0x040;
/// Interrupt clear.
pub(super) const ICR: u64 = 0x044;
/// DMA control.
pub(super) const DMACR: u64 = 0x048;
/// Identity: PeriphID0..3, PCellID0..3.
pub(super) const IDENTITY: u64 = 0xfe0;

/// DR: bytes were lost before this one.
pub(super) const DR_OE: u32 = 1 << 11;
/// RSR: bytes were lost.
pub(super) const RSR_OE: u32 = 1 << 3;

/// FR: clear to send.
pub(super) const FR_CTS: u32 = 1 << 0;
/// FR: data set ready.
pub(super) const FR_DSR: u32 = 1 << 1;
/// FR: data carrier detect.
pub(super) const FR_DCD: u32 = 1 << 2;
/// FR: sending.
pub(super) const FR_BUSY: u32 = 1 << 3;
/// FR: receive FIFO empty.
pub(super) const FR_RXFE: u32 = 1 << 4;
/// FR: transmit FIFO full.
pub(super) const FR_TXFF: u32 = 1 << 5;
/// FR: receive FIFO full.
pub(super) const FR_RXFF: u32 = 1 << 6;
/// FR: transmit FIFO empty.
pub(super) const FR_TXFE: u32 = 1 << 7;

/// LCR_H: FIFOs enabled.
pub(super) const LCR_FEN: u32 = 1 << 4;

/// CR after reset: transmit and receive enabled, UART not.
pub(super) const CR_RESET: u32 = 0x300;
/// IFLS after reset: both levels 1/2.
pub(super) const IFLS_RESET: u32 = 0x12;

/// Interrupt: receive FIFO reached its level.
pub(super) const RX: u32 = 1 << 4;
/// Interrupt: transmit FIFO fell to its level.
pub(super) const TX: u32 = 1 << 5;
/// Interrupt: receive FIFO not empty, and nothing more comes.
pub(super) const RT: u32 = 1 << 6;
/// Interrupt: bytes were lost.
pub(super) const OE: u32 = 1 << 10;
/// All interrupts.
pub(super) const INTERRUPTS: u32 = 0x7ff;

/// Returns the identity register at `offset`: part 0x011, designer Arm (0x41), revision 3 (r1p5),
/// PrimeCell.
pub(super) fn identity(offset: u64) -> u32 {
    const BYTES: [u8; 8] = [0x11, 0x10, 0x34, 0x00, 0x0d, 0xf0, 0x05, 0xb1];
    BYTES.get((offset.wrapping_sub(IDENTITY) / 4) as usize).copied().unwrap_or(0).into()
}
