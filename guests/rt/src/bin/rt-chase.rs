//! Measures how fast memory is read, alone and beside others. See `bulkhead_rt::guests::chase`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::chase::main);
