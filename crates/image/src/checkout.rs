//! The files that the `Makefile` of a checkout makes, so that help speaks of `make` only where that helps.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Files below `build`, and the target of `make` that makes each. Guests stand in [`GUESTS`].
const MADE: [(&str, &str); 8] = [
    ("build/hypervisor.elf", "build"),
    ("build/linux/vmlinuz", "build"),
    ("build/linux/initrd.cpio", "build"),
    ("build/linux/victims.cpio", "build"),
    ("build/linux/cyclictest.cpio", "build"),
    ("build/linux/measure.cpio", "measure-aarch64"),
    ("build/host-x86/vmlinuz", "host-x86"),
    ("build/host-x86/guest.cpio", "host-x86"),
];
/// The package of the bare-metal guests, which lists them.
const GUESTS: &str = "guests/programs/Cargo.toml";
/// Guests that are also built for Linux/KVM on x86-64.
pub const X86_GUESTS: [&str; 4] = ["rt-busy", "rt-cache", "rt-color", "rt-tasks"];

/// Returns the command that makes a file, `make build`, if the file belongs to a checkout of Bulkhead with such a
/// target. An installation has no `Makefile`.
pub fn command_for(file: &Path) -> Option<String> {
    let file = resolved(file)?;
    let root = root_above(&file)?;
    let name = file.strip_prefix(root).ok()?.to_str()?;
    let target = MADE.iter().find(|it| it.0 == name).map(|it| it.1);
    let made = target.map(|target| format!("make {target}"));
    made.or_else(|| guest_command(root, name).map(str::to_owned))
}

/// Returns advice about a file of a VM that is not there.
pub fn advice(file: &Path) -> String {
    match command_for(file) {
        Some(command) => format!("`{command}` makes it"),
        None => "paths are relative to the folder of the description or plan".into(),
    }
}

/// Returns the root of the checkout that a file or folder lies in.
pub fn root_above(path: &Path) -> Option<&Path> {
    path.ancestors().find(|it| is_root(it))
}

/// Returns true if a folder is the root of a checkout.
pub fn is_root(folder: &Path) -> bool {
    folder.join("Makefile").is_file() && folder.join(GUESTS).is_file()
}

/// Returns the command that makes a file, named from the root of a checkout, if it is one of the bare-metal guests.
fn guest_command(root: &Path, name: &str) -> Option<&'static str> {
    let guest = name.strip_prefix("build/guests/")?.strip_suffix(".bin")?;
    if let Some(guest) = guest.strip_prefix("x86-64/") {
        // `make build` passes over them where Rust cannot compile for them.
        return X86_GUESTS.contains(&guest).then_some("cargo xtask build guests-x86");
    }
    let listed = format!("[[bin]]\nname = \"{guest}\"\n");
    let is_listed = fs::read_to_string(root.join(GUESTS)).is_ok_and(|text| text.contains(&listed));
    is_listed.then_some("make build")
}

/// Returns the absolute path without `..`; neither the file nor its folder need exist.
fn resolved(file: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in std::path::absolute(file).ok()?.components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn command(name: &str) -> Option<String> {
        command_for(&Path::new(ROOT).join(name))
    }

    #[test]
    fn every_file_that_a_system_of_this_checkout_boots_is_made() {
        let mut found = 0;
        for system in fs::read_dir(format!("{ROOT}/systems")).expect("a folder").flatten() {
            let text = fs::read_to_string(system.path()).unwrap_or_default();
            let files = text.split("\"../").skip(1).filter_map(|it| it.split('"').next());
            for file in files.filter(|it| it.starts_with("build/") && !it.contains("measure")) {
                let made = command(&format!("systems/../{file}"));
                let command = match file.split('/').collect::<Vec<_>>()[..] {
                    ["build", "guests", "x86-64", _] => "cargo xtask build guests-x86",
                    ["build", "host-x86", _] => "make host-x86",
                    _ => "make build",
                };
                assert_eq!(made.as_deref(), Some(command), "{file}");
                found += 1;
            }
        }
        assert!(found > 20, "{found} files");
        let measure = command("build/linux/measure.cpio");
        assert_eq!(measure.as_deref(), Some("make measure-aarch64"));
    }

    #[test]
    fn other_files_are_not() {
        for name in ["build/guests/gust.bin", "build/guests/rt.bin", "rt-demo.bin", "build/x.elf"] {
            assert_eq!(command(name), None, "{name}");
        }
        // An installation.
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(command_for(&folder.path().join("build/guests/rt-demo.bin")), None);
    }
}
