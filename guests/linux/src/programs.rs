//! Programs of Debian, with everything that they need to run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::apt::Apt;
use crate::{debian, elf, file};

/// Programs that are downloaded together.
#[derive(Debug)]
pub struct Programs {
    /// Name of their folder in the cache.
    folder: &'static str,
    /// Approximate size of the download, in MB.
    megabytes: u32,
    /// The packages, and what is taken out of them besides shared libraries: a program, or
    /// a folder with all that is in it.
    wanted: &'static [(&'static str, &'static str)],
    /// The packages that have the libraries; none: all that the others depend on.
    libraries: &'static [&'static str],
}

/// Those that experiments measure.
pub const VICTIMS: Programs = Programs {
    folder: "victims",
    megabytes: 16,
    wanted: &[
        ("bzip2", "bin/bzip2"),
        ("gzip", "bin/gzip"),
        ("openssl", "usr/bin/openssl"),
        ("python3.11-minimal", "usr/bin/python3.11"),
        ("libpython3.11-minimal", "usr/lib/python3.11"),
        ("sqlite3", "usr/bin/sqlite3"),
        ("x265", "usr/bin/x265"),
        ("xz-utils", "usr/bin/xz"),
        ("zstd", "usr/bin/zstd"),
    ],
    libraries: &[],
};

/// cyclictest, which measures how late a task wakes up. Its package depends on Python for
/// another program.
pub const CYCLICTEST: Programs = Programs {
    folder: "cyclictest",
    megabytes: 3,
    wanted: &[("rt-tests", "usr/bin/cyclictest")],
    libraries: &["libc6", "libnuma1"],
};

/// The loader of dynamically linked programs; they all name it.
const LOADER: &str = "lib/ld-linux-aarch64.so.1";
/// The folders in which the loader looks for libraries.
const LIBRARY_FOLDERS: [&str; 2] = ["lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"];

/// A file: its path in the guest, permissions and content.
pub type File = (String, u32, Vec<u8>);

/// All files of programs, downloaded if the files are not in
/// `cache` yet. busybox has programs of the same names in `/bin`: these are in `/usr/bin`.
pub fn files(programs: &Programs, cache: &Path) -> Result<Vec<File>> {
    let folder = cache.join(programs.folder);
    // A list that has changed since the download asks for another.
    let wanted = format!("{:?}\n", programs.wanted);
    if fs::read_to_string(folder.join("wanted")).ok().as_ref() != Some(&wanted) {
        fetch(programs, cache, &folder)?;
        file::write_if_changed(&folder.join("wanted"), wanted.as_bytes())?;
    }
    let mut found = BTreeMap::new();
    read_folder(&folder.join("root"), "", &mut found)?;
    let permissions =
        |path: &str| if path == LOADER || path.starts_with("usr/bin/") { 0o755 } else { 0o644 };
    Ok(found
        .into_iter()
        .map(|(path, content)| (path.clone(), permissions(&path), content))
        .collect())
}

/// Unpacks the packages and keeps what is wanted of them.
fn fetch(programs: &Programs, cache: &Path, folder: &Path) -> Result<()> {
    eprintln!(
        "linux guest: downloading {} from Debian (about {} MB, once)",
        programs.folder, programs.megabytes
    );
    let apt = debian::GUEST.apt(&cache.join(format!("apt-{}", programs.folder)))?;
    let tree = tempfile::tempdir_in(cache).context("cannot make a folder for packages")?;
    for package in packages(programs, &apt)? {
        let status = Command::new("dpkg-deb").arg("-x").arg(&package).arg(tree.path()).status();
        let status = status.context("cannot start dpkg-deb")?;
        ensure!(status.success(), "{} cannot be unpacked", package.display());
    }
    let wanted = wanted_files(programs, tree.path())?;
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    for (path, content) in wanted {
        file::write_if_changed(&folder.join("root").join(path), &content)?;
    }
    apt.remove()
}

/// The packages, downloaded.
fn packages(programs: &Programs, apt: &Apt) -> Result<Vec<PathBuf>> {
    let mut names: Vec<&str> = programs.wanted.iter().map(|(package, _)| *package).collect();
    if programs.libraries.is_empty() {
        return apt.download_with_dependencies(&names);
    }
    names.extend(programs.libraries);
    names.into_iter().map(|name| apt.download(name)).collect()
}

/// The programs and, by the names that they are linked with, their libraries.
fn wanted_files(programs: &Programs, tree: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut libraries = Vec::new();
    for (_, path) in programs.wanted {
        if tree.join(path).is_dir() {
            read_folder(tree, path, &mut files)?;
            continue;
        }
        let content = file::read(&tree.join(path))?;
        libraries.extend(elf::needed_libraries(&content).context(*path)?);
        let name = path.rsplit('/').next().unwrap_or(path);
        files.insert(format!("usr/bin/{name}"), content);
    }
    files.insert(LOADER.into(), read_linked(tree, LOADER)?);
    while let Some(name) = libraries.pop() {
        if LOADER.ends_with(&name) {
            continue;
        }
        let folder = LIBRARY_FOLDERS.iter().find(|folder| tree.join(folder).join(&name).exists());
        let path = format!("{}/{name}", folder.with_context(|| format!("no package has {name}"))?);
        if files.contains_key(&path) {
            continue;
        }
        let content = read_linked(tree, &path)?;
        libraries.extend(elf::needed_libraries(&content).with_context(|| path.clone())?);
        files.insert(path, content);
    }
    Ok(files)
}

/// A file behind symbolic links, none of which may lead out of the packages.
fn read_linked(tree: &Path, path: &str) -> Result<Vec<u8>> {
    let target =
        tree.join(path).canonicalize().with_context(|| format!("no package has {path}"))?;
    ensure!(target.starts_with(tree.canonicalize()?), "{path} leads to {}", target.display());
    file::read(&target)
}

/// All files below `path` in `tree`; symbolic links are left out.
fn read_folder(tree: &Path, path: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let folder = tree.join(path);
    let entries = fs::read_dir(&folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a file name is not UTF-8")?;
        let below = if path.is_empty() { name } else { format!("{path}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_folder(tree, &below, files)?;
        } else if kind.is_file() {
            let content = file::read(&entry.path())?;
            files.insert(below, content);
        }
    }
    Ok(())
}
