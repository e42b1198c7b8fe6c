//! Runs the tests of the workspace, as many test programs at once as there are CPUs.
//!
//! `cargo test` runs one program after the other, and most of them wait for one emulator at a time. Here each lane takes the
//! next program, which runs its tests one by one.

mod long;

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, iter};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::cargo::{self, Executable};
use crate::toolchain;
use crate::workspace::Workspace;

/// The programs that take longest: they begin first, so that none is left alone at the end.
const FIRST: &[&str] = &[
    "suite",
    "proofs",
    "whole",
    "grid",
    "tutorial",
    "isolation",
    "cachescope",
    "planned",
    "linux",
    "linux_budget",
    "own_guest",
    "plan_random",
    "completion",
    "sharing",
    "memory_budgets",
    "boards",
    "torture",
    "interleavings",
    "overshoot",
    "linux_coloring",
];

/// Those that record machines that write records as fast as they can. Beside another machine, records are overwritten before
/// they are read: only programs that boot none run at the same time. So do those whose guests run in time of this host.
const ALONE: &[&str] = &["storm", "kvm"];

/// The folder of the package all of whose tests boot machines.
const END_TO_END: &str = "tests";

/// Tells tests to take few cases; `testing::cases` reads this variable.
const FEW_CASES: &str = "BULKHEAD_FEW_CASES";

/// The program that tests of `cargo test` find in place of QEMU.
const NO_QEMU: &str = "#!/bin/sh
echo 'a test of `cargo test` starts QEMU: give the test `test = false` in its Cargo.toml' | tee /dev/stderr
exit 1
";

/// Names this program to tests that execute a page's `cargo xtask`: cargo would compile it again, with fewer features.
const XTASK: &str = "BULKHEAD_XTASK";

/// The command that can be run besides the programs: the figures that have limits, measured once.
const FIGURES: &[&str] = &["bench-exits", "--repeat", "1"];

/// The choice of tests that are run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tier {
    /// Those of `cargo test`, which boot no machine, with few random cases.
    Quick,
    /// All but those that take long.
    Usual,
    /// All.
    All,
}

/// The work of a lane.
struct Job {
    /// The name that is shown.
    name: String,
    command: Command,
    boots: bool,
    alone: bool,
}

impl Job {
    /// A program runs as `cargo test` does it: in the folder of its package. Those that boot no machine find the programs in the
    /// folder `no_qemu` before others in PATH.
    fn program(
        program: &Executable,
        boots: bool,
        tier: Tier,
        Helpers { own, no_qemu }: &Helpers,
    ) -> Self {
        let name = full_name(program);
        let mut command = Command::new(&program.path);
        command.current_dir(&program.package).env("CARGO_MANIFEST_DIR", &program.package);
        command.env("RUST_TEST_THREADS", "1").env(XTASK, own);
        if tier == Tier::Quick {
            command.env(FEW_CASES, "1");
        }
        if tier != Tier::All {
            let long = long::tests(&name);
            command.args(long.first().map(|_| "--exact"));
            command.args(long.iter().flat_map(|test| ["--skip", test]));
        }
        if !boots {
            let path = env::var_os("PATH").unwrap_or_default();
            let folders = iter::once(no_qemu.path().to_owned()).chain(env::split_paths(&path));
            command.env("PATH", env::join_paths(folders).unwrap_or(path));
        }
        Self { name, command, boots, alone: ALONE.contains(&program.name.as_str()) }
    }

    /// The examples of the documentation. All packages are named, because with some of them libraries would be compiled again
    /// with fewer features, for a minute. Copies of code of others have examples that cannot be compiled there.
    fn documentation(workspace: &Workspace) -> Self {
        let mut command = toolchain::host_cargo("test");
        command.current_dir(workspace.root()).args(["--doc", "--quiet", "--workspace"]);
        command.args(["--", "--skip", "bulkhead-interleavings"]);
        Self { name: "documentation".into(), command, boots: false, alone: false }
    }

