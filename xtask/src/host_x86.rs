//! Runs a system under KVM in an x86 host that QEMU emulates.
//!
//! Each instruction takes 1 ns of the time that the host sees, and nothing comes from outside: the same run gives the same
//! output and the same trace, byte for byte.

mod cache;

use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use linux_guest::file;
use linux_guest::host::{self, Results};
use qemu::{Board, Exit, LogFile, Machine, Next, Outcome, Time};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use system::description::System;

use crate::build::X86_HOST;
use crate::workspace::Workspace;

/// Environment variable that names another QEMU than the one in the path.
const PROGRAM_VARIABLE: &str = "BULKHEAD_QEMU_X86";
const PROGRAM: &str = "qemu-system-x86_64";
/// TCG emulates AMD's virtualisation (SVM) with nested paging; random numbers would make runs differ.
const CPU: &str = "EPYC,+svm,+npt,-rdrand,-rdseed";
/// CPU 0 is for Linux, CPU 1 is PCPU 0 of `linux-kvm`, and so on.
const CPUS_LEAST: u32 = 2;
const MEMORY_BYTES: u64 = 1 << 30;
/// The time-stamp counter is trusted, because under `-icount` it is exact. Messages below warnings would cost time.
const KERNEL: &str = "console=ttyS0 panic=-1 loglevel=4 tsc=reliable";
/// Seconds of real time for a run.
pub const LIMIT_S: u64 = 600;
/// Time between two looks of the loop for signals.
const TICK: Duration = Duration::from_millis(50);
/// Time for QEMU to end after its last output.
const GRACE: Duration = Duration::from_secs(5);
/// The exit status for mistakes of the user and of the machine, as of the `bulkhead` command.
const FAILED: u8 = 2;

/// Options of the command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask build guests-x86 host-x86
  cargo xtask host-x86 systems/kvm-first.toml --trace build/exact.trace
  cargo xtask host-x86 systems/kvm-first.toml --json -- --until-off

Output and exit status are those of `bulkhead run --on kvm FILE OPTIONS`; 2 also if the host does not run, 128 + n: ended by
signal n.")]
pub struct Options {
    /// Description (.toml) of a system on the platform `linux-kvm`: the host has a CPU for each PCPU up to the last one with VCPUs.
    pub file: PathBuf,
    /// Record what the scheduler does in this file, for `bulkhead trace`.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cache: cache::CacheOptions,
    /// Stop the emulation after so many seconds of real time.
    #[arg(long, value_name = "SECONDS", default_value_t = LIMIT_S)]
    pub limit: u64,
    /// More options of `bulkhead run --on kvm`.
    #[arg(last = true, value_name = "OPTIONS")]
    pub rest: Vec<String>,
}

