//! `bulkhead plan` with an objective, for some time, and interrupted.

use std::time::{Duration, Instant};

use serde_json::Value;
use testing::{Large, Open, Sandbox, sandbox};

use crate::planning::{LONG, described, interrupted, planned};

/// Three VMs on four PCPUs, one of which may be limited.
const OPEN: &str = r#"
[platform]
board = "qemu-virt"

[[vm]]
name = "pilot"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
[[vm.vcpu]]
server = "sporadic"
[[vm.vcpu]]
server = "sporadic"
[[vm.task]]
name = "gyro"
period = "10ms"
wcet = "2ms"
accesses = 2_000
[[vm.task]]
name = "pid"
period = "20ms"
wcet = "3ms"
accesses = 3_000

[[vm]]
name = "radio"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
LIMIT
[[vm.vcpu]]
server = "deferrable"
[[vm.task]]
name = "send"
period = "25ms"
wcet = "4ms"
accesses = 4_000

[[vm]]
name = "camera"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"
LIMIT
[[vm.vcpu]]
server = "deferrable"
[[vm.task]]
name = "image"
period = "40ms"
wcet = "6ms"
accesses = 5_000
"#;

fn with_limit(limit: &str) -> Sandbox {
    described(&OPEN.replace("LIMIT", limit))
}

fn total(document: &Value) -> u64 {
    document["report"]["total_ppm"].as_u64().expect("a share")
}

fn pcpus(document: &Value) -> usize {
    document["report"]["pcpus"].as_array().expect("PCPUs").len()
}

#[test]
fn each_objective_is_best_at_what_it_says() {
    let sandbox = with_limit("");
    let slack = planned(&sandbox, &[]);
    let same = |options: &[&str], document: &Value| {
        assert_eq!(planned(&sandbox, options)["plan_dts"], document["plan_dts"]);
    };
    same(&["--objective", "most-slack"], &slack);
    let time = planned(&sandbox, &["--objective", "least-time"]);
    let few = planned(&sandbox, &["--objective", "fewest-pcpus"]);
    // Nearly no slack is left where time is least.
    let grows = slack["search"]["slack_ppm"].as_u64().expect("a slack");
    assert!(grows > 500_000, "{grows}");
    assert!(total(&slack) > total(&time), "{} {}", total(&slack), total(&time));
    assert!(pcpus(&few) <= pcpus(&time) && pcpus(&few) < 3, "{} {}", pcpus(&few), pcpus(&time));
    // The description can say so, and what is asked for counts more.
    let text = OPEN.replace("LIMIT", "");
    sandbox.write("s.toml", &format!("objective = \"least-time\"\n{text}"));
    same(&[], &time);
    same(&["--objective", "most-slack"], &slack);
    let checked = sandbox.bulkhead(&["check", "s.toml", "--json"]).json();
    assert_eq!(checked["analysis"], time["analysis"], "every command plans as it says");
}

#[test]
fn weights_are_between() {
    let sandbox = with_limit("");
    let weighted = |weights: &str| planned(&sandbox, &["--objective", weights]);
    let (time, slack) = (weighted("least-time"), weighted("most-slack"));
    let mostly_time = weighted("least-time=1000,most-slack=1");
    let mostly_slack = weighted("most-slack=1000,least-time=1");
    assert!(total(&mostly_time) <= total(&mostly_slack));
    assert!(total(&mostly_time) <= total(&time) + 20_000, "{}", total(&mostly_time));
    assert!(total(&mostly_slack) <= total(&slack) + 20_000, "{}", total(&mostly_slack));
    assert!(total(&mostly_slack) > total(&time) + 100_000, "{}", total(&mostly_slack));
}

