//! A list of checks: one line each, and a sum.

use core::fmt::Arguments;

use rt::println;

/// Counts the checks of one test guest.
#[derive(Debug)]
pub struct Checks {
    guest: &'static str,
    passed: u32,
    failed: u32,
}

impl Checks {
    /// No checks yet; lines start with `guest`.
    pub const fn new(guest: &'static str) -> Self {
        Self { guest, passed: 0, failed: 0 }
    }

    /// Prints `<guest>: <check> ok`, or `<guest>: <check> FAILED <found>`.
    pub fn check(&mut self, check: &str, holds: bool, found: Arguments<'_>) {
        if holds {
            self.passed += 1;
            println!("{}: {check} ok", self.guest);
        } else {
            self.failed += 1;
            println!("{}: {check} FAILED {found}", self.guest);
        }
    }

    /// Checks that `found` is `expected`.
    pub fn equal<T: PartialEq + core::fmt::Debug>(&mut self, check: &str, found: T, expected: T) {
        let holds = found == expected;
        self.check(check, holds, format_args!("found={found:?} expected={expected:?}"));
    }

    /// Returns true if a check has failed.
    pub const fn failed(&self) -> bool {
        self.failed > 0
    }

    /// Prints `<guest>: <n> passed, <n> failed`.
    pub fn finish(&self) {
        println!("{}: {} passed, {} failed", self.guest, self.passed, self.failed);
    }
}
