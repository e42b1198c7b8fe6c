//! Memory of a guest whose pages move to other frames while the guest uses it.
//!
//! Guests see one range of addresses. All frames that its pages can have are mapped a second time, for as long as this value
//! lives: there they are pinned and looked at, and from there pages are copied. To move a page maps another page of the file
//! in its place, which allocates no frame.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use super::memory::Memory;

/// The frame of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Frame {
    /// That which the page has at first.
    Home,
    /// The spare one of this number.
    Spare(u32),
}

/// Memory whose pages move.
#[derive(Debug)]
pub struct Movable {
    file: Arc<OwnedFd>,
    memory: Memory,
    homes: Frames,
    spare: Frames,
}

/// Frames, mapped for good, and the pages of the file that they are.
#[derive(Debug)]
struct Frames {
    memory: Memory,
    pages: Vec<u64>,
}

impl Movable {
    /// Makes it of memory that others see, and of the frames that its pages can have.
    pub(super) fn new(
        file: Arc<OwnedFd>,
        memory: Memory,
        homes: (Memory, Vec<u64>),
        spare: (Memory, Vec<u64>),
    ) -> Self {
        let frames = |(memory, pages)| Frames { memory, pages };
        Self { file, memory, homes: frames(homes), spare: frames(spare) }
    }

    /// Returns the memory that guests see.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns all first frames of its pages, in their order.
    pub fn homes(&self) -> &Memory {
        &self.homes.memory
    }

    /// Returns all spare frames, in their order.
    pub fn spare(&self) -> &Memory {
        &self.spare.memory
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> u64 {
        self.homes.pages.len() as u64
    }

    /// Returns the number of the file, which the filter of system calls has to know.
    pub fn file(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Moves a page, which is in the frame `from`, to the frame `to`, in which no page is. Nobody may write to the page
    /// meanwhile: with `hides`, guests that do so stop ([`Exit::Hidden`](crate::Exit::Hidden)) until it has moved.
    ///
    /// Ends the process if Linux has no memory to change a mapping.
    pub fn move_page(&self, page: u64, from: Frame, to: Frame, hides: bool) {
        if hides {
            self.memory.protect_page(page);
        }
        let frame = |frame| match frame {
            Frame::Home => (&self.homes, page),
            Frame::Spare(number) => (&self.spare, u64::from(number)),
        };
        let ((from, at), (to, place)) = (frame(from), frame(to));
        to.memory.copy_page(place, &from.memory, at);
        self.put(page, to.pages[place as usize]);
    }

    /// Puts all pages from one on into their first frames as these are, without what is in the pages. Nobody may access them
    /// meanwhile. Other CPUs have to forget translations once, and not for each page.
    pub fn forget_from(&self, first: u64) {
        self.memory.empty_from(first);
        let homes = self.homes.pages.get(first as usize..).unwrap_or_default();
        let mut page = first;
        for run in homes.chunk_by(|one, next| one + 1 == *next) {
            let pages = run.len() as u64;
            let offset = run[0] * super::candidates::PAGE;
            self.memory.replace_pages(page, pages, self.file.as_fd(), offset);
            page += pages;
        }
    }

    fn put(&self, page: u64, in_file: u64) {
        self.memory.replace_page(page, self.file.as_fd(), in_file * super::candidates::PAGE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Candidates, PAGE, Pagemap};

    #[test]
    fn pages_keep_their_contents_in_other_frames_and_no_frame_is_new() {
        let mut candidates = Candidates::new().expect("a file");
        candidates.add(16).expect("memory");
        let memory = candidates.movable(&[(8, 2), (1, 1)], &[(4, 2), (12, 1)]).expect("memory");
        candidates.keep(&[(1, 1), (4, 2), (8, 2), (12, 1)]).expect("holes");
        let guest = memory.memory();
        (0..3).for_each(|page| guest.set_word(page * PAGE + 16, page + 1));
        for (page, from, to) in [
            (0, Frame::Home, Frame::Spare(2)),
            (2, Frame::Home, Frame::Spare(0)),
            (0, Frame::Spare(2), Frame::Spare(1)),
            (2, Frame::Spare(0), Frame::Home),
        ] {
            memory.move_page(page, from, to, page == 0);
            // It can be written again.
            guest.set_word(page * PAGE, 9);
        }
        let words = |memory: &Memory| [0, 1, 2].map(|page| memory.word(page * PAGE + 16));
        assert_eq!(words(guest), [1, 2, 3]);
        assert_eq!(memory.spare().word(PAGE + 16), 1, "the page is in this frame");
        let mut frames = Vec::new();
        let pagemap = Pagemap::open().expect("this process may look at itself");
        let read: Result<(), _> = [guest, memory.homes(), memory.spare()]
            .iter()
            .try_for_each(|memory| pagemap.read(memory, &mut frames));
        if read.is_ok() {
            let [_, homes, spare] = [0, 3, 6].map(|from| frames[from..from + 3].to_vec());
            assert_eq!(frames[..3], [spare[1], homes[1], homes[2]]);
        }
        guest.set_word(16, 77);
        memory.forget_from(0);
        assert_eq!(words(guest), [1, 2, 3], "it is as it was when it left");
    }
}
