//! The folder for the image and the log of a run.

use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use image::{LockedFolder, locked_file, remove_abandoned, without_path};
use qemu::LogFile;
use rustix::process::geteuid;
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
    /// Returns the workspace: `build/run` of a checkout whose hypervisor was found, `XDG_CACHE_HOME`, `HOME/.cache`, or a
    /// private folder for files that do not stay, the first of these that can be written. What is installed is only read.
    pub fn new(found: &Found, name: &str) -> Result<Self, Failure> {
        Self::in_build(found.build.as_deref(), name)
    }

    /// The same in a folder `build`, if there is one. Nobody named that folder, so that neither it nor `run` in it may belong to
    /// another user, who could put links to files of ours there.
    pub fn in_build(build: Option<&Path>, name: &str) -> Result<Self, Failure> {
        let is_checkout = |build: &&Path| build.parent().is_some_and(image::checkout::is_root);
        let build = build.filter(is_checkout).map(|build| (build.join("run"), Some(build)));
        let in_build_or_cache = build.into_iter().chain(caches().map(|it| (it, None)));
        let in_build_or_cache = in_build_or_cache.map(|it| (it, false));
        let mut reasons = Vec::new();
        for ((folder, build), is_shared) in in_build_or_cache.chain([((temporary(), None), true)]) {
            let private = if is_shared { make_private(&folder) } else { Ok(()) };
            match private.and_then(|()| usable(&folder, build)) {
                Ok(()) => return Ok(Self { folder, name: file_name(name) }),
                Err(error) => reasons.push(format!("{}: {error}", folder.display())),
            }
        }
        let message = format!(
            "there is no place for the image: {}\n\
             help: name a folder that can be written in XDG_CACHE_HOME",
            reasons.join("; ")
        );
        Err(Failure::new("no-workspace", message))
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

/// Returns the folder for files that can be made again, if the user has one.
pub fn cache() -> Option<PathBuf> {
    caches().next()
}

/// Returns the folders for files that can be made again, the named one first.
fn caches() -> impl Iterator<Item = PathBuf> {
    let home = named("HOME").map(|home| home.join(".cache"));
    named("XDG_CACHE_HOME").into_iter().chain(home).map(|cache| cache.join("bulkhead"))
}

/// The folder that a variable names; a relative path names none.
fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns this user's folder among the temporary files of all users.
fn temporary() -> PathBuf {
    let all = named("TMPDIR").unwrap_or_else(|| "/tmp".into());
    all.join(format!("bulkhead-{}", geteuid().as_raw()))
}

/// Makes a folder that only this user can read and write, or checks that it is one: where everybody may make folders,
/// somebody else may have made it.
fn make_private(folder: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(folder)?;
    let problem = match () {
        () if !found.is_dir() => "this is no folder",
        () if found.uid() != geteuid().as_raw() => "this folder belongs to another user",
        () if found.mode() & 0o077 != 0 => "others can use this folder (chmod 700)",
        () => return Ok(()),
    };
    Err(io::Error::other(problem))
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

    /// Only root can give a folder away: elsewhere the last part is not tested.
    #[test]
    fn a_folder_among_those_of_others_is_private_or_is_not_used() {
        let all = tempfile::tempdir().expect("a folder");
        let folder = all.path().join("mine");
        for _ in 0..2 {
            make_private(&folder).expect("it is private");
            assert_eq!(folder.metadata().expect("it is there").mode() & 0o777, 0o700);
        }
        let refused =
            |what: &str| make_private(&all.path().join(what)).expect_err("refused").to_string();
        std::os::unix::fs::symlink(&folder, all.path().join("link")).expect("a link");
        assert!(refused("link").contains("no folder"));
        std::fs::create_dir(all.path().join("open")).expect("a folder");
        assert!(refused("open").contains("others can use"), "the umask keeps others off");
        if geteuid().is_root() {
            std::os::unix::fs::chown(&folder, Some(65_534), None).expect("given away");
            assert!(refused("mine").contains("another user"));
        }
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
