//! When does a VCPU lose its CPU, and get it back? See `bulkhead_rt::guests::switch`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::switch::main);
