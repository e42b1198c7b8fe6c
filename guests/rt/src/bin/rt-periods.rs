//! Are timer interrupts exact in deterministic time? See `bulkhead_rt::guests::periods`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::periods::main);
