//! What fires at the same instant goes where it belongs. See `bulkhead_rt::guests::coincide`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::coincide::main);
