//! The memory map of a guest: addresses as they are, nothing both writable and executable.
//!
//! - the first GiB: devices (nGnRnE), never executable;
//! - the first 2 MiB of RAM in pages: code read-only and executable, constants read-only, data and
//!   stacks writable, guard pages and the rest not mapped;
//! - the device tree, if it lies elsewhere in the second GiB: read-only;
//! - the rest of RAM in blocks, writable, once a guest asks for it;
//! - windows that a test opens on purpose.
//!
//! Spaces of tasks ([`super::space`]) are copies of this map with pages of their own.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::{cpu, layout, stacks};

const ENTRIES: usize = 512;
const GIB: usize = 1 << 30;
const MIB_2: usize = 2 << 20;
pub(super) const PAGE: usize = abi::limits::PAGE_BYTES as usize;

/// Start of RAM.
pub const RAM_BASE: usize = abi::guest::RAM as usize;

#[repr(C, align(4096))]
pub(super) struct Table(pub(super) [AtomicU64; ENTRIES]);

impl Table {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; ENTRIES])
    }

    fn address(&self) -> u64 {
        &raw const *self as u64
    }
}

pub(super) static ROOT: Table = Table::new();
static RAM_BLOCKS: Table = Table::new();
static RAM_PAGES: Table = Table::new();

/// A table, or a page at the last level.
pub const TABLE: u64 = 0b11;
/// The kind of an entry of a table of level 1 or 2 that maps a block at once.
pub const BLOCK: u64 = 0b01;
const ACCESSED: u64 = 1 << 10;
/// Memory of a device.
pub const DEVICE: u64 = ACCESSED;
/// Normal memory, write-back and inner shareable.
pub const NORMAL: u64 = ACCESSED | 1 << 2 | 3 << 8;
const UNCACHED: u64 = ACCESSED | 2 << 2 | 2 << 8;
/// Bit of an entry: the memory is not writable.
pub const READ_ONLY: u64 = 1 << 7;
pub(super) const EL1_NO_EXECUTE: u64 = 1 << 53;
/// EL0 executes nothing there.
pub const EL0_NO_EXECUTE: u64 = 1 << 54;
/// Neither EL1 nor EL0 executes anything there.
pub const NO_EXECUTE: u64 = EL1_NO_EXECUTE | EL0_NO_EXECUTE;

/// Attribute 0: device nGnRnE, 1: normal write-back, 2: normal non-cacheable.
pub const MAIR: u64 = 0x44_ff00;
/// 39-bit addresses, 4 KiB pages, walks inner shareable and write-back, 40-bit output, no TTBR1.
pub(super) const TCR: u64 = 25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | 2 << 32;
/// MMU, caches, stack alignment check, WFI at EL0, and writable memory never executable; reserved bits as one.
pub const SCTLR: u64 = 0x30d0_0800 | 1 | 1 << 2 | 1 << 3 | 1 << 12 | 1 << 16 | 1 << 19;

