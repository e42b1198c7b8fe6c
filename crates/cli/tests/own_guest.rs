//! The pages on guests of one's own, word by word: their files are written, their commands executed, and
//! what they show has to be in what the commands print.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Writes a file whose path is in the comment of its first line.
fn write(folder: &Path, text: &str) {
    let (name, text) = text.split_once('\n').expect("a name and lines");
    let file = folder.join(name.trim_start_matches(['#', '/', ' ']));
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    // The page's folder is that of the repository.
    let library = format!("{ROOT}/guests/rt");
    fs::write(file, text.replace("../guests/rt", &library)).expect("it can be written");
}

/// `cargo xtask`, which is an alias in the repository's folder; the program that runs all tests names itself.
fn xtask() -> Command {
    if let Some(built) = env::var_os("BULKHEAD_XTASK") {
        let mut xtask = Command::new(built);
        xtask.env("CARGO_MANIFEST_DIR", format!("{ROOT}/xtask"));
        return xtask;
    }
    let mut cargo = Command::new(env!("CARGO"));
    let manifest = format!("{ROOT}/Cargo.toml");
    cargo.args(["run", "--quiet", "--manifest-path", &manifest, "--package", "xtask", "--"]);
    cargo
}

/// Runs a command of the page; returns all that it prints.
fn executed(folder: &Path, line: &str) -> String {
    let mut words = line.split_whitespace();
    let mut command = match words.next().expect("a command") {
        "bulkhead" => Command::new(env!("CARGO_BIN_EXE_bulkhead")),
        "cargo" => {
            assert_eq!(words.next(), Some("xtask"));
            xtask()
        }
        cross if cross.starts_with("aarch64-linux-gnu-") => Command::new(cross),
        other => panic!("a command `{other}`"),
    };
    command.args(words).current_dir(folder);

    let output = command.output().expect("it starts");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    let text = text.concat();
    assert!(output.status.success(), "{line}\n{text}");
    text
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Does what a page says, in a folder with these of the repository's files and folders.
fn go_through(page: &str, present: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("build")).expect("a folder");
    for path in present {
        let built = Path::new(ROOT).join(path).canonicalize().expect("it is built");
        symlink(built, folder.path().join(path)).expect("a link");
    }
    let mut printed = String::new();
    for block in page.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a language and lines");
        match language {
            "toml" | "rust" | "c" | "asm" => write(folder.path(), text),
            "sh" => printed = text.lines().map(|line| executed(folder.path(), line)).collect(),
            "text" => {
                // Names of VMs on the console are filled up with spaces.
                let printed = words(&printed).replace(" ]", "]");
                for line in text.lines() {
                    assert!(printed.contains(&words(line)), "`{line}` is not in:\n{printed}");
                }
            }
            // What a user types in a guest.
            "console" => {}
            other => panic!("a block of {other}"),
        }
        // The same versions of libraries as in the repository.
        let lock = folder.path().join("blink/Cargo.lock");
        if !lock.exists() && folder.path().join("blink").exists() {
            fs::copy(format!("{ROOT}/Cargo.lock"), lock).expect("a copy");
        }
    }
}

#[test]
fn a_guest_of_ones_own_is_built_and_runs() {
    let page = include_str!("../../../docs/how-to/write-a-real-time-guest.md");
    go_through(page, &["build/hypervisor.elf"]);
}

#[test]
fn an_rtos_of_ones_own_is_proved() {
    let page = include_str!("../../../docs/how-to/bring-your-own-rtos.md");
    go_through(page, &["build/hypervisor.elf"]);
}

#[test]
fn two_vms_talk() {
    let page = include_str!("../../../docs/how-to/let-two-vms-talk.md");
    go_through(page, &["systems", "build/hypervisor.elf", "build/guests", "build/linux"]);
}
