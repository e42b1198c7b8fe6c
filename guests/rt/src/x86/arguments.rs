//! The boot arguments, which the block of the VCPU contains ([`abi::kvm`]).

use crate::bootargs::BootArguments;
use crate::println;

fn all() -> BootArguments<'static> {
    BootArguments::new(core::str::from_utf8(crate::arch::arguments()).unwrap_or_default())
}

/// The text `key=...` of the boot arguments.
pub fn text(key: &str) -> Option<&'static str> {
    all().get(key)
}

/// The number `key=...` of the boot arguments, or `default`. If it is no number, says so and turns
/// the machine off.
pub fn number(key: &'static str, default: u64) -> u64 {
    match all().number(key) {
        Ok(number) => number.unwrap_or(default),
        Err(error) => {
            println!("rt: {error}");
            crate::arch::call::off()
        }
    }
}
