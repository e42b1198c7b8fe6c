//! Which Rust builds this: the pinned one, or the usual one where the pinned one cannot be installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Works once a toolchain is chosen for the folder, and is too old for the rest of the script.
const RUSTC: &str = "#!/bin/sh\n[ -e \"$FOLDER/chosen\" ] && echo 'rustc 1.50.0 (2021)'\n";

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `scripts/setup` in a folder with a `rustup` and a `rustc` made up.
fn setup(rustup: &str) -> (TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    for file in ["scripts/setup", "rust-toolchain.toml", "Cargo.toml"] {
        let to = folder.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(project().join(file), to).unwrap();
    }
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    for (name, script) in [("rustup", rustup), ("rustc", RUSTC), ("cargo", RUSTC)] {
        fs::write(programs.join(name), script).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new(folder.path().join("scripts/setup"))
        .env("PATH", path)
        .env("FOLDER", folder.path())
        .output()
        .unwrap();
    (folder, output)
}

/// The value of a key in a file of the project.
fn value(file: &str, key: &str) -> String {
    let text = fs::read_to_string(project().join(file)).unwrap();
    let start = format!("{key} = \"");
    let line = text.lines().find_map(|line| line.strip_prefix(&start));
    line.unwrap_or_else(|| panic!("{file} has no {key}")).trim_end_matches('"').to_owned()
}

#[test]
fn setup_installs_the_pinned_toolchain() {
    let (folder, output) =
        setup("#!/bin/sh\necho \"$*\" >>\"$FOLDER/log\"\n: >\"$FOLDER/chosen\"\n");
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let pinned = value("rust-toolchain.toml", "channel");
    assert!(log.starts_with(&format!("toolchain install {pinned} ")), "{log}");
    assert!(!log.contains("override"), "{log}");
    assert_eq!(output.status.code(), Some(2), "its version is checked all the same");
}

#[test]
fn setup_uses_the_default_toolchain_where_the_pinned_one_cannot_be_installed() {
    let rustup = r#"#!/bin/sh
case $1 in
default) echo 'stable-here (default)' ;;
override) echo "$*" >"$FOLDER/chosen" ;;
*) exit 1 ;;
esac
"#;
    let (folder, output) = setup(rustup);
    let chosen = fs::read_to_string(folder.path().join("chosen")).unwrap();
    assert_eq!(chosen, "override set stable-here\n");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("found 1.50"), "{errors}");
}

#[test]
fn all_workspaces_build_with_the_same_oldest_compiler() {
    let oldest = value("Cargo.toml", "rust-version");
    for workspace in ["cachescope", "python"] {
        assert_eq!(value(&format!("{workspace}/Cargo.toml"), "rust-version"), oldest);
    }
    let minor = |version: &str| version.split('.').nth(1).unwrap().parse::<u32>().unwrap();
    assert!(minor(&value("rust-toolchain.toml", "channel")) >= minor(&oldest));
}
