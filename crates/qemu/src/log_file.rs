//! The file for all output of a console.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::Error;

/// The file for the output of a console.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogFile {
    path: PathBuf,
    is_named: bool,
}

impl LogFile {
    /// A file that somebody named: links are followed, and it may be a device such as `/dev/stdout`.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_named: true }
    }

    /// A file that nobody named. No link is followed there: another user may have put it in the place.
    pub fn unnamed(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_named: false }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file empty, and its folder if that is missing.
    pub fn create(&self) -> Result<Log, Error> {
        let file =
            self.opened().map_err(|source| Error::Log { path: self.path.clone(), source })?;
        Ok(Log { path: self.path.clone(), file: Some(file), end: LogEnd::default() })
    }

    fn opened(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        if self.is_named {
            return options.open(&self.path);
        }
        let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(&self.path);
        file.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => io::Error::other(
                "it is a symbolic link, which is not followed\nhelp: remove it, or name a log with `--log`",
            ),
            _ => error,
        })
    }
}

/// A log that is being written.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// `None` after a piece could not be written: what follows would look as if it followed what was written.
    file: Option<File>,
    end: LogEnd,
}

impl Log {
    /// Writes a piece. If that cannot be done, the log ends here, which [`Log::end`] says: what is shown is more important than its
    /// copy.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(bytes)
        {
            let _ = self.end.0.set(format!("the log {} is cut off: {error}", self.path.display()));
            self.file = None;
        }
    }

    /// Returns a handle that knows whether the log is whole.
    pub fn end(&self) -> LogEnd {
        self.end.clone()
    }
}

/// Knows whether a log is whole, from any thread.
#[derive(Clone, Debug, Default)]
pub struct LogEnd(Arc<OnceLock<String>>);

impl LogEnd {
    /// Returns why the log ends before the console does, if it does.
    pub fn error(&self) -> Option<String> {
        self.0.get().cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_log_that_cannot_be_written_says_so_once_it_ends() {
        let mut full = LogFile::named("/dev/full").create().expect("a device");
        let end = full.end();
        assert_eq!(end.error(), None);
        full.write(b"");
        assert_eq!(end.error(), None, "nothing is missing");
        full.write(b"text");
        let error = end.error().expect("it is full");
        assert!(error.starts_with("the log /dev/full is cut off: No space left"), "{error}");
    }

    #[test]
    fn links_are_followed_only_where_the_file_was_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let [victim, link] = ["victim", "link"].map(|name| folder.path().join(name));
        std::fs::write(&victim, "mine").expect("written");
        symlink(&victim, &link).expect("a link");
        let refused = LogFile::unnamed(&link).create().expect_err("it is a link").to_string();
        assert!(refused.contains("link: it is a symbolic link") && refused.contains("help: "));
        assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "mine");
        LogFile::unnamed(folder.path().join("new/log")).create().expect("a file");
        LogFile::named(&link).create().expect("it is followed");
        assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "");
        LogFile::named("/dev/stdout").create().expect("a device");
    }
}
