//! Tests delivery of interrupts: order, number, level and edge.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![deny(unsafe_code)]

#[cfg(target_os = "none")]
mod irq;

rt::guest!(irq::main);