/// Runs the command; what goes wrong is printed.
pub fn run(options: &Options) -> ExitCode {
    match Workspace::find().and_then(|workspace| execute(&workspace, options)) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("host-x86: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn execute(workspace: &Workspace, options: &Options) -> Result<u8> {
    let mut results = match results(workspace, options)? {
        Run::Over(results) => results,
        Run::Signal(signal) => {
            eprintln!("host-x86: ended by a signal; there are no results");
            return Ok(u8::try_from(128 + signal).unwrap_or(FAILED));
        }
    };
    if let Some(path) = &options.trace
        && let Some(trace) = results.take("trace")
    {
        file::write_if_changed(path, &trace)?;
    }
    let messages = results.take("stderr").unwrap_or_default();
    io::stderr().write_all(&messages).context("cannot write the messages")?;
    // A run that was refused started no VM: there is nothing to count.
    let counts = match results.status {
        FAILED => None,
        _ => options.cache.counts()?,
    };
    let output = results.take("stdout").unwrap_or_default();
    match io::stdout().write_all(&with_counts(output, counts, options.json)?) {
        // Nobody reads any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result.context("cannot write the output")?,
    }
    Ok(results.status)
}

/// The output of a run with the counts of cachescope: behind it, or in the document.
fn with_counts(mut output: Vec<u8>, counts: Option<cache::Counts>, json: bool) -> Result<Vec<u8>> {
    let Some(counts) = counts else { return Ok(output) };
    if !json {
        output.extend(format!("\n{}", counts.text()).into_bytes());
        return Ok(output);
    }
    let mut document: serde_json::Value =
        serde_json::from_slice(&output).context("the output of the run is no JSON")?;
    document["cachescope"] = serde_json::to_value(counts)?;
    Ok(format!("{document:#}\n").into_bytes())
}

/// The end of a run.
pub enum Run {
    /// The run ended by itself: the files `stdout`, `stderr` and `trace`, and the exit status.
    Over(Results),
    /// This signal ended the run.
    Signal(usize),
}

/// Boots the host and runs the system in it. The trace is among the results, not yet in its file.
pub fn results(workspace: &Workspace, options: &Options) -> Result<Run> {
    let signals = caught_signals()?;
    let built = workspace.build(X86_HOST);
    let [kernel, initrd] = ["vmlinuz", "initrd.cpio"].map(|name| built.join(name));
    for path in [&kernel, &initrd] {
        let shown = path.display();
        ensure!(path.is_file(), "there is no {shown}: `cargo xtask build host-x86` makes it");
    }
    if let Some(trace) = &options.trace {
        // At the end would be too late.
        let folder = trace.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        ensure!(folder.is_dir(), "cannot write {}: there is no such folder", trace.display());
        ensure!(!trace.is_dir(), "cannot write {}: it is a folder", trace.display());
    }

    let scratch = tempfile::tempdir().context("cannot make a folder")?;
    let [disk, port, log] = ["initrd", "results", "console"].map(|name| scratch.path().join(name));
    let mut bytes = file::read(&initrd)?;
    let path = options.file.canonicalize();
    let path = path.with_context(|| format!("cannot read {}", options.file.display()))?;
    let described = System::load(&path).map_err(|errors| anyhow::anyhow!("{errors}"))?;
    bytes.extend(job(&path, &described, options)?);
    let more = options.cache.arguments(workspace, &described)?;
    file::write_if_changed(&disk, &bytes)?;
    let machine = (cpus(&described), more);
    let outcome = match boot(&kernel, &disk, &port, &log, machine, options, &signals)? {
        Ended::Itself(outcome) => outcome,
        Ended::Signal(signal) => return Ok(Run::Signal(signal)),
    };
    let failure = outcome.log.lines().find_map(|line| line.split_once("host: FAILED: "));
    let failure = failure.map(|(_, what)| what.trim().to_owned());
    match (outcome.exit, failure) {
        (_, Some(failure)) => bail!("the host failed: {failure}\n{outcome}"),
        (Exit::Code(0), None) => {}
        (Exit::TimedOut, None) => bail!(
            "the run took longer than {} s of real time; `--limit` changes that\n{outcome}",
            options.limit
        ),
        _ => bail!("the host ended before the run was over\n{outcome}"),
    }
    let results = host::results(&file::read(&port)?);
    results.map(Run::Over).map_err(|error| {
        error.context(format!("the host ended before all results were there\n{outcome}"))
    })
}

/// Returns the job that the host runs, and the files that it needs: the description and the guests, where they are here.
fn job(path: &Path, described: &System, options: &Options) -> Result<Vec<u8>> {
    let folder = path.parent().context("a file is in a folder")?;
    let mut names = vec![path.to_owned()];
    for boot in described.vms.iter().map(|vm| &vm.boot) {
        names.extend(
            std::iter::once(&boot.kernel).chain(&boot.initrd).map(|it| folder.join(&it.value)),
        );
    }
    names.sort();
    names.dedup();
    let mut files = Vec::new();
    for name in &names {
        let content = file::read(name).map_err(|error| {
            anyhow::anyhow!(
                "{error:#}\nhelp: `cargo xtask build guests-x86` makes the guests of the examples"
            )
        })?;
        // Where they are here, so that relative and absolute paths in the description lead to them.
        files.push((plain(name)?, content));
    }
    let mut words = vec!["bulkhead".to_owned()];
    words.extend(options.json.then(|| "--json".to_owned()));
    words.extend(["run", "--on", "kvm"].map(String::from));
    words.push(quoted(text(path.file_name().context("a file has a name")?.as_ref())?));
    words.extend(["--log".to_owned(), "/tmp/log".to_owned()]);
    let (mut before, mut behind) = (String::new(), String::new());
    if let Some(trace) = &options.trace {
        // As it is called here, because the output has its name.
        let trace = std::path::absolute(trace).context("there is no current folder")?;
        let folder = quoted(text(trace.parent().context("the trace is no file")?)?);
        let trace = quoted(text(&trace)?);
        before = format!("mkdir -p {folder}\n");
        behind = format!("mv {trace} /out/trace\n");
        words.extend(["--trace".to_owned(), trace]);
    }
    words.extend(options.cache.cachescope.iter().map(|_| cache::TELL.to_owned()));
    words.extend(options.rest.iter().map(|word| quoted(word)));
    let (folder, line) = (quoted(text(folder)?), words.join(" "));
    let script =
        format!("#!/bin/sh\ncd {folder}\n{before}{line}\nstatus=$?\n{behind}exit $status\n");
    host::job(&script, files)
}

/// Returns the number of CPUs of a host for the system: one is for Linux.
fn cpus(described: &System) -> u32 {
    let vcpus = described.vms.iter().flat_map(|vm| &vm.vcpus);
    let last = vcpus.filter_map(|vcpu| u32::try_from(vcpu.pcpu.as_ref()?.value).ok()).max();
    last.map_or(CPUS_LEAST, |last| last.saturating_add(2))
}

/// An absolute path without `..`, by its text alone: the host has neither links nor the folders in between.
fn plain(path: &Path) -> Result<String> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    text(&plain).map(String::from)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("the path {} is not UTF-8", path.display()))
}

