//! Three periodic tasks and their response times. See `bulkhead_rt::guests::demo`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::demo::main);
