//! Writes files for users: all of a file or nothing.

use std::io;
use std::path::Path;

use crate::error::Error;
use crate::whole_file::WholeFile;

/// Returns an `error` of a temporary file without the name of that file, which means nothing to the
/// user. `tempfile` keeps only the kind of the system's error, and appends the name to its text.
pub fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path \"") {
        Some((said, _)) => io::Error::new(error.kind(), said),
        None => error,
    }
}

/// Returns true if `path` is a device or a pipe, which keeps nothing.
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Refuses a `path` that [`write()`] would refuse because it is a folder.
pub fn check_target(path: &Path) -> Result<(), Error> {
    crate::whole_file::refuse_folder(path).map_err(|source| cannot_write(path, source))
}

/// Writes `content` to `path` as a [`WholeFile`], so that the path never holds half of it. Missing
/// folders are made.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    let fill = || {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        WholeFile::write(path, content)
    };
    fill().map_err(|source| cannot_write(path, source))
}

fn cannot_write(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source }
}
