//! Whatever ends a command, and whenever: what it writes is there as a whole, or as it was before.

mod real;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testing::Random;

use real::{campaign, project};

/// The command, which writes into `out`.
fn command(arguments: &[&str], out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let out = out.to_str().expect("a path in UTF-8");
    let arguments = arguments.iter().map(|argument| argument.replace("OUT", out));
    command.current_dir(project()).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The files below a folder, apart from those that are being written (`.*`, `*.part`).
fn files(folder: &Path, under: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("text");
        if name.starts_with('.') || name.ends_with(".part") {
            continue;
        }
        let path = format!("{under}/{name}");
        if entry.path().is_dir() {
            files(&entry.path(), &path, found);
        } else {
            found.insert(path, fs::read(entry.path()).expect("a file"));
        }
    }
}

fn below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    files(folder, "", &mut found);
    found
}

/// Kills the command `times` times, at moments by chance, in a folder that is empty or has older files; `same` says
/// whether a file is the one of a command that was not killed.
fn killed(arguments: &[&str], times: u64, same: impl Fn(&str, &[u8], &[u8]) -> bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    fs::create_dir(&whole).expect("a folder");
    let start = Instant::now();
    let status = command(arguments, &whole).status().expect("bulkhead starts");
    let length = start.elapsed();
    assert!(status.code().is_some_and(|code| code < 2), "{arguments:?}: {status}");
    let expected = below(&whole);
    assert!(!expected.is_empty(), "{arguments:?} writes nothing");

    let seed = campaign("BULKHEAD_SEED", 1);
    let mut random = Random::new(seed);
    let mut early = 0;
    for number in 0..times {
        let out = folder.path().join(format!("killed-{number}"));
        fs::create_dir(&out).expect("a folder");
        let older = number % 2 == 1;
        for name in expected.keys().filter(|_| older) {
            let path = out.join(name.trim_start_matches('/'));
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "older").expect("a file");
        }
        let delay = Duration::from_micros(random.below(length.as_micros() as u64 * 11 / 10));
        let mut child = command(arguments, &out).spawn().expect("bulkhead starts");
        std::thread::sleep(delay);
        child.kill().expect("it is ours");
        early += u64::from(child.wait().expect("it has ended").code().is_none());
        for (name, found) in below(&out) {
            let is_older = older && found == b"older";
            let expected = expected.get(&name).map_or(&[][..], Vec::as_slice);
            assert!(
                is_older || same(&name, &found, expected),
                "{arguments:?}: {name} is neither whole ({} bytes) nor as before: {} bytes; killed after \
                 {delay:?}; again: BULKHEAD_SEED={seed}",
                expected.len(),
                found.len(),
            );
        }
        fs::remove_dir_all(&out).expect("ours");
    }
    println!("killed: {}: {early} of {times} before the end, no half-written file", arguments[0]);
}

fn equal(_name: &str, found: &[u8], expected: &[u8]) -> bool {
    found == expected
}

/// Stands behind P20 of the safety manual.
#[test]
fn a_killed_command_leaves_no_half_written_file() {
    let times = campaign("BULKHEAD_KILLS", 12);
    killed(&["plan", "systems/servers.toml", "-o", "OUT/plan.dts"], times, equal);
    killed(
        &["export", "systems/colors.toml", "--to", "xen", "-o", "OUT"],
        times,
        |name, found, expected| {
            // Paths of files depend on the folder.
            name.contains("README")
                || found.len().abs_diff(expected.len()) < 256 && found.last() == expected.last()
        },
    );
    let sim = ["sim", "systems/servers.toml", "--until", "1s", "--trace", "OUT/trace"];
    killed(&sim, times, equal);
    let folder = tempfile::tempdir().expect("a folder");
    let status = command(&sim, folder.path()).status().expect("bulkhead starts");
    assert!(status.code().is_some_and(|code| code < 2));
    let trace = folder.path().join("trace");
    let trace = trace.to_str().expect("a path in UTF-8");
    for format in ["csv", "perfetto"] {
        killed(&["trace", "export", trace, "--to", format, "-o", "OUT/export"], times, equal);
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_killed_run_leaves_no_half_written_trace() {
    let times = campaign("BULKHEAD_KILLS", 8);
    let system = "systems/demo.toml";
    let run = [
        "run",
        system,
        "--append",
        "linux=bulkhead.job=demo",
        "--deterministic",
        "--until-off",
        "--trace",
        "OUT/trace",
    ];
    // What is recorded is the same each time unless some of it was lost.
    let ends = |_: &str, found: &[u8], expected: &[u8]| found.len() * 10 >= expected.len() * 9;
    killed(&run, times, ends);
}
