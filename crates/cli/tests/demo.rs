//! The first commands on the real thing: hypervisor, Linux and real-time guest must have been built
//! (`make build`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bulkhead(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(project()).args(arguments).output().expect("bulkhead starts")
}

#[track_caller]
fn succeeds(arguments: &[&str]) -> String {
    let output = bulkhead(arguments);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{out}\n{err}");
    out.into_owned()
}

#[test]
fn the_demonstration_is_sound_and_can_be_planned() {
    assert!(succeeds(&["check", "systems/demo.toml"]).contains("systems/demo.toml: ok"));
    let plan = succeeds(&["plan", "systems/demo.toml", "-o", "-"]);
    assert!(plan.starts_with("/dts-v1/;"), "{plan}");
    assert!(plan.contains("vm-name = \"linux\"") && plan.contains("vm-name = \"rt\""), "{plan}");
}

#[test]
fn the_demonstration_runs_to_its_end() {
    let shown = succeeds(&[
        "run",
        "systems/demo.toml",
        "--append",
        "linux=bulkhead.job=demo",
        "--until-off",
        "--deterministic",
        "--timeout",
        "180s",
    ]);
    for line in [
        "[bulkhead] ready",
        "[linux] linux: shell reached",
        "[linux] linux: job done",
        "[rt   ] rt: task fast period_us=5000 jobs=400 misses=0",
        "all is well",
    ] {
        assert!(shown.contains(line), "no {line} in\n{shown}");
    }
}

/// Linux and the rover boot what the tests above and others boot, from another folder.
#[test]
fn a_new_system_runs_as_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().to_str().expect("text");
    let shown = succeeds(&["init", new, "--template", "two-ecus"]);
    assert!(shown.contains("  bulkhead run system.toml --deterministic\n"), "{shown}");
    let description = folder.path().join("system.toml");
    let shown = succeeds(&["run", description.to_str().expect("text"), "--deterministic"]);
    assert!(shown.contains("all is well"), "{shown}");
}

/// The first commands are those that the tests above run.
#[test]
fn the_first_commands_are_these() {
    let read = |file| std::fs::read_to_string(project().join(file)).expect("it is there");
    let page = read("docs/how-to/first-commands.md");
    for command in [
        "bulkhead check systems/demo.toml",
        "bulkhead plan systems/demo.toml -o -",
        "bulkhead run systems/demo.toml --append linux=bulkhead.job=demo --until-off --deterministic",
        "bulkhead run systems/demo.toml --console linux",
    ] {
        assert!(page.contains(command), "{command}");
    }
    assert!(read("Makefile").contains("prove systems/rover.toml --output build/demo"));
    assert!(read("README.md").contains("bulkhead prove systems/rover.toml -o build/demo"));
}
