//! Memory that a guest and this process share.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, mprotect,
    munmap,
};

use super::candidates::PAGE;

/// How a page takes the place of another one: it is there for the next access of this process.
pub const REPLACES: MapFlags = MapFlags::SHARED.union(MapFlags::FIXED).union(MapFlags::POPULATE);

/// Memory of a VM, mapped into this process. It is filled with zeros at first. The mapping ends with the last clone.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Mapping>);

#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and is accessed only by volatile and atomic accesses through pointers.
unsafe impl Send for Mapping {}
// SAFETY: as above; accesses of several threads and guests at a time mix values, and no value is trusted.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is the mapping that was made for this value, and no pointer into it is left.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

impl Memory {
    /// Makes memory of whole pages; the name is shown in `/proc`.
    pub fn new(name: &str, bytes: u64) -> io::Result<Self> {
        let file = memfd_create(format!("bulkhead-{name}"), MemfdFlags::CLOEXEC)?;
        ftruncate(&file, bytes)?;
        Self::of_file(file.as_fd(), 0, bytes)
    }

    /// Maps a part of a file that lies in memory.
    pub(super) fn of_file(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        // SAFETY: the kernel chooses an address at which nothing is.
        let start = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap(ptr::null_mut(), bytes, access, MapFlags::SHARED, file, offset)
        }?;
        Self::mapped(start.cast(), bytes)
    }

    /// Maps parts of a file that lies in memory, one behind the other: each an offset in the file and a number of bytes.
    pub(super) fn of_parts(file: BorrowedFd<'_>, parts: &[(u64, u64)]) -> io::Result<Self> {
        let bytes = parts.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        // SAFETY: the kernel chooses an address at which nothing is.
        let start = unsafe {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), flags)
        }?;
        let memory = Self::mapped(start.cast(), bytes)?;
        let mut at = memory.0.start.as_ptr();
        for (offset, bytes) in parts {
            // Not longer than the sum of all.
            let bytes = *bytes as usize;
            // SAFETY: the part is in the mapping above, which nobody else knows, and takes its place.
            unsafe {
                let access = ProtFlags::READ | ProtFlags::WRITE;
                mmap(at.cast(), bytes, access, MapFlags::SHARED | MapFlags::FIXED, file, *offset)
            }?;
            at = at.wrapping_add(bytes);
        }
        Ok(memory)
    }

    fn mapped(start: *mut u8, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self(Arc::new(Mapping { start, bytes })))
    }

    /// Gives each page a frame now, of the smallest size, and keeps it in RAM.
    pub(super) fn settle(&self) -> io::Result<()> {
        let (start, bytes) = (self.0.start.as_ptr().cast(), self.0.bytes);
        // A kernel without huge pages refuses the first advice.
        // SAFETY: this is a whole mapping, and neither these kinds of advice nor the lock change what is in it.
        Ok(unsafe {
            let _ = madvise(start, bytes, Advice::LinuxNoHugepage);
            madvise(start, bytes, Advice::LinuxPopulateWrite)?;
            mlock(start, bytes)
        }?)
    }

    /// Lets others only read a page of it: a guest that writes there cannot go on until the page is replaced, and this process
    /// ends if it does. It ends as well if Linux refuses.
    pub(super) fn protect_page(&self, page: u64) {
        let start = self.at(page * PAGE, PAGE as usize);
        // SAFETY: the page is in this mapping, and what is in it does not change.
        ended_by(unsafe { mprotect(start.cast(), PAGE as usize, MprotectFlags::READ) });
    }

    /// Maps a page of a file that lies in memory in the place of one of its own. Nobody sees a moment at which neither is there.
    ///
    /// Ends the process if Linux refuses: then the place may be empty, and anything may come there.
    pub(super) fn replace_page(&self, page: u64, file: BorrowedFd<'_>, offset: u64) {
        self.replace_pages(page, 1, file, offset);
    }

    /// The same for several pages, one behind the other in the file, too.
    pub(super) fn replace_pages(&self, page: u64, pages: u64, file: BorrowedFd<'_>, offset: u64) {
        let bytes = (pages * PAGE) as usize;
        let start = self.at(page * PAGE, bytes);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the pages are in this mapping and take the place of other ones, which others access as values of any kind.
        // Linux lets accesses meanwhile wait.
        ended_by(unsafe { mmap(start.cast(), bytes, access, REPLACES, file, offset) });
    }

    /// Maps nothing in the place of the pages from one on: until they are replaced, whoever accesses them ends the process.
    ///
    /// Ends the process if Linux refuses.
    pub(super) fn empty_from(&self, page: u64) {
        let bytes = self.bytes().saturating_sub(page * PAGE) as usize;
        if bytes == 0 {
            return;
        }
        let start = self.at(page * PAGE, bytes);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: the pages are in this mapping, and stay its own. An access to them is a fault, which ends the process.
        ended_by(unsafe { mmap_anonymous(start.cast(), bytes, ProtFlags::empty(), flags) });
    }

    /// Copies a page of other memory into one of its own.
    pub(super) fn copy_page(&self, page: u64, from: &Self, other: u64) {
        // Checked once for all words.
        let [to, from] = [(self, page), (from, other)]
            .map(|(memory, page)| memory.at(page * PAGE, PAGE as usize).cast::<u64>());
        let copy = |word: usize| {
            // SAFETY: both pages are in mappings that live as long as their memories, and are aligned; other accesses to them are
            // atomic or volatile.
            let [to, from] =
                [to, from].map(|start| unsafe { AtomicU64::from_ptr(start.add(word)) });
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        // Compilers unroll no loop over atomics.
        for word in (0..PAGE as usize / 8).step_by(8) {
            copy(word);
            copy(word + 1);
            copy(word + 2);
            copy(word + 3);
            copy(word + 4);
            copy(word + 5);
            copy(word + 6);
            copy(word + 7);
        }
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes as u64
    }

    /// Returns the address in this process.
    pub(crate) fn address(&self) -> u64 {
        self.0.start.as_ptr() as u64
    }

    /// Returns true if this part is in it.
    pub fn contains(&self, offset: u64, bytes: usize) -> bool {
        offset.checked_add(bytes as u64).is_some_and(|end| end <= self.bytes())
    }

    /// Copies bytes out. Panics if they are not in it.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) {
        let start = self.at(offset, bytes.len());
        for (number, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: `at` has checked that the byte is in the mapping.
            *byte = unsafe { start.add(number).read_volatile() };
        }
    }

    /// Copies bytes into it. Panics if they do not fit.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let start = self.at(offset, bytes.len());
        for (number, byte) in bytes.iter().enumerate() {
            // SAFETY: as for `read`.
            unsafe { start.add(number).write_volatile(*byte) };
        }
    }

    /// Reads a word. Panics if it is not in it, or not aligned.
    pub fn word(&self, offset: u64) -> u64 {
        self.atomic(offset).load(Ordering::Acquire)
    }

    /// Writes a word. Panics as [`Memory::word`].
    pub fn set_word(&self, offset: u64, value: u64) {
        self.atomic(offset).store(value, Ordering::Release);
    }

    /// Fills a part with zeros. Start and end are those of words.
    pub fn clear(&self, offset: u64, bytes: u64) {
        (offset..offset.saturating_add(bytes)).step_by(8).for_each(|word| self.set_word(word, 0));
    }

    fn atomic(&self, offset: u64) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "words are aligned");
        // SAFETY: `at` has checked that the word is in the mapping, which lives as long as `self`; it is aligned, because
        // mappings start at pages; other accesses to it are atomic or volatile.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    fn at(&self, offset: u64, bytes: usize) -> *mut u8 {
        assert!(
            self.contains(offset, bytes),
            "{bytes} bytes at {offset:#x} of {:#x}",
            self.bytes()
        );
        self.0.start.as_ptr().wrapping_add(offset as usize)
    }
}

