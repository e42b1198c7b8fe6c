//! A Linux host for x86-64, in QEMU: the unmodified cloud kernel of Debian 12 with KVM, busybox and the `bulkhead` command.
//!
//! QEMU gives the kernel one initial RAM disk: [`build`] writes the part that is always the same, [`job`] makes what is
//! appended for a run. The init process runs `/job/run`, and at the end sends the folder `/out` through the second serial
//! port, as an archive that [`results`] reads.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cpio::newc;
use sha2::{Digest, Sha256};

use crate::initramfs::{self, Entry, Kind};
use crate::{debian, file};

/// The first process.
const INIT: &str = include_str!("../host-x86/init");
/// The first process of a guest of the host.
const GUEST_INIT: &str = include_str!("../host-x86/guest-init");
/// The files of Debian with which the figures in `docs` were measured, as `sha256sum` writes them.
const PINNED: &str = include_str!("../host-x86/SHA256SUMS");
/// The script that a host runs.
const RUN: &str = "job/run";
/// The last file that a host sends, so that what comes is known to be complete.
const STATUS: &str = "status";

/// Writes `vmlinuz` and `initrd.cpio` into the folder `out`, and `guest.cpio`, with which the same kernel is a guest of the host.
/// `bulkhead` is the command, linked statically. Downloads are kept in `cache`.
pub fn build(bulkhead: Vec<u8>, cache: &Path, out: &Path) -> Result<()> {
    let files = debian::HOST_X86.files(cache).context("the Debian packages of the host")?;
    warn_if_other(&files.all().cloned().collect::<Vec<_>>())?;
    let kernel = file::read(&files.kernel)?;
    debian::check_x86_kernel(&kernel)
        .with_context(|| format!("{} is not usable", files.kernel.display()))?;
    let busybox = file::read(&files.busybox)?;
    let guest = disk(&["bin", "dev", "proc", "tmp"], programs(GUEST_INIT, busybox.clone()))
        .context("the initial RAM disk of the guest")?;
    let mut contents = programs(INIT, busybox);
    contents.push(("bin/bulkhead".to_owned(), 0o755, bulkhead));
    for (number, module) in files.modules.iter().enumerate() {
        // Numbers are the order in which the init process loads them.
        contents.push((format!("modules/{number}.ko"), 0o644, file::read(module)?));
    }
    let initramfs = disk(&["bin", "dev", "out", "proc", "sys", "tmp"], contents)
        .context("the initial RAM disk of the host")?;
    file::write_if_changed(&out.join("vmlinuz"), &kernel)?;
    file::write_if_changed(&out.join("guest.cpio"), &guest)?;
    file::write_if_changed(&out.join("initrd.cpio"), &initramfs)
}

/// A file with its path and its permissions.
type Content = (String, u32, Vec<u8>);

/// The first process, and busybox.
fn programs(init: &str, busybox: Vec<u8>) -> Vec<Content> {
    vec![("init".to_owned(), 0o755, init.into()), ("bin/busybox".to_owned(), 0o755, busybox)]
}

/// An initial RAM disk with a console, a shell, these folders and these files.
fn disk(empty: &[&str], contents: Vec<Content>) -> std::io::Result<Vec<u8>> {
    let mut entries = folders(empty.iter().copied().map(String::from).collect());
    entries.push(Entry {
        path: "dev/console".into(),
        kind: Kind::CharacterDevice { permissions: 0o600, major: 5, minor: 1 },
    });
    entries.push(Entry { path: "bin/sh".into(), kind: Kind::Symlink("busybox".into()) });
    entries.extend(with_folders(contents));
    initramfs::archive(&entries)
}

/// Returns the contents to append to `initrd.cpio` for a run: a script, and files by their absolute paths.
pub fn job(script: &str, files: Vec<(String, Vec<u8>)>) -> Result<Vec<u8>> {
    let mut contents = vec![(RUN.to_owned(), 0o755, script.into())];
    contents.extend(files.into_iter().map(|(path, content)| {
        let path = path.trim_start_matches('/').to_owned();
        (path, 0o644, content)
    }));
    initramfs::archive(&with_folders(contents)).context("the files of the run")
}

