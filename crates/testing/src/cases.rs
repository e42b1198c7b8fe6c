//! How many random cases a property is tested with.

use std::env;

/// Set by `make check`, whose tests take few cases.
const FEW: &str = "BULKHEAD_FEW_CASES";
/// The part of all cases that are few.
const PART: u32 = 8;

/// Returns the number of random cases for a test that `make test` runs with `all` of them: an eighth if the variable
/// `BULKHEAD_FEW_CASES` is set, as `make check` does, and else all.
pub fn cases(all: u32) -> u32 {
    match env::var_os(FEW) {
        Some(_) => all.div_ceil(PART),
        None => all,
    }
}