#[test]
fn a_vm_gets_the_largest_limit() {
    let sandbox = with_limit("bandwidth = \"planned\"");
    let limit = |document: &Value, vm: &str| -> u64 {
        let plan = document["plan_dts"].as_str().expect("a plan");
        let (_, of_vm) = plan.split_once(&format!("\"{vm}\"")).expect("a VM");
        let (_, limit) = of_vm.split_once("memory-budget").expect("a limit");
        let digits = limit.split(['<', '>']).nth(1).expect("cells");
        let cell = digits.split_whitespace().map(|cell| {
            let hex = cell.trim_start_matches("0x");
            u64::from_str_radix(hex, if hex == cell { 10 } else { 16 }).expect("a number")
        });
        cell.fold(0, |all, cell| all << 32 | cell)
    };
    let plain = planned(&sandbox, &[]);
    let radio = planned(&sandbox, &["--objective", "most-bandwidth=radio"]);
    let camera = planned(&sandbox, &["--objective", "most-bandwidth=camera"]);
    assert!(limit(&radio, "radio") >= limit(&plain, "radio"));
    assert!(limit(&camera, "camera") >= limit(&plain, "camera"));
}

#[test]
fn a_search_takes_its_time_and_no_more() {
    let sandbox = with_limit("");
    let least = |options: &[&str]| {
        let start = Instant::now();
        let document = planned(&sandbox, &[&["--objective", "least-time"], options].concat());
        (document, start.elapsed())
    };
    let (plain, needed) = least(&[]);
    // More than it needs on this machine, which may be slow or busy.
    let time = Duration::from_secs(1) + 4 * needed;
    let (longer, elapsed) = least(&["--time", &format!("{}ms", time.as_millis())]);
    assert!(elapsed >= Duration::from_millis(time.as_millis() as u64), "{elapsed:?} {time:?}");
    assert!(elapsed < 2 * time + Duration::from_secs(60), "{elapsed:?} {time:?}");
    assert_eq!(longer["search"]["cut"], true);
    let candidates =
        |document: &Value| document["search"]["candidates"].as_u64().expect("a number");
    assert!(candidates(&longer) > candidates(&plain), "{longer} {plain}");
    assert!(total(&longer) <= total(&plain), "{} {}", total(&longer), total(&plain));
}

#[test]
fn ctrl_c_keeps_the_best_plan() {
    let sandbox = with_limit("");
    let result = interrupted(&sandbox, &LONG, Duration::from_secs(3), 1);
    result.assert_status(0);
    assert!(result.stdout.contains("until the search was ended"), "{}", result.stdout);
    sandbox.bulkhead(&["check", "s.plan.dts"]).assert_status(0);
}

/// The same without `--time`.
#[test]
fn ctrl_c_ends_a_plain_search_with_the_best_plan() {
    let large = Large {
        pcpus: 4,
        vms: 4,
        vcpus: 2,
        tasks: 24,
        resources: 0,
        own: 0,
        colors: true,
        limits: true,
        load: 120,
        open: Open::Everything,
        seed: 1,
    };
    let sandbox = described(&large.to_toml());
    let start = Instant::now();
    sandbox.bulkhead(&["plan", "s.toml", "-o", "whole.plan.dts"]).assert_status(0);
    let whole = start.elapsed();
    // How long it takes until there is a first plan depends on the machine, and on what else it
    // does: the time in between is halved until the search is cut there.
    let (mut before, mut after) = (0, 1000);
    for _ in 0..20 {
        if after - before < 20 {
            (before, after) = (0, 1000);
        }
        let at = (before + after) / 2;
        let _ = std::fs::remove_file(sandbox.path("s.plan.dts"));
        let result = interrupted(&sandbox, &[], whole * at / 1000, 1);
        match result.status {
            Some(0) => sandbox.bulkhead(&["check", "s.plan.dts"]).assert_status(0),
            Some(130) => {
                assert_eq!(&result.stderr[..12], "no plan yet:", "{}", result.stderr);
                assert!(!sandbox.path("s.plan.dts").exists());
                before = at;
                continue;
            }
            other => panic!("{other:?}: {}{}", result.stdout, result.stderr),
        }
        if result.stdout.contains("until the search was ended") {
            return;
        }
        after = at;
    }
    panic!("no search was cut after its first plan: {whole:?}");
}

