//! `bulkhead reproduce` for experiments that allocate random task sets.

use std::fs;
use std::process::Command;

use testing::{Result, Sandbox, eventually, sandbox, signal, terminal};

const EXPERIMENT: &str = r#"
title = "Utilisation by colours"
source = "a paper, Figure 13"
about = "What is done."
differences = "Why it differs."
x = "colours"
y = "total VM utilisation (% of a processor)"
plot = "lines"

[allocation]
sets = 400
quick_sets = 60
seed = 7
tasks = [3, 5]
utilization = 1.0
vcpus = 2
colors = 4
reload_us = 207

[[run]]
series = "WFD+CCS"
x = "4"
measure.utilization = "wfd-ccs"

[[run]]
series = "CAVM"
x = "3-4"
measure.utilization = "cavm"

[[run]]
series = "planner"
x = "3-4"
measure.utilization = "planner"

[[run]]
series = "bound"
x = "4"
measure.utilization = "bound"
"#;

const PUBLISHED: &str = r#"
[[claim]]
text = "the planner needs no more than CAVM, and that no more than WFD"
source = "a paper, section 6"
published = "less"
at = "4"
check.ratios = { series = ["CAVM", "WFD+CCS"], of = "planner", least = 1.0 }

[[claim]]
text = "nothing needs less than the bound"
source = "a paper, section 6"
published = "as above"
check.ratios = { series = ["planner"], of = "bound", least = 1.0 }
"#;

fn sandbox(experiment: &str) -> Sandbox {
    let sandbox = sandbox!();
    fs::create_dir_all(sandbox.path("experiments/sets")).expect("a folder");
    sandbox.write("experiments/sets/experiment.toml", experiment);
    sandbox.write("experiments/sets/published.toml", PUBLISHED);
    sandbox
}

fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = sandbox.command(&["reproduce", "sets"]);
    command.args(arguments);
    command
}

fn reproduce(sandbox: &Sandbox, arguments: &[&str]) -> Result {
    Result::of(command(sandbox, arguments).output().expect("the command starts"))
}

fn file(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.path("build/reproduce/sets").join(name)).unwrap_or_default()
}

/// All files that people and programs read.
fn files(sandbox: &Sandbox) -> [String; 4] {
    ["data.csv", "note.txt", "plot.svg", "table.md"].map(|name| file(sandbox, name))
}

#[test]
fn schemes_are_compared_on_the_same_task_sets() {
    let sandbox = sandbox(EXPERIMENT);
    let result = reproduce(&sandbox, &["--quick"]);
    result.assert_status(0);
    assert_eq!(result.stderr, "", "quiet without a terminal");
    let page = file(&sandbox, "table.md");
    assert!(page.contains("of 60 task sets that all schemes allocate"), "{page}");
    assert!(page.contains("| colours | WFD+CCS | CAVM | planner | bound |"), "{page}");
    assert_eq!(page.matches("| confirmed |").count(), 2, "{page}");
    assert_eq!(file(&sandbox, "parts.jsonl"), "", "nothing is left to go on from");
    let one = file(&sandbox, "data.csv");
    assert_eq!(one.lines().count(), 7);
    // The number of threads changes nothing.
    for jobs in ["1", "3"] {
        reproduce(&sandbox, &["--quick", "--jobs", jobs]).assert_status(0);
        assert_eq!(file(&sandbox, "data.csv"), one);
    }
}

#[test]
fn schemes_are_compared_with_the_optimum_set_by_set() {
    let run = |series: &str, scheme: &str, take: &str| {
        format!(
            "[[run]]\nseries = \"{series}\"\nx = \"3-4\"\n\
             measure.excess = {{ scheme = \"{scheme}\", of = \"optimum\", take = \"{take}\" }}\n"
        )
    };
    let runs = [
        run("WFD+CCS", "wfd-ccs", "mean"),
        run("CAVM", "cavm", "mean"),
        run("planner", "planner", "mean"),
        run("bound", "planner", "min"),
    ];
    let start = EXPERIMENT.find("[[run]]").expect("a run");
    let sandbox = sandbox(&[&EXPERIMENT[..start], &runs.join("\n")].concat());
    let no_claims = "claim = []";
    sandbox.write("experiments/sets/published.toml", no_claims);
    reproduce(&sandbox, &["--quick"]).assert_status(0);
    let data = file(&sandbox, "data.csv");
    let value = |series: &str, x: &str| -> f64 {
        let row = data.lines().find(|row| row.starts_with(&format!("{series},{x},")));
        let value = row.and_then(|row| row.split(',').nth(2)).expect("a row");
        value.parse().expect("a number")
    };
    for x in ["3", "4"] {
        assert_eq!(value("bound", x), 0.0, "{data}");
        assert!(value("planner", x) < 1.0, "{data}");
        assert!(value("planner", x) <= value("CAVM", x), "{data}");
        assert!(value("WFD+CCS", x) > 5.0, "{data}");
    }
    let page = file(&sandbox, "table.md");
    assert!(page.contains("planner is compared with optimum for 60 at 3"), "{page}");
    // What is said about the task sets stays when only statements change.
    let page = page.replace("**Measured with `--quick`, at a few places.**\n\n", "");
    let page = page.replace(" --quick", "");
    reproduce(&sandbox, &["--judge"]).assert_status(0);
    assert_eq!(file(&sandbox, "table.md"), page);
}

