//! A file that is there when it is complete, and not before, whatever ends the process.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tempfile::{Builder, NamedTempFile};

use crate::abandoned::{locked_file, remove_abandoned};
use crate::write::is_special;

/// Links that are followed to a file that is not there yet.
const LINKS_MAX: usize = 40;

/// The prefix of names of files that are not complete, and the number of random characters that follow.
const PREFIX: &str = ".bulkhead-";
const RANDOM: usize = 6;

/// A file being written, in its folder under another name (`.bulkhead-*`). Without [`WholeFile::finish`] it is
/// removed, and what had its name before stays. [`WholeFile::remove_abandoned`] removes those of processes that were killed.
#[derive(Debug)]
pub struct WholeFile {
    out: Out,
    path: PathBuf,
}

#[derive(Debug)]
enum Out {
    New(NamedTempFile),
    /// A file that is not regular, such as a pipe, is written directly.
    There(File),
}

impl WholeFile {
    /// Starts the file, so that a place that cannot be written is known at once. A link stays a
    /// link: what it leads to is written.
    pub fn create(path: &Path) -> io::Result<Self> {
        refuse_folder(path)?;
        if is_special(path) {
            let out = File::options().write(true).open(path)?;
            return Ok(Self { out: Out::There(out), path: path.to_owned() });
        }
        let (path, folder) = target(path);
        let builder = &mut Builder::new();
        builder.prefix(PREFIX).rand_bytes(RANDOM).permissions(Permissions::from_mode(0o644));
        let file = locked_file(builder, &folder)?;
        Ok(Self { out: Out::New(file), path })
    }

    /// Removes the unfinished files in the folder of a file whose processes were killed.
    pub fn remove_abandoned(beside: &Path) {
        let (_, folder) = target(beside);
        remove_abandoned(&folder, |path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let random = name.and_then(|name| name.strip_prefix(PREFIX));
            let is_ours = random.is_some_and(|it| {
                it.len() == RANDOM && it.bytes().all(|it| it.is_ascii_alphanumeric())
            });
            is_ours
                && path
                    .symlink_metadata()
                    .is_ok_and(|it| it.is_file() && it.uid() == geteuid().as_raw())
        });
    }

    /// Gives the complete file its name.
    pub fn finish(self) -> io::Result<()> {
        match self.out {
            Out::New(file) => file.persist(&self.path).map(drop).map_err(|error| error.error),
            Out::There(_) => Ok(()),
        }
    }

    /// Writes a file with this content.
    pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file = Self::create(path)?;
        file.write_all(content)?;
        file.finish()
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::New(file) => file.as_file_mut().write(bytes),
            Out::There(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::New(file) => file.as_file_mut().flush(),
            Out::There(file) => file.flush(),
        }
    }
}

/// Refuses what is a folder, or named as one.
pub(crate) fn refuse_folder(path: &Path) -> io::Result<()> {
    match path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        true => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "this is a folder\nhelp: name a file in it",
        )),
        false => Ok(()),
    }
}

/// Returns the file to which a path leads, and its folder.
fn target(path: &Path) -> (PathBuf, PathBuf) {
    let path = path.canonicalize().unwrap_or_else(|_| end_of_links(path));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).to_owned();
    (path, folder)
}

/// Returns the file to which links lead that ends nowhere yet.
fn end_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(next) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_until_the_file_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        WholeFile::write(&path, b"old").expect("written");
        let read = || std::fs::read(&path).expect("it is there");
        let mut file = WholeFile::create(&path).expect("a file");
        file.write_all(b"ne").expect("written");
        assert_eq!(read(), b"old");
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
        WholeFile::write(&path, b"new").expect("written");
        assert_eq!(read(), b"new");
    }

    #[test]
    fn unfinished_files_are_removed_when_their_process_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let others = [".bulkhead-mine", ".bulkhead-abc12.", ".other-abc123", "abc123"];
        for name in others.iter().copied().chain([".bulkhead-aB3d5f"]) {
            std::fs::write(path(name), "left").expect("written");
        }
        std::fs::create_dir(path(".bulkhead-folder")).expect("a folder");
        let mut open = WholeFile::create(&path("out")).expect("a file");
        WholeFile::remove_abandoned(&path("other"));
        assert!(!path(".bulkhead-aB3d5f").exists());
        assert!(others.iter().all(|name| path(name).exists()) && path(".bulkhead-folder").exists());
        open.write_all(b"it goes on").expect("written");
        open.finish().expect("it is still there");
        assert!(path("out").exists());
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        WholeFile::write(&link, b"new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).expect("it is there"), b"new");
        // The file may not be there yet, and links may lead to links.
        let [next, last] = ["next", "last"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("last", &next).expect("a link");
        std::fs::remove_file(&link).expect("it was there");
        std::os::unix::fs::symlink(&next, &link).expect("a link");
        WholeFile::write(&link, b"first").expect("written");
        assert!(link.is_symlink() && next.is_symlink());
        assert_eq!(std::fs::read(&last).expect("it is there"), b"first");
        // A device is not replaced, though the folder of this one could be written.
        let device = folder.path().join("device");
        std::os::unix::fs::symlink("/dev/null", &device).expect("a link");
        for null in [Path::new("/dev/null"), &device] {
            WholeFile::write(null, b"gone").expect("written");
            assert!(is_special(null), "{}", null.display());
        }
        assert!(device.is_symlink());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = |path: &Path| WholeFile::create(path).expect_err("no file").to_string();
        let nowhere = folder.path().join("nowhere/out");
        assert_eq!(said(&nowhere), "No such file or directory (os error 2)");
        for path in [folder.path(), &folder.path().join("new/"), Path::new(".")] {
            assert_eq!(said(path), "this is a folder\nhelp: name a file in it");
        }
    }
}
