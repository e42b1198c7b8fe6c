//! `rt-color`: requests for colours (vColoring) do what they should, and nothing else, whatever a guest
//! has in its tables and does meanwhile.
//!
//! Lines are `color: <check> ok` or `color: <check> FAILED <found>`; the last one is
//! `color: <n> passed, <n> failed`. Needs a VM with extra colours, at least 640 frames in their pool and
//! 16 MiB of RAM; cases with a second VCPU are skipped without one. The boot argument `case=` names one
//! case; without it, all run but those that end the VM or take long. `serial=` is the address of the
//! port on which closed guests ask; without it, its cases are skipped. With `reset=1` the VM is reset
//! once during a request there.

mod bench;
mod concurrency;
mod doorbell;
mod formats;
mod hostile;
mod long;
mod pool;
mod requests;
mod restart;
mod second;
mod serial;

use self::bench::Bench;
use programs::checks::Checks;
use rt::{arguments, println};

/// A case: its name, and its checks. `None` means that there is too little RAM for it.
type Case = (&'static str, fn(&mut Bench, &mut Checks) -> Option<()>);

const CASES: [Case; 23] = [
    ("basic", requests::basic),
    ("invalid", requests::invalid),
    ("present", requests::present_user_ram),
    ("shared", requests::shared),
    ("granule-4k", formats::granule_4k),
    ("granule-16k", formats::granule_16k),
    ("granule-64k", formats::granule_64k),
    ("block", formats::block),
    ("contiguous", formats::contiguous),
    ("small-pool", pool::too_small),
    ("small-color", pool::too_few_of_a_color),
    ("death", pool::death),
    ("doorbell", doorbell::kernel),
    ("user", doorbell::user),
    ("misuse", doorbell::misuse),
    ("serial", serial::serial),
    ("serial-reset", serial::reset),
    ("writer", concurrency::writer),
    ("two", concurrency::two_at_once),
    ("changes", concurrency::changing_tables),
    ("self", hostile::tables_in_themselves),
    ("nowhere", hostile::tables_nowhere),
    ("device", hostile::tables_in_a_device),
];

/// Cases that run only by their name: they end the VM, or take long.
const OTHERS: [Case; 4] = [
    ("restart", restart::during_request),
    ("requests", long::requests),
    ("audits", long::audits),
    ("restarts", long::restarts),
];

fn run((name, case): Case, bench: &mut Bench, checks: &mut Checks) {
    let enough = case(bench, checks).is_some();
    checks.check(name, enough, format_args!("too little RAM"));
    bench.leaves_nothing(checks);
}

/// Runs the cases.
pub fn main() {
    let mut checks = Checks::new("color");
    let Some(mut bench) = Bench::new() else {
        return println!("color: this VM has no extra colours, no doorbell or no device tree");
    };
    let only = arguments::text("case").filter(|&case| case != "all");
    if let Some(other) = OTHERS.into_iter().find(|(name, _)| only == Some(name)) {
        run(other, &mut bench, &mut checks);
        return checks.finish();
    }
    if let Some(case) = only
        && CASES.iter().all(|(name, _)| *name != case)
    {
        return println!("color: no case {case}");
    }
    for (name, case) in CASES {
        if only.is_none_or(|only| only == name) {
            run((name, case), &mut bench, &mut checks);
        }
    }
    checks.finish();
}
