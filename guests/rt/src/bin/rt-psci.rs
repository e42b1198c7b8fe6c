//! Tests PSCI and interrupts between two VCPUs. See `bulkhead_rt::guests::psci`.
#![cfg_attr(target_os = "none", no_std, no_main)]

bulkhead_rt::guest!(bulkhead_rt::guests::psci::main);
