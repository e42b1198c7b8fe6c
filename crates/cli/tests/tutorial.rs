//! The tutorial, word by word: its files are written, its commands executed, and what it
//! shows has to be in what they print.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/tutorial.md");

/// A block of the page, with its language.
struct Block {
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let odd = PAGE.split("```").skip(1).step_by(2);
    odd.map(|block| {
        let (language, text) = block.split_once('\n').expect("a language and lines");
        Block { language: language.to_owned(), text: text.to_owned() }
    })
    .collect()
}

/// Runs a command, which may say `# status N`; returns all that it prints.
fn executed(folder: &Path, command: &str) -> String {
    let status = command.split_once("# status ").map_or(0, |(_, n)| n.trim().parse().unwrap());
    let program = Path::new(env!("CARGO_BIN_EXE_bulkhead")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").expect("a path"));
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .expect("a shell");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
    let text = text.concat();
    assert_eq!(output.status.code(), Some(status), "{command}\n{text}");
    text
}

/// Without what changes with the width of columns.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_tutorial_works() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folder = tempfile::tempdir().expect("a folder");
    // The page makes this folder.
    let work = folder.path().join("build/first");
    fs::create_dir_all(&work).expect("a folder");
    for name in ["build/guests", "build/linux", "build/hypervisor.elf", "cachescope"] {
        let original = root.join(name).canonicalize().expect("built");
        symlink(original, folder.path().join(name)).expect("a link");
    }
    let file = work.join("first.toml");
    let mut printed = String::new();
    for block in blocks() {
        match block.language.as_str() {
            // What builds was built before.
            "console" => {}
            "toml" => {
                let before = fs::read_to_string(&file).expect("the tutorial has made it");
                fs::write(&file, format!("{before}{}\n", block.text)).expect("it can be written");
            }
            "sh" => {
                printed = block.text.lines().map(|line| executed(&work, line)).collect();
            }
            "text" => {
                let printed = words(&printed);
                for line in block.text.lines() {
                    assert!(printed.contains(&words(line)), "`{line}` is not in:\n{printed}");
                }
            }
            other => panic!("a block of {other}"),
        }
    }
    // Nothing of it is in the folder of the repository.
    let names = fs::read_dir(folder.path()).expect("a folder").flatten().map(|it| it.file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["build", "cachescope"]);
}
