//! The files of the sockets.

use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::owner::is_trusted;

/// Longest path of a socket in Linux, which adds a zero byte.
const PATH_MAX: usize = 107;

/// Files that are removed with this value.
#[derive(Debug, Default)]
pub struct Sockets(Vec<File>);

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// Device and inode: after us, somebody else may have made a file of this name.
    id: (u64, u64),
}

impl Sockets {
    /// Makes a socket for each name, which only this user can open. Nothing is removed or made if one of them cannot be.
    pub fn make(folder: &Path, names: &[&str]) -> Result<(Self, Vec<UnixListener>), Failure> {
        let paths: Vec<_> = names.iter().map(|name| folder.join(format!("{name}.sock"))).collect();
        for path in &paths {
            let length = path.as_os_str().len();
            if length > PATH_MAX {
                return Err(refused(format!(
                    "{}: the path of this socket has {length} bytes, and Linux allows {PATH_MAX}\n\
                     help: name a folder with a shorter path, or one relative to the current folder",
                    path.display()
                )));
            }
        }
        prepare(folder)?;
        let mut stale = Vec::new();
        for path in &paths {
            if is_stale(path)? {
                stale.push(path);
            }
        }
        for path in stale {
            fs::remove_file(path).map_err(|error| failed(path, "remove", &error))?;
        }
        let mut sockets = Self::default();
        let mut listeners = Vec::new();
        for path in paths {
            let made = UnixListener::bind(&path).and_then(|listener| {
                let is = fs::symlink_metadata(&path)?;
                sockets.0.push(File { path: path.clone(), id: (is.dev(), is.ino()) });
                fs::set_permissions(&path, Permissions::from_mode(0o600))?;
                listener.set_nonblocking(true)?;
                Ok(listener)
            });
            listeners.push(made.map_err(|error| failed(&path, "make", &error))?);
        }
        Ok((sockets, listeners))
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for File { path, id } in &self.0 {
            if fs::symlink_metadata(path).is_ok_and(|is| (is.dev(), is.ino()) == *id) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Makes the folder if it is missing; refuses one in which others can put files.
fn prepare(folder: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed(folder, "make", &error))?;
    let mode = folder.metadata().map_err(|error| failed(folder, "read", &error))?.mode();
    if mode & 0o022 == 0 && is_trusted(folder) {
        return Ok(());
    }
    Err(refused(format!(
        "{}: other users can write in this folder, and could take the place of a console\n\
         help: name a folder that does not exist, which is then made for you alone",
        folder.display()
    )))
}

/// Returns true if there is a socket that a killed run has left.
fn is_stale(path: &Path) -> Result<bool, Failure> {
    let help = "help: remove it, or name another folder for the consoles";
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path, "read", &error)),
        Ok(is) if !is.file_type().is_socket() => {
            Err(refused(format!("{}: this is a file and no socket\n{help}", path.display())))
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(true),
            Err(error) => Err(failed(path, "connect to", &error)),
            Ok(_) => Err(refused(format!(
                "{}: another run uses this socket\nhelp: name another folder for the consoles",
                path.display()
            ))),
        },
    }
}

fn failed(path: &Path, verb: &str, error: &std::io::Error) -> Failure {
    let text = format!("cannot {verb} {}: {error}\nhelp: name another folder", path.display());
    refused(text)
}

fn refused(text: String) -> Failure {
    Failure::new("consoles", text)
}
