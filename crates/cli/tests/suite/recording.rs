//! The recording that `scripts/record` makes: its commands are those of the script, and what does not depend on a machine is what
//! they print today.

use std::fs;
use std::path::Path;
use std::process::Command;

use testing::{Sandbox, sandbox};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Files that the rover boots.
const GUESTS: [&str; 5] = [
    "linux/vmlinuz",
    "linux/initrd.cpio",
    "guests/rt-demo.bin",
    "guests/rt-tasks.bin",
    "guests/rt-leech.bin",
];

/// A command of the recording, and what it printed.
struct Step {
    command: String,
    printed: String,
}

fn cast() -> Vec<serde_json::Value> {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/media/rover.cast")).expect("a cast");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Removes colours and other escape sequences.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest =
        parts.map(|it| it.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |it| it.1));
    (first + &rest.collect::<String>()).replace("\r\n", "\n")
}

fn steps() -> Vec<Step> {
    let events = cast();
    let text: String = events[1..].iter().map(|it| it[2].as_str().expect("text")).collect();
    let text = plain(&text);
    let parts = text.split("$ # ").skip(1);
    let step = |part: &str| {
        let (_, rest) = part.split_once("\n$ ").expect("a command");
        let (command, printed) = rest.split_once('\n').expect("what it printed");
        Step { command: command.into(), printed: printed.trim_end_matches("$ ").into() }
    };
    parts.map(step).collect()
}

#[test]
fn it_is_short_and_small() {
    let path = Path::new(ROOT).join("docs/media/rover.cast");
    let text = fs::read_to_string(path).expect("a cast");
    assert!(text.len() < 300_000 && text.contains("log: ~/bulkhead/") && !text.contains("log: /"));
    let events = cast();
    assert_eq!(events[0]["version"], 2);
    let times: Vec<f64> = events[1..].iter().map(|it| it[0].as_f64().expect("a time")).collect();
    assert!(times.is_sorted());
    let end = times.last().expect("an end");
    assert!((150.0..=190.0).contains(end), "{end} s");
}

#[test]
fn its_commands_are_those_of_the_script() {
    let listed = Command::new("scripts/record").current_dir(ROOT).arg("--list").output();
    let listed = String::from_utf8(listed.expect("it starts").stdout).expect("text");
    let listed: Vec<&str> = listed.lines().collect();
    let recorded: Vec<String> = steps().into_iter().map(|it| it.command).collect();
    assert_eq!(recorded, listed, "record it anew: scripts/record");
}

/// A folder with the description of the rover, and guests that nobody can boot.
fn folder() -> Sandbox {
    let sandbox = sandbox!();
    fs::create_dir(sandbox.path("systems")).expect("a folder");
    let description = Path::new(ROOT).join("systems/rover.toml");
    fs::copy(description, sandbox.path("systems/rover.toml")).expect("a copy");
    for guest in GUESTS {
        let path = sandbox.path("build").join(guest);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "").expect("a file");
    }
    sandbox
}

#[test]
fn what_it_shows_is_what_the_commands_print() {
    let sandbox = folder();
    let program = Path::new(env!("CARGO_BIN_EXE_bulkhead")).parent().expect("a folder");
    let search = std::env::var("PATH").expect("a path");
    let search = format!("{}:{search}", program.display());
    let mut compared = 0;
    for Step { command, printed } in steps() {
        if command.starts_with("bulkhead run") || command.starts_with("bulkhead prove") {
            // It boots a machine: only its options are looked at.
            let words: Vec<&str> = command.split(' ').skip(1).chain(["--help"]).collect();
            let help = sandbox.bulkhead(&words);
            assert!(help.stdout.contains("Usage: bulkhead"), "{command}: {}", help.stderr);
            continue;
        }
        let mut shell = Command::new("sh");
        shell.current_dir(sandbox.path("")).args(["-c", &command]).env("PATH", &search);
        let output = shell.output().expect("a shell starts");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("text");
        assert_eq!(
            text, printed,
            "`{command}` prints something else: record it anew: scripts/record"
        );
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}
