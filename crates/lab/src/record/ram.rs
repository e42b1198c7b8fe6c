//! The RAM of a machine in QEMU as a file in memory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process;

use rustix::fs::{MemfdFlags, memfd_create};
use trace::rings::Ram;

/// RAM that QEMU and this process share. It is gone when both have ended.
#[derive(Debug)]
pub struct SharedRam {
    file: File,
    /// Address of its first byte in the machine.
    start: u64,
    bytes: u64,
}

impl SharedRam {
    /// Creates RAM of this number of bytes that starts at an address of the machine.
    pub fn new(start: u64, bytes: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("bulkhead-ram", MemfdFlags::CLOEXEC)?);
        file.set_len(bytes)?;
        Ok(Self { file, start, bytes })
    }

    /// Returns the arguments for QEMU.
    pub fn arguments(&self) -> [String; 4] {
        let path = format!("/proc/{}/fd/{}", process::id(), self.file.as_raw_fd());
        let object =
            format!("memory-backend-file,id=ram,share=on,size={},mem-path={path}", self.bytes);
        ["-object".into(), object, "-machine".into(), "memory-backend=ram".into()]
    }
}

impl Ram for SharedRam {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let outside = || io::Error::other(format!("there is no RAM at {address:#x}"));
        let offset = address.checked_sub(self.start).ok_or_else(outside)?;
        self.file.read_exact_at(bytes, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => outside(),
            _ => error,
        })
    }
}