/// The results that a host sent.
#[derive(Debug)]
pub struct Results {
    /// The exit status of the script.
    pub status: u8,
    files: Vec<(String, Vec<u8>)>,
}

impl Results {
    /// The content of a file in `/out`, taken out.
    pub fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        let at = self.files.iter().position(|(other, _)| other == name)?;
        Some(self.files.swap_remove(at).1)
    }
}

/// Reads what a host sent. Other than the rest of it, the exit status is there only if nothing is missing.
pub fn results(mut bytes: &[u8]) -> Result<Results> {
    let mut files = Vec::new();
    loop {
        let mut reader = newc::Reader::new(bytes).context("the results are cut off")?;
        if reader.entry().is_trailer() {
            break;
        }
        let name = reader.entry().name().to_owned();
        let mut content = Vec::new();
        reader.read_to_end(&mut content).context("the results are cut off")?;
        bytes = reader.finish().context("the results are cut off")?;
        files.push((name, content));
    }
    let mut results = Results { status: 0, files };
    let status = results.take(STATUS).context("the results have no exit status")?;
    let status = String::from_utf8_lossy(&status).trim().parse();
    results.status = status.context("the exit status is no number")?;
    Ok(results)
}

/// Says which files are not the pinned ones. Debian's archive keeps the newest versions only, and apt has checked their
/// signatures: other ones work, and may cost other numbers of instructions.
fn warn_if_other(files: &[PathBuf]) -> Result<()> {
    let pinned =
        |name: &str| PINNED.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix("  "));
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digest = Sha256::digest(file::read(path)?);
        let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        if pinned(&name) != Some(sum.as_str()) {
            eprintln!(
                "x86 host: {name} is not the one that the figures in docs/how-to/run-on-kvm.md were measured with"
            );
        }
    }
    Ok(())
}

/// The files, and before them all folders that they are in.
fn with_folders(files: Vec<Content>) -> Vec<Entry> {
    let above =
        |path: &str| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect();
    let all: BTreeSet<String> =
        files.iter().flat_map(|(path, ..)| -> Vec<_> { above(path) }).collect();
    let mut entries = folders(all);
    entries.extend(files.into_iter().map(|(path, permissions, content)| Entry {
        path,
        kind: Kind::File { permissions, content },
    }));
    entries
}

/// A folder sorts before what is in it.
fn folders(paths: BTreeSet<String>) -> Vec<Entry> {
    paths.into_iter().map(|path| Entry { path, kind: Kind::Directory }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(names: &[(&str, &str)]) -> Vec<u8> {
        let entry = |(name, text): &(&str, &str)| Entry {
            path: (*name).into(),
            kind: Kind::File { permissions: 0o644, content: text.as_bytes().into() },
        };
        initramfs::archive(&names.iter().map(entry).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn results_are_read_if_nothing_is_missing() {
        let bytes = sent(&[("stdout", "odd"), ("trace", "\0\n"), ("status", "1\n")]);
        let mut results = results(&bytes).unwrap();
        assert_eq!(results.status, 1);
        assert_eq!(results.take("stdout").as_deref(), Some(&b"odd"[..]));
        assert_eq!(results.take("trace").as_deref(), Some(&b"\0\n"[..]));
        assert_eq!(results.take("trace"), None);
        for end in 0..bytes.len() - 512.min(bytes.len() / 2) {
            assert!(super::results(&bytes[..end]).is_err(), "{end}");
        }
        assert!(super::results(&sent(&[("stdout", "odd")])).is_err());
        assert!(super::results(&sent(&[("status", "odd")])).is_err());
    }

    #[test]
    fn files_of_a_job_have_their_folders_before_them() {
        let bytes = job("true\n", vec![("/a/b/c".into(), b"x".to_vec())]).unwrap();
        let mut rest = bytes.as_slice();
        let mut names = Vec::new();
        loop {
            let reader = newc::Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            names.push(reader.entry().name().to_owned());
            rest = reader.finish().unwrap();
        }
        assert_eq!(names, ["a", "a/b", "job", "job/run", "a/b/c"]);
    }
}
