//! `bulkhead sweep`: from an experiment to a table, also if it is interrupted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use testing::{Result, Sandbox, eventually, sandbox, signal};

const EXPERIMENT: &str = r#"
title = "Servers"
seed = 5
systems = 60
systems_per_shard = 2

[grid]
utilization = { from = 0.3, to = 0.7, step = 0.2 }

[servers]
vcpus = 2
simulate_ms = 400
"#;

fn sandbox(text: &str) -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write("e.toml", text);
    sandbox
}

fn command(sandbox: &Sandbox, folder: &str) -> Command {
    sandbox.command(&["sweep", "e.toml", "-o", folder])
}

fn sweep(sandbox: &Sandbox, folder: &str) -> Result {
    Result::of(command(sandbox, folder).output().expect("the command starts"))
}

#[test]
fn points_are_summarized_and_systems_in_a_table() {
    let sandbox = sandbox(EXPERIMENT);
    let result = sandbox.bulkhead(&["sweep", "e.toml"]);
    result.assert_status(0);
    assert_eq!(result.stderr, "");
    assert!(result.stdout.starts_with("Servers\n\nutilization  systems  planned ok %"));
    assert!(result.stdout.ends_with("\nall systems: e.sweep/systems.parquet\n"));
    let table = fs::read(sandbox.path("e.sweep/systems.parquet")).expect("a table");

    let result = sandbox.bulkhead(&["sweep", "e.toml", "-o", "one", "--jobs", "1", "--json"]);
    result.assert_status(0);
    let document = result.json();
    assert_eq!(document["complete"], true);
    assert_eq!(document["points"][2]["utilization"], 0.7);
    assert_eq!(document["points"][2]["systems"], 60);
    assert_eq!(document["points"][2]["exceeded_sum"], 0.0);
    assert_eq!(fs::read(sandbox.path("one/systems.parquet")).expect("a table"), table);
}

#[test]
fn killed_and_interrupted_sweeps_go_on() {
    let sandbox = sandbox(EXPERIMENT);
    sweep(&sandbox, "whole").assert_status(0);
    let whole = fs::read(sandbox.path("whole/systems.parquet")).expect("a table");
    let journal = sandbox.path("parts/shards.jsonl");
    let finished = || fs::read_to_string(&journal).unwrap_or_default().lines().count();
    let start = |more: usize| {
        let before = finished();
        let mut child = command(&sandbox, "parts").spawn().expect("the command starts");
        // A sweep that was faster has ended: then there is a table.
        let table = sandbox.path("parts/systems.parquet");
        eventually("shards are finished", || finished() > before + more || table.exists());
        let ended = child.try_wait().expect("the child is ours").is_some();
        (child, ended)
    };
    let (mut killed, _) = start(1);
    killed.kill().expect("the child is ours");
    killed.wait().expect("the child is ours");

    let (child, ended) = start(2);
    if !ended {
        signal(&child, "INT");
    }
    let result = Result::of(child.wait_with_output().expect("the child ends"));
    if result.status == Some(130) {
        assert!(result.stdout.contains("shards are finished and kept in parts; the same"));
        assert!(!sandbox.path("parts/systems.parquet").exists());
        // Another experiment does not mix with it.
        sandbox.write("e.toml", &EXPERIMENT.replace("seed = 5", "seed = 6"));
        let other = sweep(&sandbox, "parts");
        other.assert_refused(&["parts/shards.jsonl has results of another experiment"]);
        sandbox.write("e.toml", EXPERIMENT);
    }
    sweep(&sandbox, "parts").assert_status(0);
    assert!(fs::read(sandbox.path("parts/systems.parquet")).expect("a table") == whole);
    assert!(!journal.exists());
}

#[test]
fn bad_experiments_are_refused_before_anything_is_written() {
    let sandbox = sandbox(&EXPERIMENT.replace("vcpus = 2", "vcpu = 2"));
    let result = sweep(&sandbox, "out");
    result.assert_refused(&["e.toml:11:1", "unknown key `vcpu`", "did you mean `vcpus`?"]);
    assert!(!sandbox.path("out").exists());
    // All of them at once, and nothing that only follows from one of them.
    let wrong = EXPERIMENT.replace("title", "titel").replace("[servers]", "[server]");
    sandbox.write(
        "e.toml",
        &wrong.replace("seed = 5", "seed = \"5\"").replace("systems =", "system ="),
    );
    let result = sweep(&sandbox, "out");
    result.assert_refused(&[
        "e.toml:2:1",
        "`title`?",
        "e.toml:3:8",
        "e.toml:4:1",
        "`systems`?",
        "`servers`?",
    ]);
    assert_eq!(result.stderr.matches("error[").count(), 4, "{}", result.stderr);
    let result = sandbox.bulkhead(&["sweep", "nothing.toml", "--json"]);
    result.assert_status(2);
    assert!(result.stdout.contains("cannot read nothing.toml"), "{}", result.stdout);
}

#[test]
fn a_cluster_needs_a_package_of_this_version() {
    let sandbox = sandbox(EXPERIMENT);
    let with = |python: &str| {
        let mut command = command(&sandbox, "out");
        command.args(["--dask", "tcp://127.0.0.1:9"]).env("BULKHEAD_PYTHON", sandbox.path(python));
        Result::of(command.output().expect("the command starts"))
    };
    with("nothing").assert_refused(&["cannot start", "help: name the interpreter"]);
    // Interpreters without the package, and with another one.
    for (name, script, part) in [
        ("without", "echo 'Traceback\nNo module named bulkhead' >&2; exit 1", "No module named"),
        ("other", "echo 0123", "in another version"),
    ] {
        sandbox.write(name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(sandbox.path(name), PermissionsExt::from_mode(0o755)).expect("a file");
        with(name).assert_refused(&[part, "pip install './python[dask]'"]);
    }
}