/// Ends the process if Linux has refused to change a mapping, for which it lacks memory.
fn ended_by<T>(changed: rustix::io::Result<T>) {
    if let Err(error) = changed {
        // If nobody reads it, the process ends all the same.
        let _ = writeln!(
            io::stderr(),
            "error: Linux cannot move a page of a VM: {error}\n\
             no VM runs any more, and there are no results"
        );
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_their_contents() {
        let memory = Memory::new("test", 8192).expect("memory");
        let other = memory.clone();
        memory.write(4090, b"abcdefgh");
        memory.set_word(8184, 0x1122_3344_5566_7788);
        let mut bytes = [0; 8];
        other.read(4090, &mut bytes);
        assert_eq!(&bytes, b"abcdefgh");
        drop(memory);
        assert_eq!(other.word(8184), 0x1122_3344_5566_7788);
        assert!(
            other.contains(8192, 0) && !other.contains(8191, 2) && !other.contains(u64::MAX, 2)
        );
    }

    #[test]
    fn what_is_cleared_is_zero_and_the_rest_stays() {
        let memory = Memory::new("test", 8192).expect("memory");
        (0..8192).step_by(8).for_each(|word| memory.set_word(word, !0));
        memory.clear(4096, 2048);
        let words = [4088, 4096, 6136, 6144].map(|word| memory.word(word));
        assert_eq!(words, [!0, 0, 0, !0]);
    }

    #[test]
    #[should_panic = "8 bytes at 0x1ffc of 0x2000"]
    fn what_is_outside_cannot_be_read() {
        Memory::new("test", 8192).expect("memory").read(8188, &mut [0; 8]);
    }
}
