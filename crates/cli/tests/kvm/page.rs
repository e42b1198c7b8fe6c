//! "Bulkhead on your PC in 10 minutes", word by word: its commands are executed, and what the page shows has to be in what they
//! print, but for the times that a run measures.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::{ATTEMPTS, ROOT, alone, is_host, untaken};

const PAGE: &str = include_str!("../../../../docs/how-to/bulkhead-on-your-pc.md");

/// The blocks of the page with their languages.
fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    let odd = PAGE.split("```").skip(1).step_by(2);
    odd.map(|block| block.split_once('\n').expect("a language and lines"))
}

/// Executes a line of the page, as root and until it ends as the line says; what it prints.
fn executed(folder: &Path, line: &str) -> String {
    let (command, status) = line.split_once(" # status ").unwrap_or((line, "0"));
    let status: i32 = status.parse().expect("a number");
    let command = command.strip_prefix("sudo ").unwrap_or(command);
    let output = || Command::new("sh").args(["-c", command]).current_dir(folder).output();
    let is_run = command.contains(" run --on kvm ");
    let mut text = String::new();
    for _ in 0..if is_run { ATTEMPTS } else { 1 } {
        let output = untaken(|| output().expect("a shell"));
        text =
            [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("text")).concat();
        // What only delays VMs is told, and prevents nothing.
        let delays = command.contains(" measure host ") && text.contains("VMs can run");
        if output.status.code() == Some(status) || delays {
            return text;
        }
    }
    panic!("{line}\n{text}")
}

/// What has to be the same each time: no times, no numbers of jobs, but whether there are misses.
fn constant(line: &str) -> String {
    let line = line.split_once(" missed ").map_or(line, |(task, _)| task);
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let missed = |misses: &str| if misses == "0" { "none" } else { "some" };
    // VM, task, deadline, bound and simulated time with units, what was executed, and "misses of jobs".
    if let [_, _, _, _, _, _, _, "us" | "ms", _, _, misses, "of", ..] = words[..] {
        let without = words.iter().rposition(|it| *it == "of").map_or("0", |of| words[of - 1]);
        words.splice(8.., [missed(misses), missed(without)]);
    }
    // VM, task, period, "us", jobs, misses, three times with "us", deadline, bound.
    if let [_, _, _, "us", _, misses, _, "us", _, "us", _, "us", ..] = words[..] {
        words.splice(4..12, [missed(misses)]);
    }
    words.join(" ")
}

#[test]
fn the_page_for_a_pc_shows_what_happens() {
    let _alone = alone();
    if !is_host() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for name in ["target/release", "build"] {
        std::fs::create_dir_all(path(name)).expect("a folder");
    }
    let program = env!("CARGO_BIN_EXE_bulkhead");
    symlink(program, path("target/release/bulkhead")).expect("a link");
    for name in ["build/guests", "systems"] {
        let original = Path::new(ROOT).join(name).canonicalize().expect("it is there");
        symlink(original, path(name)).expect("a link");
    }
    let mut printed = Vec::new();
    for (language, text) in blocks() {
        match language {
            // What builds was built before, and the exact host has a test of its own (`host_x86.rs`).
            "console" => {}
            "sh" => {
                let lines = text.lines().map(|line| executed(folder.path(), line));
                printed = lines.collect::<String>().lines().map(constant).collect();
            }
            "text" => {
                for line in text.lines() {
                    let is_there = printed.contains(&constant(line));
                    assert!(is_there, "`{line}` is not in:\n{}", printed.join("\n"));
                }
            }
            other => panic!("a block of {other}"),
        }
    }
    for name in ["kvm-demo.html", "kvm-fifo.html"] {
        assert!(path("build").join(name).exists(), "{name}");
    }
}

/// Commands that build are those of the Makefile.
#[test]
fn the_page_for_a_pc_builds_as_the_makefile_does() {
    let makefile = std::fs::read_to_string(format!("{ROOT}/Makefile")).expect("the Makefile");
    let builds = blocks().filter(|(language, _)| *language == "console");
    let lines: Vec<&str> = builds.flat_map(|(_, text)| text.lines()).collect();
    assert!(lines.len() >= 4, "{lines:?}");
    for line in lines {
        let is_there = match line.strip_prefix("make ") {
            Some(target) => makefile.contains(&format!("\n{target}: ")),
            None if line.starts_with("cargo xtask host-x86 ") => {
                include_str!("../host_x86.rs").contains("systems/kvm-demo.toml")
            }
            None => makefile.lines().any(|it| it.trim_start().starts_with(line)),
        };
        assert!(is_there, "{line}");
    }
}
