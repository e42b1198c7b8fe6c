//! Prints a line in an exact rhythm, beside a guest that misbehaves. See `bulkhead_rt::guests::beacon`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::beacon::main);
