//! Checks requests for colours. See `bulkhead_rt::guests::color`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::color::main);