    /// The figures, measured by another process of this program.
    fn figures(Helpers { own, .. }: &Helpers) -> Self {
        let mut command = Command::new(own);
        command.args(FIGURES);
        Self { name: FIGURES.join(" "), command, boots: true, alone: false }
    }
}

/// The helpers that jobs find besides their programs.
struct Helpers {
    /// The path of this program, whose file cargo may replace with a newer one when it builds the tests.
    own: PathBuf,
    /// A folder with a program that goes before QEMU in PATH.
    no_qemu: TempDir,
}

/// The jobs still to be run, in this order.
struct Queue {
    waiting: Vec<Job>,
    /// A job runs beside which no machine may be booted.
    alone: bool,
}

impl Queue {
    /// Takes the next job that may run now.
    fn take(&mut self) -> Option<Job> {
        let may_run = |it: &Job| !self.alone || !it.boots;
        let at = self.waiting.iter().position(may_run)?;
        let job = self.waiting.remove(at);
        self.alone |= job.alone;
        Some(job)
    }
}

/// The output of a program, and the time for which it ran.
struct Outcome {
    name: String,
    ok: bool,
    output: String,
    time: Duration,
}

/// Programs with tests.
pub struct Programs {
    /// Those of `cargo test`, which boot no machine.
    quick: Vec<Executable>,
    /// Those that have `test = false`, because they boot machines or take long.
    slow: Vec<Executable>,
}

/// Builds the tests of a tier.
pub fn build(workspace: &Workspace, tier: Tier) -> Result<Programs> {
    if tier == Tier::Quick {
        return Ok(Programs { quick: compile(workspace, &[])?, slow: Vec::new() });
    }
    let quick = compile(workspace, &["--workspace"])?;
    let known: HashSet<_> = quick.iter().map(|it| &it.path).collect();
    let names = slow(workspace, tier)?;
    let selection = names.iter().flat_map(|name| ["--test", name]);
    let selection: Vec<_> = iter::once("--workspace").chain(selection).collect();
    let mut slow = compile(workspace, &selection)?;
    slow.retain(|it| !known.contains(&it.path));
    Ok(Programs { quick, slow })
}

