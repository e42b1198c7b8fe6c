//! Virtual PL011 UART.
