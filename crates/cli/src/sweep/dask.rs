//! A sweep on a Dask cluster: the package `bulkhead` for Python fills the journal.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;
use crate::signals::Signals;

/// The interpreter, if nothing else is said.
const PYTHON: &str = "python3";
/// Says something else.
const VARIABLE: &str = "BULKHEAD_PYTHON";
/// Prints the version of the package, if that and Dask are there.
const PROBE: &str = "import bulkhead.cluster, bulkhead._bulkhead as it; print(it.SOURCES)";
/// Time between two looks for signals.
const TICK: Duration = Duration::from_millis(100);

/// Computes the shards that are not finished on the cluster with this scheduler, and puts them into the
/// journal in the folder. Finished shards are there also if this fails or is interrupted.
pub fn run(file: &Path, folder: &Path, address: &str, signals: &Signals) -> Result<(), Failure> {
    let python = std::env::var(VARIABLE).unwrap_or_else(|_| PYTHON.to_owned());
    probe(&python)?;
    let child = Command::new(&python)
        .args(["-m", "bulkhead"])
        .args([file, folder])
        .arg(address)
        .stdin(Stdio::null())
        .spawn();
    let child = child.map_err(|error| cannot_start(&python, &error))?;
    let status = wait(child, signals).map_err(|error| cannot_start(&python, &error))?;
    match status.success() || signals.caught().is_some() {
        true => Ok(()),
        false => Err(Failure::new(
            "dask",
            format!(
                "the sweep on {address} failed: the lines above have the cause\n\
                 help: {} keeps the finished shards; the same command continues there",
                folder.display()
            ),
        )),
    }
}

/// Checks that the interpreter has the package in this version.
fn probe(python: &str) -> Result<(), Failure> {
    let output = Command::new(python).args(["-c", PROBE]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| cannot_start(python, &error))?;
    let install = format!(
        "install it here and on all workers with `{python} -m pip install './python[dask]'`, or \
         name another interpreter in {VARIABLE}"
    );
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.trim_end().rsplit('\n').next().unwrap_or_default();
        let text =
            format!("{python} cannot use the package bulkhead with Dask: {why}\nhelp: {install}");
        return Err(Failure::new("no-package", text));
    }
    if String::from_utf8_lossy(&output.stdout).trim() != ::sweep::SOURCES {
        let text = format!("{python} has the package bulkhead in another version\nhelp: {install}");
        return Err(Failure::new("other-version", text));
    }
    Ok(())
}

/// Waits for the end, and ends it when we are to end: the journal may be left at any time.
fn wait(mut child: Child, signals: &Signals) -> std::io::Result<ExitStatus> {
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if signals.caught().is_some() && !told {
            told = true;
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        }
        thread::sleep(TICK);
    }
}

fn cannot_start(python: &str, error: &std::io::Error) -> Failure {
    let text = format!(
        "cannot start {python}: {error}\nhelp: name the interpreter that has the package bulkhead \
         in {VARIABLE}"
    );
    Failure::new("no-python", text)
}
