//! Runs every fuzz target for a bounded time.
//!
//! The package `fuzz` is laid out for cargo-fuzz, which can run it too. This
//! needs neither cargo-fuzz nor a nightly compiler, since it does without the
//! address sanitizer: the fuzzed code is safe Rust.

use std::process::Command;

use anyhow::{Context, Result, bail};
use linux_guest::file;

use crate::cargo::{self, Executable};
use crate::toolchain::{self, host};
use crate::workspace::Workspace;

/// Coverage counters for libFuzzer, as in LLVM's "SanitizerCoverage", and code
/// that checks itself.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Longest time for one input, in seconds.
const INPUT_SECONDS: u32 = 5;
/// Most memory, in MiB.
const MEMORY_MIB: u32 = 1024;

/// Start of the line in libFuzzer's statistics that tells the number of inputs that it has tried.
const INPUTS_LINE: &str = "stat::number_of_executed_units:";
/// Examples to start from, for every target.
const SEEDS: &[&str] = &["crates/import/tests/files", "fuzz/seeds", "systems"];

/// Runs each target for `seconds`. What was found before is tried first; an
/// input that makes a target fail is kept in `fuzz/artifacts`.
pub fn run(workspace: &Workspace, seconds: u32) -> Result<()> {
    for target in build(workspace)? {
        fuzz(workspace, &target, seconds)?;
    }
    Ok(())
}

fn build(workspace: &Workspace) -> Result<Vec<Executable>> {
    let mut command = toolchain::host_cargo("build");
    command
        .current_dir(workspace.root().join("fuzz"))
        .args(["--release", "--bins"])
        // With a named target, the flags are not for build scripts and macros.
        .args(["--target", &host()?])
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    cargo::executables(command, &[])
        .context("libFuzzer needs a C++ compiler: on Debian, package g++")
}

fn fuzz(workspace: &Workspace, target: &Executable, seconds: u32) -> Result<()> {
    let corpus = workspace.root().join("fuzz/corpus").join(&target.name);
    let artifacts = workspace.root().join("fuzz/artifacts").join(&target.name);
    file::make_folder(&corpus)?;
    file::make_folder(&artifacts)?;

    eprintln!("fuzz: {} for {seconds} s", target.name);
    let mut command = Command::new(&target.path);
    command
        .arg(&corpus)
        .args(SEEDS.iter().map(|folder| workspace.root().join(folder)))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1");
    let output = command.output().with_context(|| format!("cannot start {}", target.name))?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        eprint!("{report}");
        bail!("fuzz target {} fails; the input is in {}", target.name, artifacts.display());
    }
    let inputs = report.lines().find_map(|line| line.strip_prefix(INPUTS_LINE));
    println!("fuzz: {}: {} inputs, no failure", target.name, inputs.unwrap_or("?").trim());
    Ok(())
}