/// The names of the programs of this tier that `cargo test` does not build.
fn slow(workspace: &Workspace, tier: Tier) -> Result<Vec<String>> {
    let mut metadata = toolchain::host_cargo("metadata");
    metadata.current_dir(workspace.root()).args(["--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_slice(&cargo::output(metadata)?)
        .context("`cargo metadata` wrote something else than JSON")?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let targets = list(&metadata["packages"]).into_iter().flat_map(|it| list(&it["targets"]));
    let slow = targets.filter(|it| it["kind"][0] == "test" && it["test"] == false);
    let mut names: Vec<_> = slow.filter_map(|it| Some(it["name"].as_str()?.to_owned())).collect();
    ensure!(!names.is_empty(), "no test has `test = false`");
    names.retain(|name| tier == Tier::All || !long::is_long(name));
    Ok(names)
}

/// Builds and runs the tests of a tier, and with `figures` compares [`FIGURES`] with their limits; an error names the programs
/// in which some failed.
pub fn run(workspace: &Workspace, tier: Tier, figures: bool) -> Result<()> {
    let own = env::current_exe().context("cannot find this program")?;
    let built = build(workspace, tier)?;
    let slow: HashSet<_> = built.slow.iter().map(|it| it.path.clone()).collect();
    let mut programs: Vec<_> = built.quick.into_iter().chain(built.slow).collect();
    // All end-to-end tests are built at once.
    programs.retain(|it| tier == Tier::All || !long::is_long(&it.name));
    ensure!(!programs.is_empty(), "cargo built no tests");
    if tier == Tier::All {
        check_lists(&programs)?;
    }
    let helpers = Helpers { own, no_qemu: no_qemu()? };
    let place = |it: &Executable| {
        let first = FIRST.iter().position(|name| *name == it.name);
        (!ALONE.contains(&it.name.as_str()), first.unwrap_or(FIRST.len()))
    };
    programs.sort_by_key(place);
    let job = |program: &Executable| {
        let boots = program.package.ends_with(END_TO_END) || slow.contains(&program.path);
        Job::program(program, boots, tier, &helpers)
    };
    let mut waiting: Vec<Job> = programs.iter().map(job).collect();
    let behind = waiting.iter().take_while(|it| it.alone).count();
    // For the examples, cargo compiles the library of the model checkers, whose tests take long.
    if tier != Tier::Usual {
        waiting.insert(behind, Job::documentation(workspace));
    }
    if figures {
        waiting.insert(behind, Job::figures(&helpers));
    }

    let cpus = thread::available_parallelism().map_or(1, |cpus| cpus.get());
    // Quick tests sleep often: for their time limits, and for Ctrl-C.
    let lanes = cpus + usize::from(tier == Tier::Quick);
    let queue = (Mutex::new(Queue { waiting, alone: false }), Condvar::new());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(job) = next(&queue) {
                    let alone = job.alone;
                    let outcome = outcome(job);
                    show(&outcome);
                    locked(&done).push(outcome);
                    if alone {
                        locked(&queue.0).alone = false;
                        queue.1.notify_all();
                    }
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let failed: Vec<_> = done.iter().filter(|it| !it.ok).map(|it| it.name.as_str()).collect();
    println!("test: {} programs, {} failed", done.len(), failed.len());
    if !failed.is_empty() {
        bail!("tests failed in {}", failed.join(", "));
    }
    Ok(())
}

/// Fails if the lists of what takes long name something that is not there: it may have another name now, and run.
fn check_lists(programs: &[Executable]) -> Result<()> {
    let listed = |name: &str| {
        let program = programs.iter().find(|it| full_name(it) == name)?;
        let output = Command::new(&program.path).arg("--list").output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let names: Vec<_> = programs.iter().map(|it| it.name.clone()).collect();
    let missing = long::missing(listed, &names);
    ensure!(
        missing.is_empty(),
        "xtask/src/test/long.rs lists what is not there: {}",
        missing.join(", ")
    );
    Ok(())
}

/// Returns the name of a program with the folder of its package, such as `cli/suite`.
fn full_name(program: &Executable) -> String {
    let folder = program.package.file_name().unwrap_or_default().to_string_lossy();
    format!("{folder}/{}", program.name)
}

/// The tests of these packages.
fn compile(workspace: &Workspace, selection: &[&str]) -> Result<Vec<Executable>> {
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

/// Waits for the next job that may run; `None`: all have begun.
fn next((queue, changed): &(Mutex<Queue>, Condvar)) -> Option<Job> {
    let mut queue = locked(queue);
    loop {
        match queue.take() {
            None if !queue.waiting.is_empty() => {
                queue = changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            job => return job,
        }
    }
}

fn outcome(Job { name, mut command, .. }: Job) -> Outcome {
    let start = Instant::now();
    let program = PathBuf::from(command.get_program());
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.display()));
    let (ok, output) = match output {
        Ok(output) => {
            let both = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8_lossy(&both).into_owned())
        }
        Err(error) => (false, format!("{error:#}")),
    };
    Outcome { name, ok, output, time: start.elapsed() }
}

/// A line of a program whose tests pass; all that it said otherwise.
fn show(Outcome { name, ok, output, time }: &Outcome) {
    let result = output.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let counts = result.map_or("ok", |it| it.split("; finished").next().unwrap_or(it));
    let seconds = time.as_secs_f32();
    match ok {
        true => println!("{seconds:6.1} s  {name}: {counts}"),
        false => println!("{output}\n{seconds:6.1} s  {name}: FAILED"),
    }
}
