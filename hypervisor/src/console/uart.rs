//! The functions of the machine's UART that the console needs.

/// A byte from the keyboard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Input {
    /// The byte.
    pub byte: u8,
    /// Input before this byte was lost, because the UART's FIFO was full.
    pub overrun: bool,
}

/// The machine's UART.
///
/// Methods take `&self`, because the panic path sends without a lock. Apart
/// from that the console calls `send` and `set_interrupts` from one PCPU at a time,
/// and `receive` from the PCPU that serves the console.
pub trait Uart: Sync {
    /// Returns true if the transmit FIFO takes a byte.
    fn can_send(&self) -> bool;

    /// Puts `byte` into the transmit FIFO; only after [`Uart::can_send`].
    fn send(&self, byte: u8);

    /// The next byte of the receive FIFO, if there is one.
    fn receive(&self) -> Option<Input>;

    /// Enables the receive interrupts, and the transmit interrupt as told.
    ///
    /// The transmit interrupt must be pending while the transmit FIFO is (nearly) empty.
    fn set_interrupts(&self, transmit: bool);
}

/// Polls before a UART that takes no byte counts as dead: more than a hundred
/// times what the slowest usual line (9,600 baud) needs for one.
const POLLS: u32 = 1_000_000;

/// Sends `byte` as soon as the UART takes it. Returns false if it never did.
#[inline(never)]
pub fn send_polled(uart: &impl Uart, byte: u8) -> bool {
    for _ in 0..POLLS {
        if uart.can_send() {
            uart.send(byte);
            return true;
        }
        core::hint::spin_loop();
    }
    false
}
