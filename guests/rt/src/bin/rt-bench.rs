//! Measures exits to a hypervisor. See `bulkhead_rt::guests::bench`.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
use bulkhead_rt as _;

#[cfg(not(target_os = "none"))]
bulkhead_rt::guest!(bulkhead_rt::guests::bench::main);
