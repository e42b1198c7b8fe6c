//! `bulkhead diff`: what differs between two systems, or between two results.

use serde_json::json;
use testing::{Sandbox, sandbox};

const SYSTEM: &str = "\
platform = \"qemu-virt\"

[[vm]]
name = \"pilot\"
boot = \"raw\"
memory = \"4MiB\"
kernel = \"guests/pilot.bin\"
bootargs = \"a=1 b=2\"

[[vm.vcpu]]
pcpu = 0
server = \"deferrable\"
budget = \"3ms\"
period = \"5ms\"

[[vm.task]]
name = \"gyro\"
period = \"10ms\"
wcet = \"1ms\"

[[vm.task]]
name = \"log\"
period = \"40ms\"
wcet = \"2ms\"

[[vm]]
name = \"radio\"
boot = \"raw\"
memory = \"4MiB\"
kernel = \"radio.bin\"
";

/// A sandbox with the system as `a.toml`, and with these replacements as `b.toml`.
fn changed(changes: &[(&str, &str)]) -> Sandbox {
    let sandbox = sandbox!();
    let mut text = SYSTEM.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    sandbox.write("a.toml", SYSTEM);
    sandbox.write("b.toml", &text);
    sandbox
}

#[test]
fn what_changed_is_shown_with_the_parts_of_bounds() {
    let sandbox = changed(&[
        ("b=2", "b=3"),
        ("budget = \"3ms\"", "budget = \"2ms\""),
        ("\"1ms\"", "\"1.5ms\""),
    ]);
    let result = sandbox.bulkhead(&["diff", "a.toml", "b.toml"]);
    result.assert_status(1);
    let lines: Vec<Vec<&str>> =
        result.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(result.stdout.starts_with("a.toml -> b.toml: 5 differences\n"), "{}", result.stdout);
    for line in [
        "VM pilot arguments b=2 b=3",
        "VCPU pilot.0 budget 3 ms 2 ms",
        "task pilot.gyro execution time 1 ms 1.5 ms",
        "`gyro` above it 1 ms 1.5 ms",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(lines.contains(&words), "{line}: {}", result.stdout);
    }
    let document = sandbox.bulkhead(&["diff", "a.toml", "b.toml", "--json"]).json();
    assert_eq!(document["ok"], json!(false));
    let differences = document["differences"].as_array().expect("a list");
    let bound = |task: &str| {
        let mut all = differences.iter();
        let is = |it: &&serde_json::Value| it["of"] == task && it["property"] == "bound";
        all.find(is).unwrap_or_else(|| panic!("{document}"))
    };
    // The bounds are those that `check` shows.
    for (file, side) in [("a.toml", "before"), ("b.toml", "after")] {
        let shown = sandbox.bulkhead(&["check", file]).stdout;
        for task in ["gyro", "log"] {
            let value = bound(&format!("task pilot.{task}"))[side].as_str().expect("a time");
            let row = shown.lines().find(|line| line.contains(task) && line.contains(value));
            assert!(row.is_some(), "{task} {value}: {shown}");
        }
    }
    // In the other direction, the same is different.
    let back = sandbox.bulkhead(&["diff", "b.toml", "a.toml", "--json"]).json();
    assert_eq!(back["differences"].as_array().map(Vec::len), Some(5));
}

#[test]
fn what_is_there_once_is_one_difference() {
    let radio = SYSTEM.find("[[vm]]\nname = \"radio\"").expect("a VM");
    let sandbox = changed(&[]);
    sandbox.write("b.toml", &SYSTEM[..radio]);
    let document = sandbox.bulkhead(&["diff", "b.toml", "a.toml", "--json"]).json();
    let exists =
        |of: &str| json!({ "of": of, "property": "exists", "before": "no", "after": "yes" });
    assert_eq!(document["differences"], json!([exists("VM radio"), exists("VCPU radio.0")]));
}

/// Nothing that a plan or a task says is passed over.
#[test]
fn what_is_not_shown_differs_too() {
    for (from, to, property) in [
        ("memory = \"4MiB\"", "memory = \"4MiB\"\nrestart_limit = 9", "something else"),
        ("wcet = \"1ms\"", "wcet = \"1ms\"\nbcet = \"0.5ms\"", "least execution time"),
        ("wcet = \"1ms\"", "wcet = \"1ms\"\noffset = \"1ms\"", "first release"),
    ] {
        let sandbox = changed(&[(from, to)]);
        let result = sandbox.bulkhead(&["diff", "a.toml", "b.toml"]);
        result.assert_status(1);
        assert!(result.stdout.contains(property), "{}", result.stdout);
    }
}

/// Also where the files are in other folders, whose paths to kernels differ.
#[test]
fn a_plan_does_not_differ_from_its_description() {
    let sandbox = changed(&[]);
    std::fs::create_dir(sandbox.path("plans")).expect("a folder");
    sandbox.bulkhead(&["plan", "a.toml", "-o", "plans/a.plan.dts"]).assert_status(0);
    for files in
        [["a.toml", "a.toml"], ["a.toml", "plans/a.plan.dts"], ["plans/a.plan.dts", "b.toml"]]
    {
        let result = sandbox.bulkhead(&["diff", files[0], files[1]]);
        result.assert_status(0);
        assert_eq!(result.stdout, format!("{} and {} do not differ\n", files[0], files[1]));
    }
}

