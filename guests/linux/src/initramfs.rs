//! The initial RAM disk: a cpio archive in `newc` format, as the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst` asks for.
//!
//! The same entries always give the same bytes: inode numbers count up, and
//! times and owners are zero.

use std::io::{self, Write};

use cpio::newc;

/// File type bits of `st_mode`.
const TYPE_DIRECTORY: u32 = 0o040000;
const TYPE_FILE: u32 = 0o100000;
const TYPE_SYMLINK: u32 = 0o120000;
const TYPE_CHARACTER_DEVICE: u32 = 0o020000;

/// One path in the archive.
pub struct Entry {
    /// Path without a leading slash.
    pub path: String,
    /// The kind of the entry, with its contents.
    pub kind: Kind,
}

/// The kinds of entries at a path. Permissions are the lower nine bits of `st_mode`.
pub enum Kind {
    /// A directory that everyone may read.
    Directory,
    /// A regular file.
    File {
        /// Its permissions.
        permissions: u32,
        /// All of its bytes.
        content: Vec<u8>,
    },
    /// A symbolic link to this path.
    Symlink(String),
    /// A character device.
    CharacterDevice {
        /// Its permissions.
        permissions: u32,
        /// Its major number.
        major: u32,
        /// Its minor number.
        minor: u32,
    },
}

/// The archive with these entries, in this order. A directory must come before what it contains.
pub fn archive(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (inode, entry) in (1..).zip(entries) {
        let header = newc::Builder::new(&entry.path).ino(inode);
        let (header, content): (_, &[u8]) = match &entry.kind {
            Kind::Directory => (header.mode(TYPE_DIRECTORY | 0o755), &[]),
            Kind::File { permissions, content } => (header.mode(TYPE_FILE | permissions), content),
            Kind::Symlink(target) => (header.mode(TYPE_SYMLINK | 0o777), target.as_bytes()),
            Kind::CharacterDevice { permissions, major, minor } => (
                header
                    .mode(TYPE_CHARACTER_DEVICE | permissions)
                    .rdev_major(*major)
                    .rdev_minor(*minor),
                &[],
            ),
        };
        let length = u32::try_from(content.len()).map_err(|_| {
            io::Error::other(format!("{} is too large for a cpio archive", entry.path))
        })?;
        let mut writer = header.write(&mut bytes, length);
        writer.write_all(content)?;
        writer.finish()?;
    }
    newc::trailer(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn sample() -> Vec<Entry> {
        let device = Kind::CharacterDevice { permissions: 0o600, major: 5, minor: 1 };
        let file = Kind::File { permissions: 0o755, content: b"odd".to_vec() };
        vec![
            Entry { path: "dev".into(), kind: Kind::Directory },
            Entry { path: "dev/console".into(), kind: device },
            Entry { path: "init".into(), kind: file },
            Entry { path: "sh".into(), kind: Kind::Symlink("bin/busybox".into()) },
        ]
    }

    #[test]
    fn entries_are_read_back_with_type_device_numbers_and_content() {
        let bytes = archive(&sample()).unwrap();
        let mut rest = bytes.as_slice();
        let mut seen = Vec::new();
        loop {
            let mut reader = newc::Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut content = String::new();
            reader.read_to_string(&mut content).unwrap();
            let entry = reader.entry();
            let device = (entry.rdev_major(), entry.rdev_minor());
            seen.push((entry.name().to_owned(), entry.mode(), device, content));
            rest = reader.finish().unwrap();
        }
        let expected = [
            ("dev", 0o040755, (0, 0), ""),
            ("dev/console", 0o020600, (5, 1), ""),
            ("init", 0o100755, (0, 0), "odd"),
            ("sh", 0o120777, (0, 0), "bin/busybox"),
        ]
        .map(|(name, mode, device, content)| (name.to_owned(), mode, device, content.to_owned()));
        assert_eq!(seen, expected);
    }

    #[test]
    fn inode_numbers_differ_and_times_are_zero() {
        let bytes = archive(&sample()).unwrap();
        let mut rest = bytes.as_slice();
        for inode in 1..=sample().len() {
            let reader = newc::Reader::new(rest).unwrap();
            assert_eq!(reader.entry().ino() as usize, inode);
            assert_eq!(reader.entry().mtime(), 0);
            rest = reader.finish().unwrap();
        }
    }
}
