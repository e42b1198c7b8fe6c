//! Runs every fuzz target for a bounded time.
//!
//! The packages are laid out for cargo-fuzz, which also runs them. This needs
//! neither cargo-fuzz nor a nightly compiler, since it does without the address
//! sanitizer: the fuzzed code is safe Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bulkhead_linux_guest::file;

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

/// Runs each target for `seconds`. What was found before is tried first; an
/// input that makes a target fail is kept in `build/fuzz/failures`.
pub fn run(workspace: &Workspace, seconds: u32) -> Result<()> {
    let packages = packages(workspace.root())?;
    ensure!(!packages.is_empty(), "there is no package crates/*/fuzz");
    for package in packages {
        for target in build(workspace, &package)? {
            fuzz(workspace, &package, &target, seconds)?;
        }
    }
    Ok(())
}

/// Folders `crates/*/fuzz`, sorted.
fn packages(root: &Path) -> Result<Vec<PathBuf>> {
    let crates = root.join("crates");
    let mut packages: Vec<PathBuf> = fs::read_dir(&crates)
        .with_context(|| format!("cannot read {}", crates.display()))?
        .filter_map(|entry| Some(entry.ok()?.path().join("fuzz")))
        .filter(|folder| folder.join("Cargo.toml").exists())
        .collect();
    packages.sort();
    Ok(packages)
}

fn build(workspace: &Workspace, package: &Path) -> Result<Vec<Executable>> {
    let mut command = toolchain::host_cargo("build");
    command
        .current_dir(package)
        .args(["--release", "--bins"])
        // With a named target, the flags are not for build scripts and macros.
        .args(["--target", &host()?])
        .arg("--target-dir")
        .arg(workspace.build("fuzz/target"))
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    cargo::executables(command).context("libFuzzer needs a C++ compiler: on Debian, package g++")
}

fn fuzz(workspace: &Workspace, package: &Path, target: &Executable, seconds: u32) -> Result<()> {
    let corpus = workspace.build("fuzz/corpus").join(&target.name);
    let failures = workspace.build("fuzz/failures").join(&target.name);
    file::make_folder(&corpus)?;
    file::make_folder(&failures)?;

    eprintln!("fuzz: {} for {seconds} s", target.name);
    let mut command = Command::new(&target.path);
    command
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-artifact_prefix={}/", failures.display()))
        .args(["-print_final_stats=1", "-verbosity=0"]);
    let seeds = package.join("seeds").join(&target.name);
    if seeds.exists() {
        command.arg(seeds);
    }
    cargo::run(command)
        .with_context(|| format!("{} fails; the input is in {}", target.name, failures.display()))
}
