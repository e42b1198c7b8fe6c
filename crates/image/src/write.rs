//! Puts an image into a file, all of it or nothing.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::Error;

/// Returns an `error` of a temporary file without the name of that file, which means nothing to the
/// user. `tempfile` keeps only the kind of the system's error, and appends the name to its text.
pub fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path \"") {
        Some((said, _)) => io::Error::new(error.kind(), said),
        None => error,
    }
}

/// Writes `image` to `path` by way of a temporary file beside it, so that
/// `path` never holds half an image. Missing folders are made.
pub fn write(path: &Path, image: &[u8]) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let fill = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".bulkhead-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder)
            .map_err(without_path)?;
        file.as_file_mut().write_all(image)?;
        file.persist(path).map_err(|error| error.error)
    };
    fill().map(drop).map_err(|source| Error::Write { path: path.to_owned(), source })
}