#[test]
fn what_cannot_be_compared_is_bad_input() {
    let sandbox = changed(&[("period = \"5ms\"", "priod = \"5ms\"")]);
    sandbox.bulkhead(&["diff", "a.toml", "b.toml"]).assert_refused(&["b.toml", "priod"]);
    sandbox.bulkhead(&["diff", "a.toml", "c.toml"]).assert_refused(&["cannot read c.toml"]);
    sandbox.bulkhead(&["diff", "a.toml"]).assert_refused(&["<B>"]);
    sandbox.write("c.txt", "x");
    sandbox
        .bulkhead(&["diff", "c.txt", "a.toml"])
        .assert_refused(&["neither a description nor a plan"]);
}

/// The old version out of a repository is piped into it.
#[test]
fn one_of_the_two_can_be_the_standard_input() {
    let sandbox = changed(&[("b=2", "b=3")]);
    let diff = |arguments: [&str; 2], input: &str| {
        let input = std::fs::File::open(sandbox.path(input)).expect("a file");
        let arguments = ["diff", arguments[0], arguments[1]];
        let output = sandbox.command(&arguments).stdin(input).output();
        testing::Result::of(output.expect("it starts"))
    };
    diff(["-", "a.toml"], "a.toml").assert_status(0);
    let result = diff(["a.toml", "-"], "b.toml");
    result.assert_status(1);
    assert!(result.stdout.starts_with("a.toml -> -: 1 difference\n"), "{}", result.stdout);
    diff(["-", "-"], "a.toml").assert_refused(&["one of the two, not both"]);
}

/// Writes what `check` says of both systems.
fn checked(sandbox: &Sandbox) {
    for name in ["a", "b"] {
        let checked = sandbox.bulkhead(&["check", &format!("{name}.toml"), "--json"]);
        sandbox.write(&format!("{name}.json"), &checked.stdout);
    }
}

#[test]
fn results_differ_in_verdicts_and_times() {
    let sandbox = changed(&[("\"1ms\"", "\"9.5ms\"")]);
    checked(&sandbox);
    let result = sandbox.bulkhead(&["diff", "a.json", "a.json"]);
    result.assert_status(0);
    assert_eq!(result.stdout, "a.json and a.json do not differ\n");
    let result = sandbox.bulkhead(&["diff", "a.json", "b.json", "--json"]);
    result.assert_status(1);
    let document = result.json();
    let differences = document["differences"].as_array().expect("a list");
    let found = |of: &str, property: &str| {
        let mut found = differences.iter();
        found.find(|it| it["of"] == of && it["property"] == property).expect(property)
    };
    let verdict = found("result", "verdict");
    assert_eq!([&verdict["before"], &verdict["after"]], ["schedulable", "not schedulable"]);
    let bounds = [
        sandbox.bulkhead(&["check", "a.toml", "--json"]).json(),
        sandbox.bulkhead(&["check", "b.toml", "--json"]).json(),
    ];
    assert_ne!(bounds[0], bounds[1]);
    assert_ne!(found("task pilot.gyro", "bound")["before"], "none");
}

/// The folders of two proofs: what the documents say, and the plans beside them.
#[test]
fn proofs_differ_in_files_times_and_plans() {
    let sandbox = changed(&[("server = \"deferrable\"", "server = \"periodic\"")]);
    let document = |bound: u32, digest: &str| {
        json!({
            "format": "bulkhead-proof-v1", "ok": true, "name": "rover", "failures": [],
            "tasks": [{
                "vm": "pilot", "task": "gyro", "deadline_ns": 10_000_000, "bound_with_ns": bound,
                "with": { "jobs": 10, "missed_deadlines": 0, "response_max_ns": 900_000 },
            }],
            "files": [{ "purpose": "hypervisor", "name": "bulkhead", "sha256": digest.repeat(32) }],
        })
    };
    for (folder, system, bound, digest) in
        [("one", "a.toml", 4_000_000, "ab"), ("two", "b.toml", 5_000_000, "cd")]
    {
        std::fs::create_dir(sandbox.path(folder)).expect("a folder");
        sandbox.write(&format!("{folder}/results.json"), &document(bound, digest).to_string());
        let plan = format!("{folder}/with.plan.dts");
        sandbox.bulkhead(&["plan", system, "-o", &plan]).assert_status(0);
    }
    sandbox.bulkhead(&["diff", "one", "one"]).assert_status(0);
    let result = sandbox.bulkhead(&["diff", "one", "two"]);
    result.assert_status(1);
    for (of, property, before, after) in [
        ("file: hypervisor", "SHA-256", "abababababababab", "cdcdcdcdcdcdcdcd"),
        ("task pilot.gyro", "bound", "4 ms", "5 ms"),
        ("VCPU pilot.0", "server", "deferrable", "periodic"),
    ] {
        let row = format!("{of} {property} {before} {after}");
        let mut rows = result.stdout.lines().map(|it| it.split_whitespace().collect::<Vec<_>>());
        assert!(rows.any(|it| it.join(" ") == row), "{row}: {}", result.stdout);
    }
    assert!(result.stdout.starts_with("one -> two: 3 differences\n"), "{}", result.stdout);
    sandbox.bulkhead(&["diff", "one/results.json", "two"]).assert_status(1);

    checked(&sandbox);
    sandbox.bulkhead(&["diff", "one", "a.toml"]).assert_refused(&["compare two results"]);
    sandbox.bulkhead(&["diff", "a.json", "one"]).assert_refused(&["same command"]);
    sandbox.bulkhead(&["diff", ".", "one"]).assert_refused(&["has 4 results"]);
    sandbox.bulkhead(&["diff", "none.json", "one"]).assert_refused(&["cannot read none.json"]);
}
