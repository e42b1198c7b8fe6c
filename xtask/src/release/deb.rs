//! Packages for Debian with the files of the archives. The command finds the hypervisor, the guests and the plugin beside
//! itself, so that they stay together in a folder of `/usr/lib`; documents, man pages and completions lie where systems have
//! them, and so do the sources of the plugin.

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
/// The beginnings of the names of documents.
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

/// The differences between the packages.
pub struct Package {
    name: &'static str,
    /// Copyright, for the machine and for people.
    copyright: &'static str,
    /// Packages that it cannot do without, beside libraries.
    depends: &'static str,
    /// Other fields of the control file, whole lines: the description too.
    fields: &'static str,
    /// The path of a file in a system.
    place: fn(&str) -> String,
}

/// The command with all that is beside it.
pub const MAIN: Package = Package {
    name: "bulkhead",
    copyright: "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Bulkhead

Files: *
Copyright: the Bulkhead contributors
License: MIT or Apache-2.0
 The texts are in LICENSE-MIT and LICENSE-APACHE in this folder. The licences of
 the packages that the programs contain are in licences; sbom.cdx.json lists them.
",
    depends: "",
    fields: "\
Recommends: bulkhead-cachescope, qemu-system-arm (>= 1:10.0)
Suggests: device-tree-compiler
Section: devel
Priority: optional
Description: several real-time systems on one multicore chip, with checked deadlines
 Bulkhead plans, checks, simulates and runs several real-time systems on one
 multicore Arm chip, and bounds how much they can delay each other. This package
 has the command bulkhead, the hypervisor, and bare-metal guests. Runs need
 QEMU 10 or newer; proofs need bulkhead-cachescope, too.
",
    place: |path| match () {
        () if path.starts_with("share/") => format!("usr/{path}"),
        () if path.starts_with("packaging/") => format!("usr/share/bulkhead/{path}"),
        () if DOCUMENTS.iter().any(|it| path.starts_with(it)) => {
            format!("usr/share/doc/bulkhead/{path}")
        }
        () => format!("{LIB}/{path}"),
    },
};

/// The plugin with its sources.
pub const CACHESCOPE: Package = Package {
    name: "bulkhead-cachescope",
    copyright: "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Bulkhead

Files: *
Copyright: the Bulkhead contributors
License: GPL-2.0-or-later
 The text is in /usr/share/common-licenses/GPL-2. The licences of the packages
 that the plugin contains are in licences; sbom.cdx.json lists them. The sources
 of the plugin are in /usr/src/bulkhead-cachescope.
",
    depends: ", bulkhead",
    fields: "\
Section: devel
Priority: optional
Description: caches and memory bus as a plugin of QEMU, for proofs of Bulkhead
 The plugin models caches and a memory bus in QEMU: who uses them, who evicts
 whom, and how long that takes. bulkhead prove needs it.
",
    place: |path| {
        let inner = path.strip_prefix("cachescope/").unwrap_or(path);
        match () {
            () if inner.starts_with("target/") => format!("{LIB}/{path}"),
            () if inner.starts_with("licences/") || inner == "sbom.cdx.json" => {
                format!("usr/share/doc/bulkhead-cachescope/{inner}")
            }
            () => format!("usr/src/bulkhead-cachescope/{inner}"),
        }
    },
};

