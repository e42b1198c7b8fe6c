//! `bulkhead top` of the real thing: hypervisor, guests and plugin must have been built (`make build cachescope`).

mod real;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use real::project;
use rustix::termios::{LocalModes, OutputModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;
use testing::terminal;

/// Three tasks of two guests that end after three seconds; each job of `late` is. VM `noise` soon has made all
/// accesses that it may make.
const SYSTEM: &str = r#"
name = "two"
platform = "qemu-virt"

[[vm]]
name = "control"
boot = "raw"
memory = "16MiB"
kernel = "GUESTS/rt-tasks.bin"
bootargs = "tasks.ms=3000 task0=quick/0/10000/0/1000 task1=slow/0/50000/0/4000"
on_reset = "stop"
vcpu = [{ pcpu = 0, server = "deferrable", budget = "6ms", period = "10ms" }]

[[vm.task]]
name = "quick"
period = "10ms"
wcet = "1.2ms"

[[vm.task]]
name = "slow"
period = "50ms"
wcet = "4.2ms"

[[vm]]
name = "vision"
boot = "raw"
memory = "16MiB"
kernel = "GUESTS/rt-tasks.bin"
bootargs = "tasks.ms=3000 task0=late/0/20000/0/9000"
on_reset = "stop"
vcpu = [{ pcpu = 0, server = "periodic", budget = "3ms", period = "10ms" }]

[[vm.task]]
name = "late"
period = "20ms"
deadline = "4ms"
wcet = "2ms"

[[vm]]
name = "noise"
boot = "raw"
memory = "16MiB"
kernel = "GUESTS/rt-leech.bin"
bootargs = "leech.take=copy:4MiB"
bandwidth = "10MB/s"
vcpu = [{ pcpu = 1 }]
"#;

/// Writes the system, without `noise`, which never ends, if that is not wanted.
fn system(folder: &Path, noise: bool) -> PathBuf {
    let guests = project().join("build/guests").canonicalize().expect("the guests are built");
    let mut text = SYSTEM.replace("GUESTS", guests.to_str().expect("UTF-8"));
    if !noise {
        let (quiet, _) = text.split_once("[[vm]]\nname = \"noise\"").expect("it is there");
        text = quiet.to_owned();
    }
    let file = folder.join("two.toml");
    std::fs::write(&file, text).expect("a file");
    file
}

fn command(verb: &str, file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    command.current_dir(project()).arg(verb).arg(file).arg("--deterministic").args(arguments);
    command
}

/// The cells of the last row that begins with a word.
fn row<'t>(text: &'t str, first: &str) -> Vec<&'t str> {
    let row = text.lines().rfind(|line| line.split("  ").next() == Some(first)).expect("a row");
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn a_table_follows_in_each_interval_and_the_last_one_has_all_jobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = system(folder.path(), false);
    let output = command("top", &file, &["--interval", "100ms"]).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    // A task missed its deadline.
    assert_eq!(output.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.matches("of budget").count() > 2 && !text.contains('\x1b'), "{text}");
    // Before the summary of the run, which counts the same jobs in the whole recording.
    let (tables, _) = text.rsplit_once("restarts").expect("the summary");
    let run = command("run", &file, &["--json"]).output().expect("it starts");
    let document: Value = serde_json::from_slice(&run.stdout).expect("one document");
    let tasks = document["vms"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|vm| vm["tasks"].as_array())
        .flatten();
    let mut seen = 0;
    for task in tasks {
        let cells = row(tables, task["name"].as_str().expect("a name"));
        let counted = [task["jobs"].to_string(), task["misses"].to_string()];
        assert_eq!(cells[2..4], counted, "{tables}\n{document:#}");
        seen += 1;
    }
    assert_eq!(seen, 3, "{document:#}");
    assert!(row(tables, "late")[3].parse::<u64>().is_ok_and(|misses| misses > 50), "{tables}");
    // Each job of `late` takes more than the budget of a period; a timer is late by a millisecond at most.
    let vision = tables.lines().filter(|line| line.starts_with("vision/0 "));
    let vision: Vec<Vec<&str>> = vision
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert!(vision.iter().any(|cells| cells[5].parse::<u64>().is_ok_and(|it| it > 0)), "{tables}");
    let share = |cells: &Vec<&str>| cells[4].trim_end_matches(" %").parse::<f64>().unwrap_or(0.0);
    assert!(vision.iter().any(|it| share(it) > 30.0), "{tables}");
}

