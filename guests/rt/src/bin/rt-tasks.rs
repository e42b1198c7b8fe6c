//! Runs the tasks with critical sections that its boot arguments describe. See `bulkhead_rt::guests::tasks`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::tasks::main);
