//! The machine's UART.
//!
//! Before the MMU is on, and in a panic that finds no console, a driver can be used as it is:
//! it sends by polling, takes no lock and keeps no state.

mod cadence;
mod pl011;

pub use cadence::Cadence;
pub use pl011::Pl011;

use abi::image::ConsoleKind;

use crate::arch::mmio::Mmio;
use crate::console::{Input, Uart};

/// A UART of one of the kinds that there are drivers for.
pub enum AnyUart {
    /// Arm PL011.
    Pl011(Pl011),
    /// Cadence UART of the Zynq UltraScale+.
    Cadence(Cadence),
}

impl AnyUart {
    /// The UART of this kind with these registers, set up; `None` if there is no driver for it, or
    /// the block is too small to be one.
    pub fn start(kind: ConsoleKind, registers: Mmio) -> Option<Self> {
        match kind {
            ConsoleKind::Pl011 => {
                let uart = Pl011::new(registers)?;
                uart.init();
                Some(Self::Pl011(uart))
            }
            ConsoleKind::Cadence => {
                let uart = Cadence::new(registers)?;
                uart.init();
                Some(Self::Cadence(uart))
            }
            ConsoleKind::None => None,
        }
    }
}

macro_rules! each {
    ($self:ident, $uart:ident => $call:expr) => {
        match $self {
            Self::Pl011($uart) => $call,
            Self::Cadence($uart) => $call,
        }
    };
}

impl Uart for AnyUart {
    fn can_send(&self) -> bool {
        each!(self, uart => uart.can_send())
    }

    fn send(&self, byte: u8) {
        each!(self, uart => uart.send(byte))
    }

    fn receive(&self) -> Option<Input> {
        each!(self, uart => uart.receive())
    }

    fn set_interrupts(&self, transmit: bool) {
        each!(self, uart => uart.set_interrupts(transmit))
    }
}
