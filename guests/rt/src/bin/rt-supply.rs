//! How much processor time does a VCPU get? See `bulkhead_rt::guests::supply`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::supply::main);
