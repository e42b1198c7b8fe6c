//! A file that is there when it is complete, and not before, whatever ends the process.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use image::without_path;
use tempfile::NamedTempFile;

/// A file being written, in its folder under another name (`.bulkhead-*`). Without [`WholeFile::finish`] it is
/// removed, and what had its name before stays.
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
    /// Starts the file, so that a place that cannot be written is known at once.
    pub fn create(path: &Path) -> io::Result<Self> {
        // A link stays a link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let special = path.metadata().is_ok_and(|found| !found.is_file());
        let out = if special {
            Out::There(File::create(&path)?)
        } else {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let builder = &mut tempfile::Builder::new();
            builder.prefix(".bulkhead-").permissions(Permissions::from_mode(0o644));
            let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
            Out::New(file.map_err(without_path)?)
        };
        Ok(Self { out, path })
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
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        WholeFile::write(&link, b"new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).expect("it is there"), b"new");
        WholeFile::write(Path::new("/dev/null"), b"gone").expect("written");
        let error = WholeFile::create(&folder.path().join("nowhere/out")).expect_err("no folder");
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }
}