/// One word of a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The end of an emulation.
enum Ended {
    Itself(Outcome),
    Signal(usize),
}

fn boot(
    kernel: &Path,
    disk: &Path,
    port: &Path,
    log: &Path,
    (cpus, more): (u32, Vec<String>),
    options: &Options,
    signals: &AtomicUsize,
) -> Result<Ended> {
    let board = Board {
        machine: "q35".into(),
        cpu: Some(CPU.into()),
        cpus: Some(cpus),
        memory_bytes: Some(MEMORY_BYTES),
    };
    // A comma in a file name would end it.
    let port = text(port)?.replace(',', ",,");
    let arguments = ["-initrd", text(disk)?, "-append", KERNEL, "-serial", &format!("file:{port}")];
    let program = std::env::var(PROGRAM_VARIABLE).unwrap_or_else(|_| PROGRAM.into());
    let settings = qemu::Options {
        program: Some(program),
        time: Time::Deterministic,
        timeout: Some(Duration::from_secs(options.limit)),
        log_file: Some(LogFile::named(log)),
        keep_log: true,
        arguments: arguments.into_iter().map(String::from).chain(more).collect(),
    };
    let mut session = Machine::start(&board, kernel, &settings)?;
    loop {
        match session.next(TICK) {
            Next::Ended => return Ok(Ended::Itself(session.finish(GRACE))),
            Next::Output(_) | Next::Idle => {}
        }
        let signal = signals.load(Ordering::SeqCst);
        if signal != 0 {
            session.stop();
            return Ok(Ended::Signal(signal));
        }
    }
}

/// The last signal that asked this program to end: until then 0. Without this, temporary files would be left.
fn caught_signals() -> Result<Arc<AtomicUsize>> {
    let caught = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_usize(signal, Arc::clone(&caught), signal as usize)
            .context("signals cannot be caught")?;
    }
    Ok(caught)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_plain() {
        assert_eq!(plain(Path::new("/a/systems/../b/./c.bin")).unwrap(), "/a/b/c.bin");
        assert_eq!(plain(Path::new("/../c")).unwrap(), "/c");
    }

    #[test]
    fn words_of_a_shell_stay_words() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
