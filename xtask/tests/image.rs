//! The script that makes a container image says what it lacks before it makes anything.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

/// A process that another test starts while a program is written here has the program open for writing for a moment, and
/// Linux does not execute such a program.
static ALONE: Mutex<()> = Mutex::new(());

/// What the script says, and its exit status, if these programs are all that there are and `build/release` is empty.
fn image(programs: &[&str]) -> (String, Option<i32>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let [scripts, bin] = ["scripts", "bin"].map(|it| folder.path().join(it));
    for it in [&scripts, &bin] {
        fs::create_dir(it).expect("a folder");
    }
    let script = scripts.join("image");
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/image");
    fs::copy(original, &script).expect("a copy");
    let path = env::var_os("PATH").expect("PATH");
    for program in ["sh", "dirname"] {
        let found = env::split_paths(&path).map(|it| it.join(program)).find(|it| it.exists());
        symlink(found.expect(program), bin.join(program)).expect("a link");
    }
    let root = "#!/bin/sh\necho 0\n";
    for (program, text) in
        programs.iter().map(|it| (*it, "#!/bin/sh\nexit 9\n")).chain([("id", root)])
    {
        write_program(&bin.join(program), text);
    }
    let output = Command::new(&script).env("PATH", &bin).output().expect("the script starts");
    assert!(!folder.path().join("build").exists(), "nothing is written");
    (String::from_utf8(output.stderr).expect("text"), output.status.code())
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).expect("a program");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("it can be executed");
}

#[test]
fn missing_programs_are_named_with_the_package() {
    let (said, status) = image(&[]);
    assert_eq!(
        said,
        "image: missing: debootstrap buildah; on Debian: apt-get install debootstrap buildah\n"
    );
    assert_eq!(status, Some(2));
    let (said, status) = image(&["debootstrap"]);
    assert_eq!(said, "image: missing: buildah; on Debian: apt-get install buildah\n");
    assert_eq!(status, Some(2));
}

#[test]
fn an_image_without_a_release_is_refused() {
    let (said, status) = image(&["debootstrap", "buildah"]);
    assert_eq!(said, "image: build/release has no packages: run `make release` first\n");
    assert_eq!(status, Some(2));
}
