//! Interrupts at random: is any lost? See `bulkhead_rt::guests::races`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::races::main);
