//! The console of all VMs on one UART.
