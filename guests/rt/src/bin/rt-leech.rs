//! Takes a resource from others. See `bulkhead_rt::guests::leech`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::leech::main);
