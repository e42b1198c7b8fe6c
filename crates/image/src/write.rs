//! Puts an image into a file, all of it or nothing.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::Error;

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
            .tempfile_in(folder)?;
        file.write_all(image)?;
        file.persist(path).map_err(|error| error.error)
    };
    fill().map(drop).map_err(|source| Error::Write { path: path.to_owned(), source })
}
