//! The measured memory behind the caches.

use std::time::Duration;

/// Pages that can be read.
pub trait Memory {
    /// Brings a page in, in which the time to read it will be taken.
    fn prepare(&mut self, page: usize);

    /// Reads all lines of the pages, in their order.
    fn read(&mut self, pages: &[usize]);

    /// Returns the time to read a page.
    fn time(&mut self, page: usize) -> Duration;

    /// Lines that [`Memory::time`] reads.
    fn timed_lines(&self) -> usize;
}
