//! Memory and device registers at the addresses that the plan names.
//!
//! Safe because of what the plan's check guarantees and `start` keeps: ranges of
//! VMs, devices and the hypervisor are disjoint, and the final tables of EL2 map
//! exactly these.

use policy::color::Area;

use crate::arch::heap;
use crate::arch::memory::GuestMemory;
use crate::arch::mmio::Mmio;
use crate::arch::mmu::Move;
use crate::arch::page_table::{Frames, PageTable};
use crate::plan::{Ram, Range};

/// RAM of a VM, or a channel. The plan was checked.
pub fn guest_memory(ram: &Ram) -> GuestMemory {
    // SAFETY: the checked plan gives these frames to one VM alone, or to the VMs of one channel,
    // outside the memory of the hypervisor; the final tables map them as data.
    unsafe { GuestMemory::new(ram.stripe, ram.guest.bytes) }
}

/// Returns where the stage-2 tables of a VM with colours lie: in its own.
pub fn table_frames(ram: &Ram, area: Area) -> Frames {
    // SAFETY: as above; the frames behind those of the guest are in nobody's RAM.
    unsafe { Frames::of_stripe(ram.stripe, area.tables()) }
}

/// Returns where the tables of EL2 lie: behind what else the hypervisor has in its colours, if it
/// has some, in frames with these numbers.
pub fn own_table_frames(own: Option<&Ram>, numbers: core::ops::Range<u64>) -> Frames {
    let Some(own) = own else { return Frames::HEAP };
    // SAFETY: the checked plan gives the area to the hypervisor alone; `address_space` uses
    // these frames for nothing else. They are mapped one to one until all tables are made.
    unsafe { Frames::of_stripe(own.stripe, numbers) }
}

/// Calls `build` with the heap in the window of a VM, if it has one.
pub fn with_heap<T>(window: Option<Range>, build: impl FnOnce() -> T) -> T {
    // SAFETY: `address_space` maps the window to frames that the checked plan gives to one
    // VM for this. What is left of the heap is given back to it.
    let replace = |memory| unsafe { heap::replace(memory) };
    let rest = window.map(|window| replace(window.start as usize..window.end() as usize));
    let result = build();
    if let Some(rest) = rest {
        replace(rest);
    }
    result
}

/// Registers of a device that the hypervisor drives.
pub fn registers(range: Range) -> Mmio {
    // SAFETY: the range comes from the plan's platform, is mapped as device memory
    // (early or final tables) and, as a device, holds no Rust object.
    unsafe { Mmio::new(range.start as usize, range.bytes as usize) }
}

/// The payload behind the image, or its start.
pub fn payload(start: usize, bytes: usize) -> &'static [u8] {
    // SAFETY: the boot loader put it there, the tables map it, nothing writes it.
    unsafe { crate::arch::memory::constants(start, bytes) }
}

/// The device tree that the firmware passed, if the address holds one.
pub fn firmware_tree(address: usize) -> Option<&'static [u8]> {
    const MAGIC: u32 = 0xd00d_feed;
    const MAX_BYTES: usize = 2 << 20;
    if address == 0 || !address.is_multiple_of(8) || !crate::arch::cpu::is_readable(address) {
        return None;
    }
    // SAFETY: the address translates (checked above; early tables map its
    // gigabyte), and nothing writes there before VMs are loaded.
    let header = unsafe { crate::arch::memory::constants(address, 8) };
    let word = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let bytes = word(4) as usize;
    if word(0) != MAGIC || bytes > MAX_BYTES || !crate::arch::cpu::is_readable(address + bytes) {
        return None;
    }
    // SAFETY: as above, to the end that its header names.
    Some(unsafe { crate::arch::memory::constants(address, bytes) })
}

/// Gives the heap its memory: from the end of the image to the end of what the
/// plan gives to the hypervisor.
pub fn init_heap(start: u64, end: u64) {
    // SAFETY: the range lies behind image and payload in the memory that belongs
    // to the hypervisor alone.
    unsafe { heap::replace(start as usize..end as usize) };
}

/// Runs on the final tables from now on, with these pages in other frames.
pub fn switch_tables(tables: &PageTable, moves: &[Move]) {
    // SAFETY: `address_space` maps image, payload, heap and devices where they are in use,
    // and gives each page that moves a frame that nobody else has.
    unsafe { crate::arch::mmu::switch_to(tables, moves) }
}
