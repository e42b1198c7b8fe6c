//! Stage-2 translation: which machine memory a VM sees, and where.

use core::sync::atomic::Ordering::Relaxed;

use super::memory::Frame;
use super::page_table::{Frames, MapError, PAGE_BYTES, PageTable, hidden, output_of, page_entry};
use super::{cpu, regs};

/// Attributes of RAM: normal write-back, inner shareable, read, write, execute.
const RAM: u64 = 3 << 8 | 3 << 6 | 0b1111 << 2;
/// Attributes of device registers: device nGnRE, read and write, never executed.
const DEVICE: u64 = 1 << 54 | 3 << 6 | 0b0001 << 2;

/// Attributes of memory that the guest may only read: normal write-back, inner shareable.
const CONSTANT: u64 = 1 << 54 | 3 << 8 | 1 << 6 | 0b1111 << 2;

/// Attributes of a channel that the guest may only read: normal non-cacheable, never executed.
const CHANNEL: u64 = 1 << 54 | 1 << 6 | 0b0101 << 2;
/// Makes it writable.
const WRITABLE: u64 = 2 << 6;

/// The attributes in which RAM and devices differ: memory type, execution.
const DEVICE_OR_RAM: u64 = 1 << 54 | 0b1111 << 2;

/// VTCR_EL2 without the physical address size: 39-bit IPAs, 4 KiB pages, three
/// levels, cacheable inner-shareable walks.
const VTCR_BASE: u64 = 1 << 31 | 3 << 12 | 1 << 10 | 1 << 8 | 1 << 6 | 25;

/// The stage-2 tables of one VM.
#[derive(Debug)]
pub struct Stage2 {
    table: PageTable,
    vmid: u8,
}

impl Stage2 {
    /// Empty tables with this VMID; `None` without memory.
    pub fn new(vmid: u8, frames: Frames) -> Option<Self> {
        PageTable::new(frames).map(|table| Self { table, vmid })
    }

    /// The tables, to be looked at.
    pub fn table(&self) -> &PageTable {
        &self.table
    }

    /// Returns true if attributes are those of RAM; otherwise they are those of a device.
    pub fn is_ram(attributes: u64) -> bool {
        attributes & DEVICE_OR_RAM == RAM & DEVICE_OR_RAM
    }

    /// Returns true if attributes are those of a device.
    pub fn is_device(attributes: u64) -> bool {
        attributes & DEVICE_OR_RAM == DEVICE & DEVICE_OR_RAM
    }

    /// Returns true if attributes are those of memory that the guest may only read.
    pub fn is_constant(attributes: u64) -> bool {
        attributes & (DEVICE_OR_RAM | 3 << 6) == CONSTANT & (DEVICE_OR_RAM | 3 << 6)
    }

    /// Maps RAM.
    pub fn map_ram(&mut self, ipa: u64, pa: u64, bytes: u64) -> Result<(), MapError> {
        self.table.map(ipa, pa, bytes, RAM)
    }

    /// Maps the registers of an assigned device.
    pub fn map_device(&mut self, ipa: u64, pa: u64, bytes: u64) -> Result<(), MapError> {
        self.table.map(ipa, pa, bytes, DEVICE)
    }

    /// Maps memory of the hypervisor that the guest may read.
    pub fn map_constant(&mut self, ipa: u64, pa: u64, bytes: u64) -> Result<(), MapError> {
        self.table.map(ipa, pa, bytes, CONSTANT)
    }

    /// Maps the memory of a channel.
    pub fn map_channel(
        &mut self,
        ipa: u64,
        pa: u64,
        bytes: u64,
        writes: bool,
    ) -> Result<(), MapError> {
        self.table.map(ipa, pa, bytes, channel(writes))
    }

    /// Returns true if attributes are those of a channel that the guest may write, or may not.
    pub fn is_channel(attributes: u64, writes: bool) -> bool {
        attributes & (DEVICE_OR_RAM | 3 << 6) == channel(writes)
    }

    /// Makes the tables for RAM that is mapped page by page, with [`Stage2::touch`].
    pub fn reserve_ram(&mut self, ipa: u64, bytes: u64) -> Result<(), MapError> {
        self.table.reserve_pages(ipa, bytes)
    }

    /// Maps a page of RAM to its home if it is absent. Returns false if no single page can be
    /// mapped there.
    ///
    /// If the page is there already or on its way from one frame to another, the access
    /// that brought the caller here is to be tried again.
    #[inline(always)]
    pub fn touch(&self, ipa: u64, home: Frame) -> bool {
        let Some(entry) = self.table.page(ipa) else { return false };
        let value = page_entry(home.address(), RAM);
        if entry.compare_exchange(0, value, Relaxed, Relaxed).is_ok() {
            cpu::publish_tables();
        }
        true
    }

    /// The frame of a page of RAM that is mapped by itself, also while it is on its way to
    /// another; `None` if it is absent.
    pub fn frame(&self, ipa: u64) -> Option<Frame> {
        let entry = self.table.page(ipa)?.load(Relaxed);
        // Entries of RAM come from `touch` and `move_pages`, which have frames of the VM.
        Self::is_ram(entry).then(|| Frame::mapped(output_of(entry)))
    }

    /// Makes a page of RAM absent. Translations of it may be cached until
    /// [`cpu::invalidate_guest_translations`].
    pub fn forget(&self, ipa: u64) {
        self.store(ipa, 0);
    }

    /// Moves pages of RAM with their content. The VM is that of VTTBR_EL2. Its other CPUs
    /// go on: where they touch such a page, they wait until it is there again, by
    /// trying again ([`Stage2::touch`]).
    #[inline(never)]
    pub fn move_pages(&self, moves: &[Move]) {
        if moves.is_empty() {
            return;
        }
        for page in moves {
            self.store(page.ipa, hidden(page_entry(page.from.address(), RAM)));
        }
        cpu::publish_tables();
        for page in moves {
            cpu::invalidate_stage_2(page.ipa);
        }
        cpu::invalidate_combined_translations();
        for page in moves {
            page.from.copy_to(page.to);
        }
        if cpu::instruction_caches_are_physical() {
            for page in moves {
                cpu::invalidate_instructions(page.to.address() as usize, PAGE_BYTES as usize);
            }
        } else {
            cpu::invalidate_instruction_caches();
        }
        for page in moves {
            self.store(page.ipa, page_entry(page.to.address(), RAM));
        }
        cpu::publish_tables();
    }

    fn store(&self, ipa: u64, entry: u64) {
        if let Some(page) = self.table.page(ipa) {
            page.store(entry, Relaxed);
        }
    }

    /// VTTBR_EL2 of a VM with these tables.
    pub fn vttbr(&self) -> u64 {
        u64::from(self.vmid) << 48 | self.table.root_address()
    }
}

/// Attributes of a channel.
const fn channel(writes: bool) -> u64 {
    CHANNEL | if writes { WRITABLE } else { 0 }
}

/// VTCR_EL2 for all VMs.
pub(super) fn vtcr() -> u64 {
    VTCR_BASE | (regs::id_aa64mmfr0_el1::read() & 7) << 16
}

/// A page of RAM that moves from one frame of its VM to another.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// Its address.
    pub ipa: u64,
    /// The frame in which the page is.
    pub from: Frame,
    /// The frame to which it moves.
    pub to: Frame,
}
