//! Measures what first touches and requests for colours cost. See `bulkhead_rt::guests::remap`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::remap::main);
