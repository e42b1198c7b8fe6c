//! Files of a host.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The files of a host.
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// Makes the files of the host that are below a folder.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns true if there is such a file.
    pub fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Returns the contents of a file, without blanks at the end, if it can be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// Returns the number in a file.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.trim().parse().ok()
    }

    /// Returns the value behind a key and a colon in a file.
    pub fn field(&self, path: &str, key: &str) -> Option<String> {
        let text = self.text(path)?;
        let value =
            text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'));
        value.map(|value| value.trim().to_owned())
    }

    /// Tries to open a file for reading and writing.
    pub fn open(&self, path: &str) -> io::Result<()> {
        OpenOptions::new().read(true).write(true).open(self.root.join(path)).map(drop)
    }
}

/// Returns the numbers in a list of the kernel, such as `0-2,5`.
pub fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?.min(1 << 16))
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ranges() {
        assert_eq!(list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(list("7"), [7]);
        assert!(list("").is_empty() && list("a-b").is_empty());
    }
}
