//! What the tests of `bulkhead plan` have in common.

use std::time::Duration;

use serde_json::Value;
use testing::{Result, Sandbox, sandbox, signal};

/// Returns a folder with this description as `s.toml`.
pub fn described(text: &str) -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write("s.toml", text);
    sandbox
}

/// Plans, and lets `check` judge the plan that was written.
#[track_caller]
pub fn planned(sandbox: &Sandbox, options: &[&str]) -> Value {
    let result = sandbox.bulkhead(&[&["plan", "s.toml", "--json"], options].concat());
    result.assert_status(0);
    let document = result.json();
    assert_eq!(document["ok"], true, "{document}");
    let file = document["plan_file"].as_str().expect("a file");
    sandbox.bulkhead(&["check", file]).assert_status(0);
    document
}

/// A search that does not end by itself while a test runs.
pub const LONG: [&str; 2] = ["--time", "600s"];

/// Plans, and interrupts that after some time by this number of signals.
#[track_caller]
pub fn interrupted(sandbox: &Sandbox, options: &[&str], after: Duration, signals: u32) -> Result {
    let mut command = sandbox.command(&[&["plan", "s.toml"], options].concat());
    let child = command.spawn().expect("the command");
    std::thread::sleep(after);
    for _ in 0..signals {
        signal(&child, "INT");
    }
    Result::of(child.wait_with_output().expect("an end"))
}
