//! Makes the hypervisor work, as often as it can. See `bulkhead_rt::guests::storm`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::storm::main);
