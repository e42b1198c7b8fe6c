//! The frames of memory: at which physical addresses it lies.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::Error;
use crate::sys::candidates::PAGE;
use crate::sys::memory::Memory;

const FILE: &str = "/proc/self/pagemap";
/// Entries that are read at once.
const ENTRIES: usize = 4096;
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// Linux' table of the frames of this process.
#[derive(Debug)]
pub struct Pagemap(File);

impl Pagemap {
    /// Opens the table. Linux shows frames if this process may see them now.
    pub fn open() -> Result<Self, Error> {
        Self::of(Path::new(FILE))
    }

    fn of(path: &Path) -> Result<Self, Error> {
        File::open(path).map(Self).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => Error::HiddenFrames,
            _ => unreadable(error),
        })
    }

    /// Appends the physical address of each page of the memory; `None`: the page has no frame now.
    pub fn read(&self, memory: &Memory, addresses: &mut Vec<Option<u64>>) -> Result<(), Error> {
        self.read_at(memory.address() / PAGE, memory.bytes() / PAGE, addresses)
    }

    fn read_at(&self, page: u64, pages: u64, to: &mut Vec<Option<u64>>) -> Result<(), Error> {
        let mut bytes = [0; 8 * ENTRIES];
        let mut done = 0;
        while done < pages {
            let count = (pages - done).min(ENTRIES as u64);
            let part = &mut bytes[..8 * count as usize];
            self.0.read_exact_at(part, (page + done) * 8).map_err(unreadable)?;
            for entry in part.as_chunks().0 {
                let entry = u64::from_le_bytes(*entry);
                let frame = (entry & PRESENT != 0).then_some(entry & FRAME);
                if frame == Some(0) {
                    // Frame 0 is the firmware's.
                    return Err(Error::HiddenFrames);
                }
                to.push(frame.map(|frame| frame * PAGE));
            }
            done += count;
        }
        Ok(())
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::Io { what: "/proc/self/pagemap cannot be read", error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[u64]) -> (Pagemap, tempfile::NamedTempFile) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let bytes: Vec<u8> = entries.iter().flat_map(|it| it.to_le_bytes()).collect();
        std::fs::write(file.path(), bytes).expect("a file");
        (Pagemap::of(file.path()).expect("it is there"), file)
    }

    #[test]
    fn frames_that_are_hidden_missing_or_unknown_are_told_apart() {
        let entry = PRESENT | 1 << 61 | 1 << 55 | 0x1234;
        // The second one is in swap, and its lower bits are no frame.
        let (pagemap, _file) = of(&[0, entry, 1 << 62 | 77]);
        let mut read = Vec::new();
        pagemap.read_at(1, 2, &mut read).expect("entries");
        assert_eq!(read, [Some(0x0123_4000), None]);
        let behind = pagemap.read_at(2, 2, &mut read).expect_err("it has three entries");
        assert!(behind.to_string().contains("pagemap cannot be read"), "{behind}");
        let (hidden, _file) = of(&[PRESENT | 1 << 61]);
        let hidden = hidden.read_at(0, 1, &mut read).expect_err("no frame");
        assert!(matches!(hidden, Error::HiddenFrames), "{hidden}");
        assert!(hidden.to_string().contains("\nhelp: "), "{hidden}");
    }

    #[test]
    fn memory_that_was_settled_has_frames_of_its_own() {
        let mut candidates = crate::Candidates::new().expect("a file");
        let (pages, mut first, mut second) = (64, Vec::new(), Vec::new());
        let pagemap = Pagemap::open().expect("this process may look at itself");
        match pagemap.read(candidates.add(pages).expect("memory"), &mut first) {
            Err(Error::HiddenFrames) => return eprintln!("skipped: this process sees no frames"),
            result => result.expect("entries"),
        }
        let memory = candidates.memory(&[(32, 32), (0, 32)]).expect("memory");
        pagemap.read(&memory, &mut second).expect("entries");
        second.rotate_left(32);
        assert_eq!(first, second, "to map pages elsewhere moves them to no other frame");
        first.sort_unstable();
        first.dedup();
        assert!(first.len() == pages as usize && first[0].is_some(), "{first:?}");
    }
}
