//! The RAM behind the program, given out page by page and by colour.

use core::fmt;
use core::ops::Range;
use core::slice::from_ref;

use policy::color::{ColorSet, FrameAllocator, Geometry, OutOfFrames, RamError, Rotation};
use spin::{Mutex, MutexGuard};

use crate::arch;

/// One bit for each page of 1 GiB, and what rounding takes.
const WORDS: usize = 4096 + 64;

struct Storage {
    ram: Range<u64>,
    reserved: Range<u64>,
    words: [u64; WORDS],
}

static STORAGE: Mutex<Storage> =
    Mutex::new(Storage { ram: 0..0, reserved: 0..0, words: [0; WORDS] });

/// A page of RAM that belongs to the owner of this value.
#[derive(Debug, Eq, PartialEq)]
pub struct PageFrame(u64);

impl PageFrame {
    /// Guest physical address of its first byte.
    pub const fn address(&self) -> u64 {
        self.0
    }
}

/// The free RAM of the guest, by colour. What is taken stays taken.
#[derive(Debug)]
pub struct Memory {
    frames: FrameAllocator<'static>,
}

/// The reason why there is no memory to give out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MemoryError {
    /// It has been taken before.
    Taken,
    /// Without a device tree the size of the RAM is not known.
    UnknownRam,
    /// The RAM cannot be coloured: less than 4 MiB, for example.
    Ram(RamError),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => f.write_str("the memory has been taken before"),
            Self::UnknownRam => f.write_str("no device tree tells the size of the RAM"),
            Self::Ram(error) => write!(f, "the RAM behind the program: {error}"),
        }
    }
}

impl core::error::Error for MemoryError {}

impl Memory {
    /// Takes all RAM from 2 MiB behind its start, at most up to 1 GiB, without the device tree. Works
    /// once.
    pub fn take(geometry: Geometry) -> Result<Self, MemoryError> {
        let bytes = crate::arguments::ram_bytes_of_tree().ok_or(MemoryError::UnknownRam)?;
        let storage = STORAGE.try_lock().ok_or(MemoryError::Taken)?;
        let Storage { ram, reserved, words } = MutexGuard::leak(storage);
        (*ram, *reserved) = arch::take_free_ram(bytes).ok_or(MemoryError::Taken)?;
        let frames = FrameAllocator::new(geometry, from_ref(ram), from_ref(reserved), words);
        Ok(Self { frames: frames.map_err(MemoryError::Ram)? })
    }

    /// The colours of its pages.
    pub fn geometry(&self) -> Geometry {
        self.frames.geometry()
    }

    /// Number of free pages of these colours.
    pub fn free(&self, colors: ColorSet) -> u64 {
        colors.iter().map(|color| self.frames.free_of(color)).sum()
    }

    /// Takes a page of the next of the colours that has one.
    pub fn allocate(&mut self, colors: &mut Rotation) -> Result<PageFrame, OutOfFrames> {
        self.frames.allocate_next(colors).map(PageFrame)
    }
}
