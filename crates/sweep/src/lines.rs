//! A file of lines to which finished work is added, whatever ends the process.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::Error;

/// A file of lines, locked while this exists. The first line says what the others belong to.
///
/// A line that was cut off, because the process was killed, is not among the lines that are read, and is removed by
/// [`Lines::keep`].
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    /// Opens a file, which is made with its folder if it is not there, and reads its whole lines.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or another process uses it.
    pub fn open(path: &Path) -> Result<(Self, Vec<String>), Error> {
        let failed = |what| move |error| Error::File { what, path: path.to_owned(), error };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed("write"))?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = file.map_err(failed("write"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(Error::Busy { path: path.to_owned() }),
            locked => locked.map_err(|error| failed("lock")(error.into()))?,
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let whole = bytes.split_inclusive(|byte| *byte == b'\n').map_while(|line| {
            std::str::from_utf8(line.strip_suffix(b"\n")?).ok().map(str::to_owned)
        });
        Ok((Self { path: path.to_owned(), file }, whole.collect()))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps these lines, the first ones of the file, and removes what is behind them.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn keep(&mut self, lines: &[String]) -> Result<(), Error> {
        let bytes = lines.iter().map(|line| line.len() as u64 + 1).sum();
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::End(0)));
        cut.map(drop).map_err(|error| self.failed("write", error))
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn add(&mut self, line: &str) -> Result<(), Error> {
        // In one piece, so that nothing else is ever cut off but the last line.
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|error| self.failed("write", error))
    }

    /// Removes the file: it is not needed any more.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn remove(self) -> Result<(), Error> {
        fs::remove_file(&self.path).map_err(|error| self.failed("remove", error))
    }

    fn failed(&self, what: &'static str, error: std::io::Error) -> Error {
        Error::File { what, path: self.path.clone(), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_written_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/lines");
        let (mut lines, found) = Lines::open(&path).expect("a file");
        assert!(found.is_empty());
        lines.add("first").expect("written");
        lines.add("second").expect("written");
        assert!(matches!(Lines::open(&path), Err(Error::Busy { .. })));
        drop(lines);
        let mut cut = fs::read(&path).expect("bytes");
        cut.truncate(cut.len() - 3);
        fs::write(&path, cut).expect("written");
        let (mut lines, found) = Lines::open(&path).expect("a file");
        assert_eq!(found, ["first"]);
        lines.keep(&found).expect("written");
        lines.add("again").expect("written");
        drop(lines);
        let (lines, found) = Lines::open(&path).expect("a file");
        assert_eq!(found, ["first", "again"]);
        lines.remove().expect("removed");
        assert!(!path.exists());
    }
}
