//! The machine's UART.
//!
//! Before the MMU is on, and in a panic that finds no console, a driver can be used as it is:
//! [`Pl011`] writes text by polling, takes no lock and keeps no state.

mod pl011;

pub use pl011::Pl011;
