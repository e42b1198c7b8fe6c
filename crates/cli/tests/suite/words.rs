//! Words of the documentation in code: functions that return a boolean say of which condition it is true or false.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Folders with sources; tests and test guests are left out.
const FOLDERS: [&str; 5] =
    ["crates", "hypervisor/src", "guests/rt/src", "xtask/src", "guests/linux/src"];

/// Returns the sources in a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).expect("a folder").flatten().map(|it| it.path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "benches", "examples"].contains(&&*name) {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
    found
}

/// Returns the lines, from 1, of functions that return a boolean and whose documentation does not say when.
fn silent(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let tests = lines.iter().position(|line| line.starts_with("mod tests {"));
    let is_function = |line: &str| {
        let words: Vec<_> = line.split_whitespace().take(6).collect();
        !line.starts_with("//") && words.contains(&"fn") && line.contains("fn ")
    };
    let mut found = Vec::new();
    for (at, _) in lines
        .iter()
        .enumerate()
        .take(tests.unwrap_or(lines.len()))
        .filter(|(_, line)| is_function(line))
    {
        let ends = |line: &&&str| !line.ends_with(['{', ';', '}']);
        let count = lines[at..].iter().take_while(ends).count();
        let whole = lines[at..].iter().take(count + 1).copied().collect::<Vec<_>>().join(" ");
        let head = whole.split('{').next().unwrap_or_default();
        let head = head.split(" where ").next().unwrap_or_default().trim_end_matches([';', ' ']);
        let before = lines[..at].iter().rev();
        let above = before.take_while(|line| line.starts_with("///") || line.starts_with("#["));
        let doc: Vec<&str> =
            above.filter_map(|line| line.strip_prefix("///")).map(str::trim).collect();
        let doc = doc.into_iter().rev().collect::<Vec<_>>().join(" ");
        let says = ["true if", "false if", "eturns true", "eturns false"];
        if head.ends_with(") -> bool") && !doc.is_empty() && !says.iter().any(|it| doc.contains(it))
        {
            found.push(at + 1);
        }
    }
    found
}

#[test]
fn functions_that_return_a_boolean_say_when_it_is_true() {
    let mut wrong = Vec::new();
    for path in FOLDERS.iter().flat_map(|folder| sources(&Path::new(ROOT).join(folder))) {
        let text = fs::read_to_string(&path).expect("a text");
        let file = path.strip_prefix(ROOT).expect("below the root").display();
        wrong.extend(silent(&text).into_iter().map(|line| format!("{file}:{line}")));
    }
    assert!(wrong.is_empty(), "write `Returns true if ...`:\n{}", wrong.join("\n"));
}

#[test]
fn a_silent_function_is_found() {
    let text = "/// Whether it is on.\npub fn is_on(self) -> bool {\n}\n\
                /// Returns true if it is\n/// off.\n#[inline]\nfn is_off(\n    self,\n) -> bool {\n}\n\
                /// Waits.\nfn wait(until: impl Fn() -> bool) {}\nfn without() -> bool {}\n\
                /// Tries.\nfn tries(&self) -> bool;\n#[cfg(test)]\nmod tests {\n    /// Whether.\n    fn f() -> bool {}\n";
    assert_eq!(silent(text), [2, 15]);
}
