//! The number of random cases with which a property is tested.

use std::env;

/// Set by `make check`, whose tests take few cases.
const FEW: &str = "BULKHEAD_FEW_CASES";
/// Set by campaigns, whose tests take many cases.
const MANY: &str = "BULKHEAD_MANY_CASES";
/// The part of all cases that are few.
const PART: u32 = 8;
/// The factor for many cases.
const TIMES: u32 = 10;

/// Returns the number of random cases for a test that `make test` runs with `all` of them: an eighth if the variable
/// `BULKHEAD_FEW_CASES` is set, as `make check` does, ten times as many with `BULKHEAD_MANY_CASES`, as campaigns do, and
/// else all.
pub fn cases(all: u32) -> u32 {
    match (env::var_os(FEW), env::var_os(MANY)) {
        (Some(_), _) => all.div_ceil(PART),
        (None, Some(_)) => all.saturating_mul(TIMES),
        (None, None) => all,
    }
}
