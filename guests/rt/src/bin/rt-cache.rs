//! Shows the caches as the guest sees them. See `bulkhead_rt::guests::cache`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::cache::main);
