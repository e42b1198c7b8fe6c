//! A package for Debian with the files of the main archive. The command finds the hypervisor and the guests beside itself,
//! so that they stay together in a folder of `/usr/lib`; documents, man pages and completions lie where systems have them.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::archive::{Files, Source, write_files};
use super::{VERSION, read};
use crate::cargo;
use crate::toolchain;

/// The folder of the program and what it needs.
const LIB: &str = "usr/lib/bulkhead";
/// The folder of documents.
const DOC: &str = "usr/share/doc/bulkhead";
/// How the names of documents begin.
const DOCUMENTS: [&str; 8] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE-",
    "README.md",
    "SECURITY.md",
    "docs/",
    "licences/",
    "sbom.cdx.json",
];
/// Copyright, for the machine and for people.
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Bulkhead

Files: *
Copyright: the Bulkhead contributors
License: MIT or Apache-2.0
 The texts are in LICENSE-MIT and LICENSE-APACHE in this folder. The licences of
 the packages that the programs contain are in licences; sbom.cdx.json lists them.
";

/// Writes the package; its files are those of the main archive, changed at this time, in seconds since 1970. Returns its
/// path.
pub fn write(files: &Files, folder: &Path, time: &str) -> Result<PathBuf> {
    let architecture = architecture(&toolchain::host()?)?;
    let stage = tempfile::tempdir_in(folder)
        .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
    let root = stage.path().join("root");
    write_files(&placed(files), &root)?;
    let made = |what: &str| format!("cannot make {what} in {}", stage.path().display());
    fs::create_dir_all(root.join("usr/bin")).with_context(|| made("a folder"))?;
    symlink("../lib/bulkhead/bulkhead", root.join("usr/bin/bulkhead"))
        .with_context(|| made("a link"))?;
    compress_man_pages(&root)?;
    let control = control(files, architecture, &root)?;
    let control = [
        ("DEBIAN/control".to_owned(), Source::Bytes(control.into_bytes())),
        ("DEBIAN/md5sums".to_owned(), Source::Bytes(digests(&root)?)),
    ];
    write_files(&Files::from(control), &root)?;
    for path in below(&root)?.iter().chain([&root]).filter(|it| it.is_dir() && !it.is_symlink()) {
        fs::set_permissions(path, Permissions::from_mode(0o755))
            .with_context(|| made("a folder"))?;
    }
    let unfinished = stage.path().join("package.deb");
    let mut dpkg = Command::new("dpkg-deb");
    // Several threads divide what they compress.
    dpkg.env("SOURCE_DATE_EPOCH", time)
        .env("LC_ALL", "C")
        .args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"])
        .args([&root, &unfinished]);
    cargo::run(dpkg)?;
    let path = folder.join(format!("bulkhead_{VERSION}_{architecture}.deb"));
    fs::rename(&unfinished, &path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Returns the files by their paths in a system.
fn placed(files: &Files) -> Files {
    let place = |path: &str| match () {
        () if path.starts_with("share/") => format!("usr/{path}"),
        () if DOCUMENTS.iter().any(|it| path.starts_with(it)) => format!("{DOC}/{path}"),
        () => format!("{LIB}/{path}"),
    };
    let copyright = Source::Bytes(COPYRIGHT.as_bytes().into());
    let files = files.iter().map(|(path, source)| (place(path), source.clone()));
    files.chain([(format!("{DOC}/copyright"), copyright)]).collect()
}

fn architecture(host: &str) -> Result<&'static str> {
    match host.split('-').next() {
        Some("x86_64") => Ok("amd64"),
        Some("aarch64") => Ok("arm64"),
        _ => anyhow::bail!("there is no package for {host}: build on x86-64 or AArch64"),
    }
}

/// Man pages are compressed in Debian, without the time of that.
fn compress_man_pages(root: &Path) -> Result<()> {
    let pages = below(&root.join("usr/share"))?;
    let pages = pages.iter().filter(|it| it.extension().is_some_and(|it| it == "1"));
    let mut gzip = Command::new("gzip");
    let pages: Vec<_> = pages.collect();
    if pages.is_empty() {
        return Ok(());
    }
    gzip.args(["--no-name", "--best"]).args(pages);
    cargo::run(gzip)
}

fn control(files: &Files, architecture: &str, root: &Path) -> Result<String> {
    let mut bytes = 0;
    for path in below(root)?.iter().filter(|it| !it.is_symlink()) {
        bytes +=
            fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    }
    let programs = files.values().filter_map(|it| match it {
        Source::Program(path) => Some(path),
        _ => None,
    });
    let mut needed = (0, 0);
    for program in programs {
        needed = needed.max(libc(&read(program)?));
    }
    let (major, minor) = needed;
    let size = bytes.div_ceil(1024);
    Ok(format!(
        "\
Package: bulkhead
Version: {VERSION}
Architecture: {architecture}
Maintainer: The Bulkhead maintainers <maintainers@bulkhead.invalid>
Installed-Size: {size}
Depends: libc6 (>= {major}.{minor}), libgcc-s1
Recommends: qemu-system-arm
Section: devel
Priority: optional
Description: several real-time systems on one multicore chip, with checked deadlines
 Bulkhead plans, checks, simulates and runs several real-time systems on one
 multicore Arm chip, and bounds how much they can delay each other. This package
 has the command bulkhead, the hypervisor, and bare-metal guests. Runs need
 QEMU 10 or newer.
"
    ))
}

/// Returns the newest version of the GNU C library whose symbols a program names.
fn libc(program: &[u8]) -> (u32, u32) {
    const NAME: &[u8] = b"GLIBC_";
    let versions = program.windows(NAME.len()).enumerate().filter(|(_, it)| *it == NAME);
    let versions = versions.filter_map(|(at, _)| {
        let rest = &program[at + NAME.len()..];
        let length = rest.iter().position(|it| !it.is_ascii_digit() && *it != b'.')?;
        let (major, minor) = std::str::from_utf8(&rest[..length]).ok()?.split_once('.')?;
        let minor = minor.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max().unwrap_or((2, 34))
}

/// Returns the digests that `dpkg --verify` compares.
fn digests(root: &Path) -> Result<Vec<u8>> {
    let files = below(root)?;
    let files = files.iter().filter(|it| it.is_file() && !it.is_symlink());
    let mut md5 = Command::new("md5sum");
    md5.current_dir(root).args(files.filter_map(|it| it.strip_prefix(root).ok()));
    let output = md5.output().context("cannot start md5sum")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "md5sum failed: {errors}");
    Ok(output.stdout)
}

/// Returns all paths below a folder, in order; none if it is not there.
fn below(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop().filter(|it| it.is_dir()) {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path.clone());
            }
            paths.insert(path);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The package of a few files, made in a folder of its own.
    fn package() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "#!/bin/sh\n# GLIBC_2.9 GLIBC_2.38 GLIBC_PRIVATE \necho \"$0\"\n")
            .unwrap();
        let text = |text: &str| Source::Bytes(text.as_bytes().into());
        let files = [
            ("bulkhead".to_owned(), Source::Program(program)),
            ("build/hypervisor.elf".to_owned(), text("elf")),
            ("docs/tutorial.md".to_owned(), text("learn")),
            ("LICENSE-MIT".to_owned(), text("may")),
            ("share/man/man1/bulkhead.1".to_owned(), text(".TH bulkhead 1")),
            ("share/zsh/site-functions/_bulkhead".to_owned(), text("#compdef bulkhead")),
        ];
        let path = write(&Files::from(files), folder.path(), "1600000000").unwrap();
        (folder, path)
    }

    fn says(program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).env("TZ", "UTC").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn files_lie_where_debian_has_them() {
        let (folder, path) = package();
        let path = path.to_str().unwrap();
        let shown = says("dpkg-deb", &["--contents", path]);
        let lines: Vec<String> = shown
            .lines()
            .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|it| !it.ends_with('/'))
            .collect();
        let root = "root/root";
        let time = "2020-09-13 12:26";
        let file = |mode: &str, rest: &str| {
            lines.iter().any(|it| {
                it.starts_with(&format!("{mode} {root}")) && it.ends_with(&format!("{time} {rest}"))
            })
        };
        for (mode, rest) in [
            ("lrwxrwxrwx", "./usr/bin/bulkhead -> ../lib/bulkhead/bulkhead"),
            ("-rwxr-xr-x", "./usr/lib/bulkhead/bulkhead"),
            ("-rw-r--r--", "./usr/lib/bulkhead/build/hypervisor.elf"),
            ("-rw-r--r--", "./usr/share/doc/bulkhead/LICENSE-MIT"),
            ("-rw-r--r--", "./usr/share/doc/bulkhead/copyright"),
            ("-rw-r--r--", "./usr/share/doc/bulkhead/docs/tutorial.md"),
            ("-rw-r--r--", "./usr/share/man/man1/bulkhead.1.gz"),
            ("-rw-r--r--", "./usr/share/zsh/site-functions/_bulkhead"),
        ] {
            assert!(file(mode, rest), "{mode} {rest}\n{shown}");
        }
        assert_eq!(lines.len(), 8, "{shown}");
        let field = |name| says("dpkg-deb", &["--field", path, name]);
        assert_eq!(field("Depends").trim(), "libc6 (>= 2.38), libgcc-s1");
        assert_eq!(field("Version").trim(), VERSION);
        // What is unpacked, with another name for the root, runs, and is what the digests say.
        let root = folder.path().join("unpacked");
        says("dpkg-deb", &["--extract", path, root.to_str().unwrap()]);
        let program = root.join("usr/bin/bulkhead");
        assert!(says(program.to_str().unwrap(), &[]).contains("bulkhead"));
        says("dpkg-deb", &["--control", path, folder.path().join("control").to_str().unwrap()]);
        let sums = folder.path().join("control/md5sums");
        let check = format!("cd {} && md5sum --check --strict {}", root.display(), sums.display());
        assert_eq!(says("sh", &["-c", &check]).lines().count(), 7);
    }

    #[test]
    fn the_same_files_are_the_same_bytes_in_any_folder_at_any_time() {
        let (_first, first) = package();
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let (_second, second) = package();
        assert!(first != second && fs::read(first).unwrap() == fs::read(second).unwrap());
    }
}
