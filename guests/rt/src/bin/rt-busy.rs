//! Takes all the processor time that it can get. See `bulkhead_rt::guests::busy`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::busy::main);
