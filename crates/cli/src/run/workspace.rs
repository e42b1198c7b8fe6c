//! Where the image and the log of a run lie.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bulkhead_image::without_path;
use tempfile::{Builder, NamedTempFile, TempDir, TempPath};

use super::hypervisor::Found;
use crate::failure::Failure;

/// A folder for files of runs, and the files of this one.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    name: String,
}

impl Workspace {
    /// `build/run` beside the hypervisor; the user's cache if that cannot be written.
    pub fn new(found: &Found, name: &str) -> Result<Self, Failure> {
        let build = found.build.as_ref().map(|build| build.join("run"));
        let mut tried = None;
        for folder in build.into_iter().chain(cache()) {
            match usable(&folder) {
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

    /// Writes the image into a file that is removed when the path is dropped.
    pub fn image(&self, bytes: &[u8]) -> Result<TempPath, Failure> {
        let fill = || -> io::Result<NamedTempFile> {
            let prefix = format!("{}-", self.name);
            let mut file =
                Builder::new().prefix(&prefix).suffix(".img").tempfile_in(&self.folder)?;
            file.write_all(bytes)?;
            Ok(file)
        };
        let folder = self.folder.display();
        fill().map(NamedTempFile::into_temp_path).map_err(|error| {
            Failure::new("image", format!("cannot write the image into {folder}: {error}"))
        })
    }

    /// A folder that is removed when it is dropped.
    pub fn scratch(&self) -> Result<TempDir, Failure> {
        let prefix = format!("{}-", self.name);
        let made = Builder::new().prefix(&prefix).tempdir_in(&self.folder);
        made.map_err(without_path).map_err(|error| {
            let folder = self.folder.display();
            Failure::new("no-workspace", format!("cannot make a folder in {folder}: {error}"))
        })
    }

    /// Where the log goes if nothing else was said; each run replaces it.
    pub fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }
}

fn cache() -> Option<PathBuf> {
    let set = |variable| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("bulkhead"))
}

fn usable(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    tempfile::tempfile_in(folder).map(drop).map_err(without_path)
}

/// The name of a system as a part of a file name.
fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let name: String = name.chars().map(safe).take(64).collect();
    if name.is_empty() { "system".into() } else { name }
}
