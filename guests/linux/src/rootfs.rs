//! What the guest's root file system holds. The scripts lie in `rootfs/`.

use crate::initramfs::{Entry, Kind};
use crate::tools::Tools;

/// Scripts and settings: path in the guest, permissions, content.
const FILES: &[(&str, u32, &str)] = &[
    ("init", 0o755, include_str!("../rootfs/init")),
    ("etc/inittab", 0o644, include_str!("../rootfs/etc/inittab")),
    ("etc/measure.sh", 0o644, include_str!("../rootfs/etc/measure.sh")),
    ("etc/profile", 0o644, include_str!("../rootfs/etc/profile")),
    ("jobs/cache", 0o755, include_str!("../rootfs/jobs/cache")),
    ("jobs/coloring", 0o755, include_str!("../rootfs/jobs/coloring")),
    ("jobs/demo", 0o755, include_str!("../rootfs/jobs/demo")),
    ("jobs/latency", 0o755, include_str!("../rootfs/jobs/latency")),
    ("jobs/reboot", 0o755, include_str!("../rootfs/jobs/reboot")),
    ("jobs/rtc", 0o755, include_str!("../rootfs/jobs/rtc")),
    ("jobs/shell", 0o755, include_str!("../rootfs/jobs/shell")),
    ("jobs/smp", 0o755, include_str!("../rootfs/jobs/smp")),
    ("jobs/victim", 0o755, include_str!("../rootfs/jobs/victim")),
];

/// Mount points and the folders of the files above.
const DIRECTORIES: &[&str] = &["bin", "dev", "etc", "jobs", "proc", "sys", "tmp"];

/// The root file system with this busybox and these tools. The kernel opens `/dev/console` for
/// `/init` before anything can mount devtmpfs, so the node must be there.
pub fn entries(busybox: Vec<u8>, tools: &Tools) -> Vec<Entry> {
    let device = |path: &str, permissions, major, minor| Entry {
        path: path.into(),
        kind: Kind::CharacterDevice { permissions, major, minor },
    };
    let file = |path: &str, permissions, content| Entry {
        path: path.into(),
        kind: Kind::File { permissions, content },
    };
    let link =
        |path: &str, target: &str| Entry { path: path.into(), kind: Kind::Symlink(target.into()) };

    let mut entries: Vec<Entry> = DIRECTORIES
        .iter()
        .map(|&path| Entry { path: path.into(), kind: Kind::Directory })
        .collect();
    entries.push(device("dev/console", 0o600, 5, 1));
    entries.push(device("dev/null", 0o666, 1, 3));
    entries.push(file("bin/busybox", 0o755, busybox));
    entries.push(file("bin/bhctl", 0o755, tools.bhctl.clone()));
    entries.push(link("bin/sh", "busybox"));
    // Under these names bhctl is the task of that name.
    entries.push(link("bin/latency", "bhctl"));
    entries.push(link("bin/busyloop", "bhctl"));
    for &(path, permissions, content) in FILES {
        entries.push(file(path, permissions, content.into()));
    }
    entries
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_entry_has_its_folder_before_it() {
        let mut folders = HashSet::from([""]);
        let tools = Tools { bhctl: Vec::new(), preload: Vec::new() };
        let entries = entries(Vec::new(), &tools);
        for entry in &entries {
            let folder = entry.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            assert!(folders.contains(folder), "{} has no folder", entry.path);
            if matches!(entry.kind, Kind::Directory) {
                folders.insert(&entry.path);
            }
        }
    }

    #[test]
    fn every_script_on_disk_is_in_the_guest() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/rootfs");
        for folder in ["", "etc", "jobs"] {
            for file in std::fs::read_dir(format!("{root}/{folder}")).unwrap() {
                let path = file.unwrap().path();
                if path.is_file() {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                    assert!(FILES.iter().any(|file| file.0 == name), "{name} is left out");
                }
            }
        }
    }
}