/// Before there is a plan, that is what the command says.
#[test]
fn ctrl_c_before_a_first_plan_is_answered() {
    // Nothing shows that no plan can hold, and none is found.
    let sandbox = described(&OPEN.replace("LIMIT", "").replace("\"6ms\"", "\"39.99ms\""));
    let result = interrupted(&sandbox, &LONG, Duration::from_secs(2), 1);
    result.assert_status(130);
    assert_eq!((result.stdout.as_str(), &result.stderr[..12]), ("", "no plan yet:"));
    let result =
        interrupted(&sandbox, &[&LONG[..], &["--json"]].concat(), Duration::from_secs(2), 1);
    result.assert_status(130);
    assert_eq!(result.json()["errors"][0]["code"], "interrupted");
    assert!(!sandbox.path("s.plan.dts").exists());
}

#[test]
fn what_cannot_be_an_objective_is_refused() {
    let sandbox = with_limit("");
    let plan = |options: &[&str]| sandbox.bulkhead(&[&["plan", "s.toml"], options].concat());
    for (options, part) in [
        (["--objective", "fast"], "most-slack"),
        (["--objective", "most-bandwidth="], "most-bandwidth="),
        (["--objective", "most-bandwidth=none"], "there is no VM `none`"),
        (["--objective", "most-bandwidth=pilot"], "no limit of memory accesses of VM `pilot`"),
        (["--objective", "least-time=1,most-bandwidth=none=1"], "there is no VM `none`"),
        (["--objective", "least-time,most-slack"], "exclude each other"),
        (["--objective", "least-time=0,most-slack=1"], "`0` is no weight"),
        (["--objective", "least-time=-2,most-slack=1"], "`-2` is no weight"),
        (["--objective", "least-time=1,fast=1"], "expected `least-time`"),
        (["--objective", "most-slack=1,most-slack=1"], "is there twice"),
        (["--time", "10min"], "unknown unit `min`"),
        (["--time", "0s"], "more than 0"),
        (["--time", "10"], "the unit is missing"),
        (["--seed", "many"], "a seed is a whole number from 0"),
        (["--seed", "-1"], "a seed is a whole number from 0"),
    ] {
        let result = plan(&options);
        assert_eq!(result.status, Some(2), "{options:?}: {}{}", result.stdout, result.stderr);
        assert!(result.stderr.contains(part), "{options:?}: {}", result.stderr);
    }
    // A mistake in an option has its place there, with no line of the description.
    let result = plan(&["--objective", "most-bandwidth=none"]);
    let vms = "help: the VMs are `pilot`, `radio`, `camera`\n";
    let place = "error: `--objective most-bandwidth=none`: there is no VM `none`\n";
    assert_eq!(result.stderr, format!("{place}{vms}"));
    for options in [
        &["--objective", "least-time", "--objective", "most-slack"][..],
        &["--front", "--objective", "least-time"],
        &["--front", "--from", "s.plan.dts"],
        &["--front", "--explain"],
        &["--changes", "3"],
        &["--vm", "radio"],
    ] {
        let result = plan(options);
        assert_eq!(result.status, Some(2), "{options:?}: {}{}", result.stdout, result.stderr);
    }
    assert!(!sandbox.path("s.plan.dts").exists());
}

#[test]
fn no_plan_in_time_says_what_is_missed() {
    let sandbox = sandbox!();
    let late = OPEN.replace("LIMIT", "").replace("\"6ms\"", "\"39.99ms\"");
    sandbox.write("s.toml", &late);
    let result = sandbox.bulkhead(&["plan", "s.toml", "--time", "1s"]);
    result.assert_status(1);
    assert!(result.stderr.contains("error[cannot-plan]"), "{}", result.stderr);
    assert!(!sandbox.path("s.plan.dts").exists());
}
