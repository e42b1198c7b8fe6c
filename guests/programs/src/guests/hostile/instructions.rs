//! Instructions and system registers that a guest has no business with.

use super::Outcome;
use programs::arch::probe;
use rt::arch::smccc;
use rt::{println, psci};

/// Undefined instructions: the guest's own business, reported by its own vectors.
pub fn undefined(case: &str) {
    let mut faults = 0;
    for (name, instruction) in probe::UNDEFINED {
        let outcome = instruction().map(|()| 0);
        faults += u32::from(outcome.is_err());
        println!("hostile: {case} {name} {}", Outcome(outcome));
    }
    println!("hostile: {case} survived faults={faults} of={}", probe::UNDEFINED.len());
}

/// System registers that a hypervisor traps, or that belong to it.
pub fn trapped_sysreg(case: &str) {
    let mut faults = 0;
    for (name, register) in probe::REGISTERS {
        let outcome = register();
        faults += u32::from(outcome.is_err());
        println!("hostile: {case} {name} {}", Outcome(outcome));
    }
    println!("hostile: {case} survived faults={faults} of={}", probe::REGISTERS.len());
}

/// Secure monitor calls.
pub fn smc(case: &str) {
    for (name, function) in [("psci-version", psci::VERSION), ("unknown", 0x8700_1234)] {
        let outcome = smccc::try_smc(function.into()).map(|results| results[0]);
        println!("hostile: {case} {name} {}", Outcome(outcome));
    }
    println!("hostile: {case} survived");
}

/// An instruction of an extension that no VM has here.
pub fn streaming(case: &str) {
    let outcome = probe::start_streaming().map(|()| 0);
    println!("hostile: {case} survived {}", Outcome(outcome));
}

/// Prints what the identification registers say.
pub fn identification(case: &str) {
    for (name, register) in probe::IDENTIFICATION.as_flattened() {
        match register() {
            Ok(value) => println!("hostile: {case} {name} {value:#018x}"),
            Err(fault) => println!("hostile: {case} {name} {fault}"),
        }
    }
    println!("hostile: {case} survived");
}
