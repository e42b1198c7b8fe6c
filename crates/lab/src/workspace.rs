//! The folder for the image and the log of a run.

use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use image::{LockedFolder, locked_file, remove_abandoned, without_path};
use qemu::LogFile;
use tempfile::{Builder, NamedTempFile};

use crate::failure::Failure;
use crate::hypervisor::Found;
use crate::owner::is_trusted;

/// Ending of the names of images. No other file in the folder has such a name.
const IMAGE: &str = "-run.img";
/// Ending of the names of folders for one run. No other folder has such a name.
const SCRATCH: &str = "-run.d";
/// A file that says of such a folder that it is to stay.
const KEPT: &str = "kept";

/// A folder for files of runs, and the files of this one.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    name: String,
}

impl Workspace {
    /// Returns the workspace `build/run` beside the hypervisor, or in the user's cache if that
    /// cannot be written.
    pub fn new(found: &Found, name: &str) -> Result<Self, Failure> {
        Self::in_build(found.build.as_deref(), name)
    }

    /// The same in a folder `build`, if there is one. Nobody named that folder, so that neither it nor `run` in it may belong to
    /// another user, who could put links to files of ours there.
    pub fn in_build(build: Option<&Path>, name: &str) -> Result<Self, Failure> {
        let beside = build.map(|build| (build.join("run"), Some(build)));
        let mut tried = None;
        for (folder, build) in beside.into_iter().chain(cache().map(|it| (it, None))) {
            match usable(&folder, build) {
                Ok(()) => return Ok(Self { folder, name: file_name(name) }),
                Err(error) => tried = Some((folder, error)),
            }
        }
        let reason = match tried {
            Some((folder, error)) => format!("{}: {error}", folder.display()),
            None => "neither XDG_CACHE_HOME nor HOME is set".into(),
        };
        Err(Failure::new("no-workspace", format!("there is no place for the image: {reason}")))
    }

    /// Writes the image into a file, when those of runs that were killed are removed.
    pub fn image(&self, bytes: &[u8]) -> Result<ImageFile, Failure> {
        self.remove_abandoned();
        let fill = || -> io::Result<ImageFile> {
            let prefix = format!("{}-", self.name);
            let image = locked_file(Builder::new().prefix(&prefix).suffix(IMAGE), &self.folder)?;
            image.as_file().write_all(bytes)?;
            Ok(ImageFile(image))
        };
        let folder = self.folder.display();
        fill().map_err(without_path).map_err(|error| {
            Failure::new("image", format!("cannot write the image into {folder}: {error}"))
        })
    }

    /// Removes the images and folders of processes that were killed.
    fn remove_abandoned(&self) {
        remove_abandoned(&self.folder, |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(IMAGE) || name.ends_with(SCRATCH) && !path.join(KEPT).exists()
        });
    }

    /// Returns a new folder, when those of runs that were killed are removed.
    pub fn scratch(&self) -> Result<Scratch, Failure> {
        self.remove_abandoned();
        let prefix = format!("{}-", self.name);
        let made =
            LockedFolder::create(Builder::new().prefix(&prefix).suffix(SCRATCH), &self.folder);
        made.map(Scratch).map_err(|error| {
            let folder = self.folder.display();
            Failure::new("no-workspace", format!("cannot make a folder in {folder}: {error}"))
        })
    }

    /// Returns the default place of the log; each run replaces it.
    pub fn log(&self) -> LogFile {
        LogFile::unnamed(self.folder.join(format!("{}.log", self.name)))
    }
}

/// The file of an image, which is removed with this value.
#[derive(Debug)]
pub struct ImageFile(NamedTempFile);

impl ImageFile {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A folder that is removed with this value, or by the next run if this process is killed.
#[derive(Debug)]
pub struct Scratch(LockedFolder);

impl Scratch {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Keeps the folder beyond this value and this process.
    pub fn keep(&mut self) {
        self.0.keep();
        // Without the file the next run removes the folder, and what was asked for is still there until then.
        let _ = File::create(self.path().join(KEPT));
    }
}

/// Returns the folder for what can be made again, if the user has one.
pub fn cache() -> Option<PathBuf> {
    let set = |variable| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("bulkhead"))
}

/// Makes the folder if it is missing; refuses one that cannot be written, and one in `build` if one of both belongs to another
/// user.
fn usable(folder: &Path, build: Option<&Path>) -> io::Result<()> {
    let of_others = || io::Error::other("it or the folder in which it is belongs to another user");
    if build.is_some_and(|build| !is_trusted(build)) {
        return Err(of_others());
    }
    std::fs::create_dir_all(folder)?;
    if build.is_some() && !is_trusted(folder) {
        return Err(of_others());
    }
    tempfile::tempfile_in(folder).map(drop).map_err(without_path)
}

/// Returns the name of a system as a part of a file name.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).take(64).collect();
    if name.is_empty() { "system".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_runs_that_were_killed_are_removed_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| Workspace { folder: folder.path().into(), name: name.into() };
        let left = folder.path().join("old-abc123-run.img");
        let other = folder.path().join("mine.img");
        for file in [&left, &other] {
            std::fs::write(file, "left").expect("written");
        }
        let pipe = folder.path().join("pipe-abc123-run.img");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        let first = place("one").image(b"first").expect("an image");
        let second = place("two").image(b"second").expect("an image");
        assert!(!left.exists() && other.exists() && !pipe.exists());
        assert_eq!(std::fs::read(first.path()).expect("it is there"), b"first");
        let path = second.path().to_owned();
        drop(second);
        assert!(first.path().exists() && !path.exists());
    }

    #[test]
    fn folders_of_runs_that_were_killed_are_removed_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| Workspace { folder: folder.path().into(), name: name.into() };
        let [left, other] = ["old-abc123-run.d", "mine.d"].map(|name| folder.path().join(name));
        for folder in [&left, &other] {
            std::fs::create_dir(folder).expect("a folder");
            std::fs::write(folder.join("marks.trace"), "left").expect("written");
        }
        let mut kept = place("none").scratch().expect("a folder");
        kept.keep();
        let kept = kept.path().to_owned();
        let first = place("one").scratch().expect("a folder");
        let second = place("two").scratch().expect("a folder");
        assert!(!left.exists() && other.exists() && kept.exists());
        let path = second.path().to_owned();
        drop(second);
        assert!(first.path().exists() && !path.exists());
    }
}
