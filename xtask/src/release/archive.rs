//! An archive whose bytes depend on its files alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::read;
use crate::cargo;

/// The contents of a file of an archive.
#[derive(Clone)]
pub enum Source {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The bytes of this file.
    File(PathBuf),
    /// The bytes of this file, which people execute.
    Program(PathBuf),
}

/// The files of an archive, by their paths in its folder.
pub type Files = BTreeMap<String, Source>;

pub struct Archive {
    /// The name without `.tar.gz`.
    pub name: String,
    pub files: Files,
}

impl Archive {
    /// Writes the archive, whose files are in the folder `root` and were changed at this time, in seconds since 1970. Returns its
    /// path.
    pub fn write(&self, folder: &Path, root: &str, time: &str) -> Result<PathBuf> {
        let stage = tempfile::tempdir_in(folder)
            .with_context(|| format!("cannot make a folder in {}", folder.display()))?;
        write_files(&self.files, &stage.path().join(root))?;
        let unfinished = stage.path().join("archive");
        let mut tar = Command::new("tar");
        tar.env("LC_ALL", "C")
            .args(["--create", "--format=ustar", "--sort=name", "--mode=u+w,go=u-w"])
            .args(["--owner=0", "--group=0", "--numeric-owner", &format!("--mtime=@{time}")])
            .arg("--use-compress-program=gzip --no-name --best")
            .arg("--file")
            .arg(&unfinished)
            .arg("--directory")
            .arg(stage.path())
            .arg(root);
        cargo::run(tar)?;
        let path = folder.join(format!("{}.tar.gz", self.name));
        fs::rename(&unfinished, &path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

/// Writes files into a folder, with modes that do not depend on those of this process.
pub fn write_files(files: &Files, root: &Path) -> Result<()> {
    for (path, source) in files {
        let (bytes, mode) = match source {
            Source::Bytes(bytes) => (bytes.clone(), 0o644),
            Source::File(file) => (read(file)?, 0o644),
            Source::Program(file) => (read(file)?, 0o755),
        };
        let to = root.join(path);
        let write = || {
            fs::create_dir_all(to.parent().unwrap_or(root))?;
            fs::write(&to, bytes)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(mode))
        };
        write().with_context(|| format!("cannot write {}", to.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of a text and a program that were written just now.
    fn archive() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let files = [
            ("b/program".to_owned(), Source::Program(program)),
            ("a".to_owned(), Source::Bytes(b"text".to_vec())),
        ];
        let archive = Archive { name: "name".into(), files: Files::from(files) };
        let path = archive.write(folder.path(), "root", "1600000000").unwrap();
        assert_eq!(path, folder.path().join("name.tar.gz"));
        let list = Command::new("tar").env("TZ", "UTC").arg("-tvzf").arg(&path).output().unwrap();
        let list = String::from_utf8(list.stdout).unwrap();
        let shown: Vec<Vec<_>> =
            list.lines().map(|line| line.split_whitespace().collect()).collect();
        let expected: [Vec<_>; 4] = [
            vec!["drwxr-xr-x", "0/0", "0", "2020-09-13", "12:26", "root/"],
            vec!["-rw-r--r--", "0/0", "4", "2020-09-13", "12:26", "root/a"],
            vec!["drwxr-xr-x", "0/0", "0", "2020-09-13", "12:26", "root/b/"],
            vec!["-rwxr-xr-x", "0/0", "10", "2020-09-13", "12:26", "root/b/program"],
        ];
        assert_eq!(shown, expected);
        fs::read(path).unwrap()
    }

    #[test]
    fn the_same_files_are_the_same_bytes_at_any_time() {
        let first = archive();
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert!(first == archive());
    }
}