/// Where no cursor moves, as in the shells of editors, a table follows in each interval.
#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let (ours, theirs) = terminal();
    let folder = tempfile::tempdir().expect("a folder");
    let file = system(folder.path(), false);
    let copy = || Stdio::from(theirs.try_clone().expect("a copy"));
    let mut top = command("top", &file, &["--interval", "100ms"]);
    top.env("TERM", "dumb").stdin(copy()).stdout(copy());
    let mut child = top.spawn().expect("the command starts");
    drop((top, theirs));
    let (mut screen, mut text) = (File::from(ours), Vec::new());
    // The end of a terminal that nobody has any more is an error.
    let _ = screen.read_to_end(&mut text);
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "a task missed its deadline");
    let text = String::from_utf8(text).expect("text");
    assert!(text.matches("of budget").count() > 2 && !text.contains('\x1b'), "{text}");
}

#[test]
fn once_is_a_document_of_one_interval() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = system(folder.path(), true);
    let once = ["--once", "--json", "--interval", "1s", "--short-turns"];
    let output = command("top", &file, &once).output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    let interval = document["interval_ns"].as_u64().expect("a number");
    let vcpu = |name: &str| {
        let mut vcpus = document["vcpus"].as_array().expect("a list").iter();
        vcpus.find(|it| it["name"] == name).expect("a VCPU").clone()
    };
    let number =
        |of: &Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key}: {document:#}"));
    let vision = vcpu("vision/0");
    assert!(interval > 20_000_000, "{document:#}");
    assert_eq!(number(&vision, "budget_ns") / 1000, interval * 3 / 10 / 1000);
    let noise = vcpu("noise/0");
    assert!(
        number(&noise, "throttled") > 5 && number(&noise, "waited_ns") > interval / 4,
        "{document:#}"
    );
    assert!(number(&noise, "accesses") > 0 && noise["budget_ns"].is_null(), "{document:#}");
}

/// Ctrl-C is a key while the screen is ours; afterwards the terminal is as before.
#[test]
fn ctrl_c_leaves_the_terminal_as_it_was() {
    for (key, statuses) in [(b"\x03", [130, 130]), (b"q", [0, 1])] {
        let (ours, theirs) = terminal();
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).expect("a size");
        let before = tcgetattr(&theirs).expect("modes");
        let folder = tempfile::tempdir().expect("a folder");
        let file = system(folder.path(), false);
        // It runs until a key ends it.
        let text = std::fs::read_to_string(&file).expect("it was written");
        std::fs::write(&file, text.replace("tasks.ms=3000", "tasks.ms=600000"))
            .expect("it is ours");
        let errors = folder.path().join("errors");
        let copy = || Stdio::from(theirs.try_clone().expect("a copy"));
        let mut child = command("top", &file, &["--interval", "100ms"])
            .env("TERM", "xterm")
            .stdin(copy())
            .stdout(copy())
            .stderr(File::create(&errors).expect("a file"))
            .spawn()
            .expect("the command starts");
        let mut keys = File::from(ours);
        let mut screen = keys.try_clone().expect("a copy");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&shown);
        // It ends with the test.
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                seen.lock().expect("nobody panics").extend_from_slice(&buffer[..count]);
            }
        });
        let shows = |what: &str| {
            let end = Instant::now() + Duration::from_secs(60);
            loop {
                let text =
                    String::from_utf8_lossy(&shown.lock().expect("nobody panics")).into_owned();
                if text.contains(what) {
                    return;
                }
                let errors = || std::fs::read_to_string(&errors).unwrap_or_default();
                assert!(Instant::now() < end, "no {what:?} in {text:?}\n{}", errors());
                thread::sleep(Duration::from_millis(10));
            }
        };
        // The alternate screen, and a table on it.
        shows("\x1b[?1049h");
        shows("budget");
        let raw = tcgetattr(&theirs).expect("modes");
        assert!(!raw.local_modes.contains(LocalModes::ICANON), "keys come one by one");
        keys.write_all(key).expect("a key");
        // 1: `late` has missed a deadline by then.
        let status = child.wait().expect("it ends").code().expect("no signal");
        assert!(statuses.contains(&status), "{status}");
        shows("\x1b[?1049l");
        let after = tcgetattr(&theirs).expect("modes");
        assert_eq!(
            (after.local_modes, after.input_modes, after.output_modes & OutputModes::OPOST),
            (before.local_modes, before.input_modes, before.output_modes & OutputModes::OPOST)
        );
    }
}
