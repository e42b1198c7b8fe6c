//! Runs the tests of the workspace, as many test programs at once as there are CPUs.
//!
//! `cargo test` runs one program after the other, and most of them wait for one emulator at a time. Here each lane takes the
//! next program, which runs its tests one by one.

use std::collections::{HashSet, VecDeque};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, iter};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::cargo::{self, Executable};
use crate::toolchain;
use crate::workspace::Workspace;

/// The programs that take longest: they begin first, so that none is left alone at the end.
const FIRST: &[&str] = &[
    "vmpcp",
    "tutorial",
    "isolation",
    "cachescope",
    "linux_budget",
    "linux",
    "server_reference",
    "sharing",
    "memory_budgets",
    "allocation",
    "boards",
    "planned",
    "plan_input",
    "vm_locks",
];

/// Those that record machines that write records as fast as they can: beside another program, some are overwritten before they are read.
const ALONE: &[&str] = &["storm"];

/// What quick tests find in place of QEMU.
const NO_QEMU: &str = "#!/bin/sh
echo 'a quick test boots a machine: give the test `test = false` in its Cargo.toml' | tee /dev/stderr
exit 1
";

/// What a program said, and for how long it ran.
struct Outcome {
    name: String,
    ok: bool,
    output: String,
    time: Duration,
}

/// Builds and runs all tests, or only those of `cargo test`; an error names the programs in which some failed.
pub fn run(workspace: &Workspace, quick: bool) -> Result<()> {
    let mut programs = build(workspace, if quick { &[] } else { &["--workspace"] })?;
    if !quick {
        // With those that have `test = false`.
        let all = build(workspace, &["--workspace", "--test", "*"])?;
        let known: HashSet<_> = programs.iter().map(|it| it.path.clone()).collect();
        programs.extend(all.into_iter().filter(|it| !known.contains(&it.path)));
    }
    ensure!(!programs.is_empty(), "cargo built no tests");
    let no_qemu = quick.then(no_qemu).transpose()?;
    let place = |it: &Executable| FIRST.iter().position(|name| *name == it.name);
    programs.sort_by_key(|it| place(it).unwrap_or(FIRST.len()));

    let (alone, programs): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|it| ALONE.contains(&it.name.as_str()));
    let lanes = thread::available_parallelism().map_or(1, |lanes| lanes.get());
    let (waiting, done) = (Mutex::new(VecDeque::from(programs)), Mutex::new(Vec::new()));
    let run = |program: &Executable| {
        let outcome = outcome(program, no_qemu.as_ref().map(TempDir::path));
        show(&outcome);
        locked(&done).push(outcome);
    };
    alone.iter().for_each(run);
    // Not in the condition of the loop: there the lock would be held for as long as the program runs.
    let next = || locked(&waiting).pop_front();
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(program) = next() {
                    run(&program);
                }
            });
        }
    });
    let mut documentation = toolchain::host_cargo("test");
    // `--doc` does not heed `doctest = false`, which is for copies of code of others.
    documentation.current_dir(workspace.root()).args([
        "--workspace",
        "--exclude",
        "bulkhead-interleavings",
        "--doc",
        "--quiet",
    ]);
    let documentation = cargo::run(documentation);

    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let failed: Vec<_> = done.iter().filter(|it| !it.ok).map(|it| it.name.as_str()).collect();
    println!("test: {} programs, {} failed", done.len(), failed.len());
    if !failed.is_empty() {
        bail!("tests failed in {}", failed.join(", "));
    }
    documentation
}

/// Builds the tests of these packages.
fn build(workspace: &Workspace, selection: &[&str]) -> Result<Vec<Executable>> {
    let mut build = toolchain::host_cargo("test");
    build.current_dir(workspace.root()).arg("--no-run").args(selection);
    let mut programs = cargo::executables(build, &[])?;
    programs.retain(|program| program.is_test);
    Ok(programs)
}

/// A folder with a program that goes before QEMU in PATH.
fn no_qemu() -> Result<TempDir> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let path = folder.path().join("qemu-system-aarch64");
    let write = || {
        fs::write(&path, NO_QEMU)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(folder)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program as `cargo test` does: in the folder of its package. The programs in `first` go before others in PATH.
fn outcome(program: &Executable, first: Option<&Path>) -> Outcome {
    let start = Instant::now();
    let mut command = Command::new(&program.path);
    if let Some(first) = first {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = iter::once(first.to_owned()).chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(folders).unwrap_or(path));
    }
    let output = command
        .current_dir(&program.package)
        .env("CARGO_MANIFEST_DIR", &program.package)
        .env("RUST_TEST_THREADS", "1")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.path.display()));
    let (ok, output) = match output {
        Ok(output) => {
            let both = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8_lossy(&both).into_owned())
        }
        Err(error) => (false, format!("{error:#}")),
    };
    let package =
        program.package.file_name().map_or_else(String::new, |it| it.display().to_string());
    Outcome { name: format!("{package}/{}", program.name), ok, output, time: start.elapsed() }
}

/// A line of a program whose tests pass; all that it said otherwise.
fn show(Outcome { name, ok, output, time }: &Outcome) {
    let result = output.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let counts = result.map_or("", |it| it.split("; finished").next().unwrap_or(it));
    let seconds = time.as_secs_f32();
    match ok {
        true => println!("{seconds:6.1} s  {name}: {counts}"),
        false => println!("{output}\n{seconds:6.1} s  {name}: FAILED"),
    }
}
