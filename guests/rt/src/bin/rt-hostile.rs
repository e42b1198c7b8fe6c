//! Does its worst, one case at a time. See `bulkhead_rt::guests::hostile`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::hostile::main);
