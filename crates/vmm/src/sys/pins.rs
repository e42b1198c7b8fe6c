//! Keeps memory in its frames.
//!
//! Linux may move locked pages, but no pages that a device could be told to access. Buffers that are registered with io_uring
//! are such pages, until the ring is closed: at the latest when the process ends, however that happens. Nothing is ever
//! done with the ring.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::memory::Memory;

/// Bytes of `struct io_uring_params`.
const PARAMETERS: usize = 120;
/// `IORING_REGISTER_BUFFERS`
const REGISTER_BUFFERS: libc::c_long = 0;
/// `IORING_UNREGISTER_BUFFERS`
const UNREGISTER_BUFFERS: libc::c_long = 1;
/// Most bytes of a buffer.
const BUFFER_BYTES: u64 = 1 << 30;

/// Pages that Linux does not move as long as this value lives.
#[derive(Debug)]
pub struct Pins {
    ring: OwnedFd,
    /// Must not be given back before.
    _memories: Vec<Memory>,
}

impl Pins {
    /// Pins memory in the frames that it has, or in others if those are in a zone that is to stay movable.
    ///
    /// # Errors
    ///
    /// Linux has no io_uring, or not for this process, or does not let it lock all of the memory.
    pub fn new(memories: &[&Memory]) -> io::Result<Self> {
        let mut parameters = [0u64; PARAMETERS / 8];
        // SAFETY: the call writes a structure of numbers of this size, which is aligned and lives through the call.
        let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
        let ring = RawFd::try_from(ring).ok().filter(|it| *it >= 0);
        let ring = ring.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the call has made this file for us, and nobody else has its number.
        let ring = unsafe { OwnedFd::from_raw_fd(ring) };
        let buffers = memories.iter().flat_map(|memory| {
            let (address, bytes) = (memory.address(), memory.bytes());
            let starts = (0..bytes).step_by(BUFFER_BYTES as usize);
            starts.map(move |start| libc::iovec {
                iov_base: (address + start) as *mut libc::c_void,
                iov_len: (bytes - start).min(BUFFER_BYTES) as usize,
            })
        });
        let buffers: Vec<libc::iovec> = buffers.collect();
        // SAFETY: the call reads as many structures as it is told from a list that lives through the call. What they name is
        // whole mappings, which this value keeps; and no request will ever read or write there.
        let result = unsafe {
            let (file, count) = (ring.as_raw_fd(), buffers.len());
            let (call, what) = (libc::SYS_io_uring_register, REGISTER_BUFFERS);
            libc::syscall(call, file, what, buffers.as_ptr(), count)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let memories = memories.iter().map(|&memory| memory.clone()).collect();
        Ok(Self { ring, _memories: memories })
    }
}

/// Linux closes rings some time later: the memory is given back at once.
impl Drop for Pins {
    fn drop(&mut self) {
        let none = std::ptr::null::<libc::iovec>();
        // SAFETY: the call takes no argument but the file, which is open.
        let _ = unsafe {
            let (call, file) = (libc::SYS_io_uring_register, self.ring.as_raw_fd());
            libc::syscall(call, file, UNREGISTER_BUFFERS, none, 0)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_memory_is_used_as_before_and_given_back() {
        let memory = Memory::new("pinned", 64 << 10).expect("memory");
        memory.set_word(8, 7);
        match Pins::new(&[&memory]) {
            Err(error) => eprintln!("skipped, because this process can pin nothing: {error}"),
            Ok(pins) => {
                memory.set_word(4096, 9);
                drop(pins);
            }
        }
        assert_eq!(memory.word(8), 7);
        assert!(Pins::new(&[]).is_err(), "there is nothing to pin");
    }
}