#[test]
fn what_an_interrupted_run_has_computed_is_kept() {
    // Schemes that are quick, so that parts come soon.
    let of_planner = EXPERIMENT.find("[[run]]\nseries = \"CAVM\"").expect("a run");
    let bound = EXPERIMENT.find("[[run]]\nseries = \"bound\"").expect("a run");
    let quick = [&EXPERIMENT[..of_planner], &EXPERIMENT[bound..]].concat();
    let sets = |sets: u64| quick.replace("sets = 400", &format!("sets = {sets}"));
    let sandbox = |sets: &str| {
        let sandbox = sandbox(sets);
        sandbox.write("experiments/sets/published.toml", "claim = []");
        sandbox
    };
    let other = sandbox(&sets(1000));
    let sandbox = sandbox(&sets(100_000));
    let child = command(&sandbox, &["--jobs", "1"]).spawn().expect("the command starts");
    // A line for the problem, and one for each part.
    eventually("a part is there", || file(&sandbox, "parts.jsonl").lines().count() > 2);
    signal(&child, "INT");
    let result = Result::of(child.wait_with_output().expect("the command ends"));
    result.assert_status(130);
    assert!(result.stdout.contains("Incomplete"), "{}", result.stdout);

    // Parts of that are of use for nothing else: a broken line is computed again, and so is
    // everything if the problem is another one.
    let parts = file(&sandbox, "parts.jsonl");
    assert!(parts.lines().count() > 2);
    sandbox.write("experiments/sets/experiment.toml", &sets(1000));
    reproduce(&sandbox, &[]).assert_status(0);
    let whole = files(&sandbox);

    let path = other.path("build/reproduce/sets/parts.jsonl");
    let interrupt = || {
        let child = command(&other, &["--jobs", "1"]).spawn().expect("the command starts");
        eventually("a part is there", || file(&other, "parts.jsonl").lines().count() > 1);
        signal(&child, "TERM");
        child.wait_with_output().expect("the command ends");
        file(&other, "parts.jsonl")
    };
    let parts = interrupt();
    if !parts.is_empty() {
        fs::write(&path, &parts[..parts.len() - 10]).expect("a cut file");
    }
    reproduce(&other, &[]).assert_status(0);
    assert_eq!(files(&other), whole, "byte for byte");

    // It is those parts that count: one that says something else changes the result.
    let parts = interrupt();
    if !parts.is_empty() {
        fs::write(&path, parts.replacen("\"sets\":50", "\"sets\":57", 1)).expect("a file");
        reproduce(&other, &[]).assert_status(0);
        assert!(file(&other, "note.txt").contains("of 1007 task sets"), "the part is used");
    }
}

#[test]
fn progress_is_shown_on_a_terminal() {
    let sandbox = sandbox(EXPERIMENT);
    let (ours, theirs) = terminal();
    let mut command = command(&sandbox, &[]);
    let mut child = command.env("TERM", "xterm").stderr(theirs).spawn().expect("it starts");
    // The other end is closed when the command ends.
    drop(command);
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = rustix::io::read(&ours, &mut buffer) {
        shown.extend_from_slice(&buffer[..length]);
    }
    assert!(child.wait().expect("it ends").success());
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("sets ") && shown.contains("/400 task sets"), "{shown}");
}

#[test]
fn mistakes_name_their_place() {
    let cases = [
        ("\"wfd-ccs\"", "\"wfd\"", "unknown variant `wfd`"),
        ("x = \"3-4\"", "x = \"3-5\"", "`x` of `CAVM`: numbers of colours are at most 4"),
        ("colors = 4", "colors = 65", "a cache has 1 to 64 colours, not 65"),
        ("vcpus = 2", "vcpus = 0", "VMs need VCPUs"),
        ("utilization = 1.0", "utilization = 9.0", "numbers within these limits have sums of"),
        ("[allocation]", "[allocations]", "unknown field `allocations`"),
    ];
    for (from, to, message) in cases {
        let sandbox = sandbox(&EXPERIMENT.replace(from, to));
        reproduce(&sandbox, &["--quick"]).assert_refused(&[message]);
    }
    let start = EXPERIMENT.find("[allocation]").expect("a table");
    let end = EXPERIMENT.find("[[run]]").expect("a run");
    let without = [&EXPERIMENT[..start], &EXPERIMENT[end..]].concat();
    let message = "`WFD+CCS` allocates task sets: say which in `[allocation]`";
    reproduce(&sandbox(&without), &[]).assert_refused(&[message]);
}
