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
fn a_complete_sweep_is_not_computed_again() {
    let sandbox = sandbox(EXPERIMENT);
    let path = sandbox.path("out/systems.parquet");
    let state = || {
        let about = fs::metadata(&path).expect("a table");
        (fs::read(&path).expect("a table"), std::os::unix::fs::MetadataExt::ino(&about))
    };
    let first = sweep(&sandbox, "out");
    first.assert_status(0);
    let before = state();
    let again = sweep(&sandbox, "out");
    again.assert_status(0);
    let points = |result: &Result| result.stdout.split("\nall systems").next().map(str::to_owned);
    assert_eq!(points(&again), points(&first));
    assert!(
        again.stdout.ends_with(
            "\nall systems: out/systems.parquet, complete before; `--again` computes it once more\n"
        ),
        "{}",
        again.stdout
    );
    assert!(state() == before, "the file is the same");
    let document = sandbox.bulkhead(&["sweep", "e.toml", "-o", "out", "--json"]).json();
    assert_eq!(
        (&document["complete"], &document["already_complete"]),
        (&true.into(), &true.into())
    );

    let forced = sandbox.bulkhead(&["sweep", "e.toml", "-o", "out", "--again"]);
    forced.assert_status(0);
    assert_eq!(forced.stdout, first.stdout);
    let after = state();
    assert!(after.0 == before.0 && after.1 != before.1, "another file with the same bytes");

    // A table that is cut off is none.
    fs::write(&path, &before.0[..before.0.len() / 2]).expect("written");
    sweep(&sandbox, "out")
        .assert_refused(&["out/systems.parquet has results of another experiment"]);
    // One that another version computed is computed anew.
    let mut other = before.0.clone();
    let at = find(&other, b"bulkhead.sources") + "bulkhead.sources".len();
    let digit = at + other[at..].iter().position(u8::is_ascii_hexdigit).expect("a digest");
    other[digit] = if other[digit] == b'0' { b'1' } else { b'0' };
    fs::write(&path, &other).expect("written");
    let result = sweep(&sandbox, "out");
    assert_eq!(result.stdout, first.stdout);
    assert!(state().0 == before.0);
}

fn find(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).position(|window| window == part).expect("it is there")
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