impl Package {
    /// Writes the package; its files are those of an archive, changed at this time, in seconds since 1970. Returns its path.
    pub fn write(&self, files: &Files, folder: &Path, time: &str) -> Result<PathBuf> {
        let architecture = architecture(&toolchain::host()?)?;
        let stage = tempfile::tempdir_in(folder)
            .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
        let root = stage.path().join("root");
        write_files(&self.placed(files), &root)?;
        let made = |what: &str| format!("cannot make {what} in {}", stage.path().display());
        if root.join(LIB).join("bulkhead").is_file() {
            fs::create_dir_all(root.join("usr/bin")).with_context(|| made("a folder"))?;
            symlink("../lib/bulkhead/bulkhead", root.join("usr/bin/bulkhead"))
                .with_context(|| made("a link"))?;
        }
        compress_man_pages(&root)?;
        let control = self.control(files, architecture, &root)?;
        let control = [
            ("DEBIAN/control".to_owned(), Source::Bytes(control.into_bytes())),
            ("DEBIAN/md5sums".to_owned(), Source::Bytes(digests(&root)?)),
        ];
        write_files(&Files::from(control), &root)?;
        for path in below(&root)?.iter().chain([&root]).filter(|it| it.is_dir() && !it.is_symlink())
        {
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
        let path = folder.join(format!("{}_{VERSION}_{architecture}.deb", self.name));
        fs::rename(&unfinished, &path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Returns the files by their paths in a system.
    fn placed(&self, files: &Files) -> Files {
        let copyright = Source::Bytes(self.copyright.as_bytes().into());
        let files = files.iter().map(|(path, source)| ((self.place)(path), source.clone()));
        files.chain([(format!("usr/share/doc/{}/copyright", self.name), copyright)]).collect()
    }

    fn control(&self, files: &Files, architecture: &str, root: &Path) -> Result<String> {
        let mut bytes = 0;
        for path in below(root)?.iter().filter(|it| !it.is_symlink()) {
            bytes += fs::metadata(path)
                .with_context(|| format!("cannot read {}", path.display()))?
                .len();
        }
        let programs = files.values().filter_map(|it| match it {
            Source::Program(path) => Some(path),
            Source::File(path) if path.extension().is_some_and(|it| it == "so") => Some(path),
            _ => None,
        });
        let mut needed = (0, 0);
        for program in programs {
            needed = needed.max(libc(&read(program)?));
        }
        let (major, minor) = needed;
        let size = bytes.div_ceil(1024);
        let Self { name, depends, fields, .. } = self;
        Ok(format!(
            "\
Package: {name}
Version: {VERSION}
Architecture: {architecture}
Maintainer: The Bulkhead maintainers <maintainers@bulkhead.invalid>
Installed-Size: {size}
Depends: libc6 (>= {major}.{minor}), libgcc-s1{depends}
{fields}"
        ))
    }
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
    let pages = below(&root.join("usr/share/man"))?;
    let pages = pages.iter().filter(|it| it.is_file());
    let mut gzip = Command::new("gzip");
    let pages: Vec<_> = pages.collect();
    if pages.is_empty() {
        return Ok(());
    }
    gzip.args(["--no-name", "--best"]).args(pages);
    cargo::run(gzip)
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
            ("licences/a-0.0.1/LICENSE.1".to_owned(), text("may, too")),
            ("share/man/man1/bulkhead.1".to_owned(), text(".TH bulkhead 1")),
            ("share/zsh/site-functions/_bulkhead".to_owned(), text("#compdef bulkhead")),
        ];
        let path = MAIN.write(&Files::from(files), folder.path(), "1600000000").unwrap();
        (folder, path)
    }

    #[test]
    fn the_plugin_lies_beside_the_command_and_its_sources_where_sources_are() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("plugin.so");
        fs::write(&plugin, "\0GLIBC_2.34\0").unwrap();
        let text = |text: &str| Source::Bytes(text.as_bytes().into());
        let files = [
            ("cachescope/target/release/plugin.so".to_owned(), Source::File(plugin)),
            ("cachescope/src/lib.rs".to_owned(), text("//!")),
            ("cachescope/licences/libc-1/LICENSE".to_owned(), text("may")),
        ];
        let path = CACHESCOPE.write(&Files::from(files), folder.path(), "1600000000").unwrap();
        assert!(
            path.ends_with(format!("bulkhead-cachescope_{VERSION}_amd64.deb"))
                || cfg!(not(target_arch = "x86_64"))
        );
        let path = path.to_str().unwrap();
        let shown = says("dpkg-deb", &["--contents", path]);
        let lines = shown.lines().filter(|it| !it.ends_with('/'));
        let paths: Vec<_> = lines.filter_map(|it| it.split_whitespace().last()).collect();
        let expected = [
            "./usr/lib/bulkhead/cachescope/target/release/plugin.so",
            "./usr/share/doc/bulkhead-cachescope/copyright",
            "./usr/share/doc/bulkhead-cachescope/licences/libc-1/LICENSE",
            "./usr/src/bulkhead-cachescope/src/lib.rs",
        ];
        assert_eq!(paths, expected);
        let depends = says("dpkg-deb", &["--field", path, "Depends"]);
        assert_eq!(depends.trim(), "libc6 (>= 2.34), libgcc-s1, bulkhead");
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
            ("-rw-r--r--", "./usr/share/doc/bulkhead/licences/a-0.0.1/LICENSE.1"),
            ("-rw-r--r--", "./usr/share/man/man1/bulkhead.1.gz"),
            ("-rw-r--r--", "./usr/share/zsh/site-functions/_bulkhead"),
        ] {
            assert!(file(mode, rest), "{mode} {rest}\n{shown}");
        }
        assert_eq!(lines.len(), 9, "{shown}");
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
        assert_eq!(says("sh", &["-c", &check]).lines().count(), 8);
    }

    #[test]
    fn the_same_files_are_the_same_bytes_in_any_folder_at_any_time() {
        let (_first, first) = package();
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let (_second, second) = package();
        assert!(first != second && fs::read(first).unwrap() == fs::read(second).unwrap());
    }
}
