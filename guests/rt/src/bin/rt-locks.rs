//! Shares a resource with other VMs, or measures what that costs. See `bulkhead_rt::guests::locks`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::locks::main);
