//! Tests delivery of interrupts: order, number, level and edge. See `bulkhead_rt::guests::irq`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::irq::main);