/// Fills the tables; `device_tree` is its address or 0. Called once, with the MMU off.
pub(super) extern "C" fn build_tables(device_tree: usize) {
    ROOT.0[0].store(BLOCK | DEVICE | NO_EXECUTE, Relaxed);
    ROOT.0[RAM_BASE / GIB].store(RAM_BLOCKS.address() | TABLE, Relaxed);
    RAM_BLOCKS.0[0].store(RAM_PAGES.address() | TABLE, Relaxed);

    let map = |from: usize, to: usize, attributes: u64| {
        for page in (from..to).step_by(PAGE) {
            RAM_PAGES.0[page % MIB_2 / PAGE].store(page as u64 | attributes | TABLE, Relaxed);
        }
    };
    let layout = layout::layout();
    map(RAM_BASE, layout.image, NORMAL | READ_ONLY | NO_EXECUTE);
    map(layout.image, layout.rodata, NORMAL | READ_ONLY | EL0_NO_EXECUTE);
    map(layout.rodata, layout.data, NORMAL | READ_ONLY | NO_EXECUTE);
    map(layout.data, layout.end, NORMAL | NO_EXECUTE);
    for page in stacks::guard_pages() {
        RAM_PAGES.0[page % MIB_2 / PAGE].store(0, Relaxed);
    }

    // A device tree has at most 2 MiB, so it reaches into two blocks at most.
    if (RAM_BASE + MIB_2..RAM_BASE + GIB).contains(&device_tree) {
        let first = device_tree % GIB / MIB_2;
        for block in first..(first + 2).min(ENTRIES) {
            let address = (RAM_BASE + block * MIB_2) as u64;
            RAM_BLOCKS.0[block].store(address | BLOCK | NORMAL | READ_ONLY | NO_EXECUTE, Relaxed);
        }
    }
}

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Maps all of RAM from 2 MiB behind its start that is not mapped yet, up to 1 GiB: writable, in
/// blocks. `bytes` are those of all RAM. Returns the range of RAM there, and the part of it that is not free
/// because the device tree lies in it; `None` when called again: the memory belongs to the first caller.
pub fn take_free_ram(bytes: u64) -> Option<(Range<u64>, Range<u64>)> {
    if TAKEN.swap(true, Relaxed) {
        return None;
    }
    let blocks = (bytes as usize / MIB_2).clamp(1, ENTRIES);
    let mut taken = 0..0;
    for (block, entry) in RAM_BLOCKS.0.iter().enumerate().take(blocks).skip(1) {
        let address = (RAM_BASE + block * MIB_2) as u64;
        if entry.load(Relaxed) == 0 {
            entry.store(address | BLOCK | NORMAL | NO_EXECUTE, Relaxed);
        } else {
            let start = if taken.is_empty() { address } else { taken.start };
            taken = start..address + MIB_2 as u64;
        }
    }
    flush();
    Some(((RAM_BASE + MIB_2) as u64..(RAM_BASE + blocks * MIB_2) as u64, taken))
}

/// The kind of mapping of a window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Window {
    /// Normal memory without caches, readable and writable.
    ReadWrite,
    /// Normal memory without caches, readable and executable.
    Execute,
    /// Normal memory, readable.
    Read,
}

const WINDOW: usize = 8;

/// Maps the GiB around `address` (below 2^40) at a place of its own; returns the place of `address`.
pub fn open_window(address: u64, window: Window) -> u64 {
    let (slot, attributes) = match window {
        Window::ReadWrite => (WINDOW, UNCACHED | NO_EXECUTE),
        Window::Execute => (WINDOW + 1, UNCACHED | READ_ONLY | EL0_NO_EXECUTE),
        Window::Read => (WINDOW + 2, NORMAL | READ_ONLY | NO_EXECUTE),
    };
    let frame = address & 0xff_ffff_ffff & !(GIB as u64 - 1);
    // Break before make: the entry is invalid, and known to be, before it gets its new value.
    ROOT.0[slot].store(0, Relaxed);
    flush();
    ROOT.0[slot].store(frame | BLOCK | attributes, Relaxed);
    flush();
    (slot * GIB) as u64 + address % GIB as u64
}

/// Guest physical address behind an address that this processor can read now.
pub fn physical_address<T>(address: *const T) -> Option<u64> {
    const PAGE_FRAME: u64 = 0xff_ffff_f000;
    // No other thread translates in between.
    let result = cpu::without_interrupts(|| {
        let result: u64;
        // SAFETY: translates without access to memory.
        unsafe {
            core::arch::asm!(
                "at s1e1r, {address}", "isb", "mrs {result}, par_el1",
                address = in(reg) address, result = out(reg) result,
                options(nostack, preserves_flags)
            );
        }
        result
    });
    (result & 1 == 0).then_some(result & PAGE_FRAME | address as u64 & 0xfff)
}

pub(super) fn flush() {
    // SAFETY: makes table entries take effect; the maps of the program itself do not change.
    unsafe {
        core::arch::asm!(
            "dsb ishst",
            "tlbi vmalle1is",
            "dsb ish",
            "isb",
            options(nostack, preserves_flags)
        );
    }
}
