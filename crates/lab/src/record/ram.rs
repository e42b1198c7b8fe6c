//! The RAM of a machine in QEMU as a file in memory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process;

use qemu::Board;
use rustix::fs::{MemfdFlags, memfd_create};
use system::plan::Plan;
use trace::rings::Ram;

use crate::failure::Failure;

/// RAM that QEMU and this process share. It is gone when both have ended.
#[derive(Debug)]
pub struct SharedRam {
    file: File,
    /// Address of its first byte in the machine.
    start: u64,
    bytes: u64,
}

impl SharedRam {
    /// Creates the RAM of a board on which a plan is to run.
    pub fn of(plan: &Plan, board: &Board) -> Result<Self, Failure> {
        let (Some(bytes), Some(bank)) = (board.memory_bytes, plan.platform.memory.first()) else {
            let name = &plan.platform.board;
            return Err(Failure::new(
                "no-trace",
                format!(
                    "the RAM of the board `{name}` cannot be shared, so no trace of it can be recorded"
                ),
            ));
        };
        Self::new(bank.start.0, bytes).map_err(|error| {
            Failure::new("no-trace", format!("the RAM of the machine cannot be shared: {error}"))
        })
    }

    /// Creates RAM of this number of bytes that starts at an address of the machine.
    fn new(start: u64, bytes: u64) -> io::Result<Self> {
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

    /// Writes bytes to an address of the machine, as firmware may have before it starts.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.offset(address)?)
    }

    fn offset(&self, address: u64) -> io::Result<u64> {
        address.checked_sub(self.start).ok_or_else(|| outside(address))
    }
}

impl Ram for SharedRam {
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let offset = self.offset(address)?;
        self.file.read_exact_at(bytes, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => outside(address),
            _ => error,
        })
    }
}

fn outside(address: u64) -> io::Error {
    io::Error::other(format!("there is no RAM at {address:#x}"))
}
