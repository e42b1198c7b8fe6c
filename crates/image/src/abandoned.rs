//! Files and folders that a process makes for itself, and that the next one removes if the process was killed.
//!
//! Each has a lock that lasts as long as its process, so that nobody removes what is still used.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};
use tempfile::{Builder, NamedTempFile, TempDir};

use crate::write::without_path;

/// Attempts to make a file or a folder again that another process took for abandoned, before it had a lock.
const ATTEMPTS: usize = 64;

/// A folder with a lock, removed with this value.
#[derive(Debug)]
pub struct LockedFolder {
    folder: TempDir,
    _lock: File,
}

impl LockedFolder {
    /// Makes a folder in another one.
    pub fn create(builder: &Builder<'_, '_>, parent: &Path) -> io::Result<Self> {
        let new = || {
            let folder = builder.tempdir_in(parent).map_err(without_path)?;
            let lock = File::open(folder.path())?;
            // Who has the lock removes the folder before giving it back. Where nothing can be locked, nothing is removed.
            let _ = flock(&lock, FlockOperation::LockExclusive);
            Ok(Self { folder, _lock: lock })
        };
        attempt(new, Self::path)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Keeps the folder beyond this value.
    pub fn keep(&mut self) {
        self.folder.disable_cleanup(true);
    }
}

/// Makes a file with a lock in a folder.
pub fn locked_file(builder: &Builder<'_, '_>, parent: &Path) -> io::Result<NamedTempFile> {
    let new = || {
        let file = builder.tempfile_in(parent).map_err(without_path)?;
        // As with folders.
        let _ = flock(file.as_file(), FlockOperation::LockExclusive);
        Ok(file)
    };
    attempt(new, NamedTempFile::path)
}

/// Makes something until it is still there when it has its lock.
fn attempt<T>(new: impl Fn() -> io::Result<T>, path: impl Fn(&T) -> &Path) -> io::Result<T> {
    let mut made = new();
    for _ in 1..ATTEMPTS {
        match &made {
            Ok(it) if path(it).symlink_metadata().is_ok() => break,
            Err(error) if error.kind() != ErrorKind::NotFound => break,
            _ => made = new(),
        }
    }
    made
}

/// Removes the files and folders in a folder that are `ours` and of which no process has a lock.
pub fn remove_abandoned(parent: &Path, ours: impl Fn(&Path) -> bool) {
    remove_abandoned_after(parent, ours, |_| true);
}

/// The same, but first asks `done` with each of them, and leaves it if the answer is false.
pub fn remove_abandoned_after(
    parent: &Path,
    ours: impl Fn(&Path) -> bool,
    done: impl Fn(&Path) -> bool,
) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if !ours(&path) {
            continue;
        }
        // A pipe of that name has no other end to wait for.
        let no_wait = OFlags::NONBLOCK.bits() as i32;
        let opened = File::options().read(true).custom_flags(no_wait).open(&path);
        let Ok(file) = opened else { continue };
        let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Its process may have kept it before it ended.
        if is_locked && ours(&path) && done(&path) {
            let _ = match entry.file_type().is_ok_and(|it| it.is_dir()) {
                true => std::fs::remove_dir_all(&path),
                false => std::fs::remove_file(&path),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// Between its making and its lock another process may take what is new for abandoned.
    #[test]
    fn what_is_new_is_there_whoever_removes_what_is_abandoned() {
        let parent = tempfile::tempdir().expect("a folder");
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    remove_abandoned(parent.path(), |_| true);
                }
            });
            let made = (0..2_000).map(|_| {
                let folder = LockedFolder::create(&Builder::new(), parent.path());
                let file = locked_file(&Builder::new(), parent.path());
                let there = |path: &Path| path.symlink_metadata().is_ok();
                let both = folder
                    .map(|it| there(it.path()))
                    .ok()
                    .zip(file.map(|it| there(it.path())).ok());
                both == Some((true, true))
            });
            let all = made.fold(true, |all, made| all & made);
            over.store(true, Ordering::Relaxed);
            assert!(all, "one was not there");
        });
    }
}
