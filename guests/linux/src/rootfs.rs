//! The contents of the guest's root file system. The scripts lie in `rootfs/`.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::debian::Files;
use crate::initramfs::{Entry, Kind};
use crate::programs::File;
use crate::tools::Tools;

/// Scripts and settings: path in the guest, permissions, content.
const FILES: &[(&str, u32, &str)] = &[
    ("init", 0o755, include_str!("../rootfs/init")),
    ("etc/inittab", 0o644, include_str!("../rootfs/etc/inittab")),
    ("etc/measure.sh", 0o644, include_str!("../rootfs/etc/measure.sh")),
    ("etc/profile", 0o644, include_str!("../rootfs/etc/profile")),
    ("jobs/bulkhead", 0o755, include_str!("../rootfs/jobs/bulkhead")),
    ("jobs/cache", 0o755, include_str!("../rootfs/jobs/cache")),
    ("jobs/cards", 0o755, include_str!("../rootfs/jobs/cards")),
    ("jobs/channel", 0o755, include_str!("../rootfs/jobs/channel")),
    ("jobs/coloring", 0o755, include_str!("../rootfs/jobs/coloring")),
    ("jobs/cyclictest", 0o755, include_str!("../rootfs/jobs/cyclictest")),
    ("jobs/demo", 0o755, include_str!("../rootfs/jobs/demo")),
    ("jobs/network", 0o755, include_str!("../rootfs/jobs/network")),
    ("jobs/latency", 0o755, include_str!("../rootfs/jobs/latency")),
    ("jobs/measure", 0o755, include_str!("../rootfs/jobs/measure")),
    ("jobs/reboot", 0o755, include_str!("../rootfs/jobs/reboot")),
    ("jobs/rtc", 0o755, include_str!("../rootfs/jobs/rtc")),
    ("jobs/shell", 0o755, include_str!("../rootfs/jobs/shell")),
    ("jobs/smp", 0o755, include_str!("../rootfs/jobs/smp")),
    ("jobs/victim", 0o755, include_str!("../rootfs/jobs/victim")),
    ("jobs/workload", 0o755, include_str!("../rootfs/jobs/workload")),
];

/// Scripts that say how each program is measured; only where the programs are.
const VICTIMS: &[(&str, u32, &str)] = &[
    ("victims/bzip2", 0o644, include_str!("../rootfs/victims/bzip2")),
    ("victims/gzip", 0o644, include_str!("../rootfs/victims/gzip")),
    ("victims/openssl", 0o644, include_str!("../rootfs/victims/openssl")),
    ("victims/python3", 0o644, include_str!("../rootfs/victims/python3")),
    ("victims/sqlite3", 0o644, include_str!("../rootfs/victims/sqlite3")),
    ("victims/x265", 0o644, include_str!("../rootfs/victims/x265")),
    ("victims/xz", 0o644, include_str!("../rootfs/victims/xz")),
    ("victims/zstd", 0o644, include_str!("../rootfs/victims/zstd")),
    ("lib/bulkhead/generate.py", 0o755, include_str!("../rootfs/lib/bulkhead/generate.py")),
    ("lib/bulkhead/seed.py", 0o755, include_str!("../rootfs/lib/bulkhead/seed.py")),
    ("lib/bulkhead/sums.py", 0o755, include_str!("../rootfs/lib/bulkhead/sums.py")),
];

/// Mount points and the folders of the files above.
const DIRECTORIES: &[&str] = &["bin", "dev", "etc", "jobs", "modules", "proc", "sys", "tmp"];

/// The files that come out of Debian's packages.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// Busybox, statically linked.
    pub busybox: Vec<u8>,
    /// Modules of the kernel, in the order in which they are loaded.
    pub modules: Vec<Vec<u8>>,
}

impl Base {
    /// Reads them.
    pub fn read(files: &Files) -> Result<Self> {
        let modules = files.modules.iter().map(|path| crate::file::read(path));
        Ok(Self {
            busybox: crate::file::read(&files.busybox)?,
            modules: modules.collect::<Result<_>>()?,
        })
    }
}

/// The root file system with these files and tools. The kernel opens `/dev/console` for
/// `/init` before anything can mount devtmpfs, so the node must be there.
pub fn entries(base: Base, tools: &Tools) -> Vec<Entry> {
    let mut entries: Vec<Entry> = DIRECTORIES.iter().map(|path| directory(path)).collect();
    entries.push(device("dev/console", 0o600, 5, 1));
    entries.push(device("dev/null", 0o666, 1, 3));
    entries.push(file("bin/busybox", 0o755, base.busybox));
    for (number, module) in base.modules.into_iter().enumerate() {
        entries.push(file(&format!("modules/{number}.ko"), 0o644, module));
    }
    entries.push(file("bin/bhctl", 0o755, tools.bhctl.clone()));
    entries.push(link("bin/sh", "busybox"));
    // Under these names bhctl is the task of that name.
    entries.push(link("bin/latency", "bhctl"));
    entries.push(link("bin/busyloop", "bhctl"));
    entries.extend(FILES.iter().map(|&(path, mode, content)| file(path, mode, content.into())));
    entries
}

/// The same with the programs that experiments measure, and how they are measured.
pub fn with_victims(base: Base, tools: &Tools, programs: Vec<File>) -> Vec<Entry> {
    let mut files = programs;
    files.extend(VICTIMS.iter().map(|&(path, mode, text)| (path.into(), mode, text.into())));
    files.push(("lib/libbulkhead-color.so".into(), 0o755, tools.preload.clone()));
    with_programs(base, tools, files)
}

/// The same with programs of Debian.
pub fn with_programs(base: Base, tools: &Tools, files: Vec<File>) -> Vec<Entry> {
    let mut entries = entries(base, tools);
    // A folder sorts before what is in it.
    let folders: BTreeSet<&str> = files
        .iter()
        .flat_map(|(path, ..)| path.match_indices('/').map(|(end, _)| &path[..end]))
        .filter(|folder| !DIRECTORIES.contains(folder))
        .collect();
    entries.extend(folders.into_iter().map(directory));
    entries.extend(files.into_iter().map(|(path, mode, content)| file(&path, mode, content)));
    entries
}

fn directory(path: &str) -> Entry {
    Entry { path: path.into(), kind: Kind::Directory }
}

fn device(path: &str, permissions: u32, major: u32, minor: u32) -> Entry {
    Entry { path: path.into(), kind: Kind::CharacterDevice { permissions, major, minor } }
}

fn file(path: &str, permissions: u32, content: Vec<u8>) -> Entry {
    Entry { path: path.into(), kind: Kind::File { permissions, content } }
}

fn link(path: &str, target: &str) -> Entry {
    Entry { path: path.into(), kind: Kind::Symlink(target.into()) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_entry_has_its_folder_before_it() {
        let mut folders = HashSet::from([""]);
        let tools = Tools { bhctl: Vec::new(), preload: Vec::new() };
        let programs = vec![("usr/lib/python/re/__init__.py".into(), 0o644, Vec::new())];
        let entries = with_victims(Base::default(), &tools, programs);
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
        for folder in ["", "etc", "jobs", "lib/bulkhead", "victims"] {
            for file in std::fs::read_dir(format!("{root}/{folder}")).unwrap() {
                let path = file.unwrap().path();
                if path.is_file() {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                    let known = FILES.iter().chain(VICTIMS).any(|file| file.0 == name);
                    assert!(known, "{name} is left out");
                }
            }
        }
    }
}
