//! Executes what no guest should, by chance. See `bulkhead_rt::guests::torture`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::torture::main);
