//! Traces of the real thing: hypervisor and guests must have been built (`make build`).

use std::path::{Path, PathBuf};
use std::process::Command;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn succeeds(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let output = command.current_dir(project()).args(arguments).output().expect("bulkhead starts");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{out}\n{err}");
    out.into_owned()
}

/// Runs a system for as long as its guests run, and returns its trace as lines of CSV.
fn recorded(system: &str, trace: &Path) -> Vec<String> {
    let trace = trace.to_str().expect("a path in UTF-8");
    let out = succeeds(&[
        "run",
        system,
        "--deterministic",
        "--until-off",
        "--timeout",
        "120s",
        "--append",
        "linux=bulkhead.job=demo",
        "--trace",
        trace,
    ]);
    assert!(out.contains(" records, none lost\n"), "{out}");
    let csv = succeeds(&["trace", "export", trace, "--to", "csv", "-o", "-"]);
    csv.lines().map(String::from).collect()
}

#[test]
fn the_demonstration_is_recorded_while_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = recorded("systems/demo.toml", &folder.path().join("demo.trace"));
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    // 2 s, every 5 ms, each job released, started and complete.
    assert_eq!(count(",mark,rt,0,fast,"), 3 * 400);
    assert_eq!(count(",mark,rt,0,slow,"), 3 * 100);
    assert_eq!((count(",run,rt,0,"), count(",run,linux,1,"), count(",lost,")), (1, 1, 0));
    assert!(count(",interrupt,linux,0,") > 100);
}
