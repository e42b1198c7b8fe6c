//! The first commands on the real thing: hypervisor, Linux and real-time guest must have been built
//! (`make build`).

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use testing::{eventually, signal};

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

/// Reads up to a text that must come.
#[track_caller]
fn read_to(client: &mut UnixStream, text: &str) {
    let mut seen = Vec::new();
    while !seen.ends_with(text.as_bytes()) {
        let mut byte = [0];
        let result = client.read_exact(&mut byte);
        assert!(result.is_ok(), "{result:?}: no {text} in\n{}", String::from_utf8_lossy(&seen));
        seen.extend(byte);
    }
}

#[test]
fn the_shell_of_the_demonstration_works_on_a_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let consoles = folder.path().to_str().expect("text");
    let mut child = Command::new(env!("CARGO_BIN_EXE_bulkhead"))
        .current_dir(project())
        .args(["run", "systems/demo.toml", "--timeout", "180s", "--consoles", consoles])
        .stdout(Stdio::null())
        .spawn()
        .expect("bulkhead starts");
    let connect = |vm: &str| UnixStream::connect(folder.path().join(format!("{vm}.sock")));
    eventually("the sockets are there", || connect("linux").is_ok() && connect("rt").is_ok());
    let mut linux = connect("linux").expect("it listens");
    linux.set_read_timeout(Some(Duration::from_secs(120))).expect("set");
    read_to(&mut linux, "linux:/# ");
    linux.write_all(b"echo $((6*7)) is it\n").expect("written");
    read_to(&mut linux, "\n42 is it\r\n");
    // Who types at one VM does not take another out of sight.
    let mut rt = connect("rt").expect("it listens");
    rt.set_read_timeout(Some(Duration::from_secs(120))).expect("set");
    read_to(&mut rt, "rt: done\r\n");
    signal(&child, "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
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
