//! Stage-2 translation: which machine memory a VM sees, and where.

use super::page_table::{Frames, MapError, PageTable};
use super::regs;

/// Attributes of RAM: normal write-back, inner shareable, read, write, execute.
const RAM: u64 = 3 << 8 | 3 << 6 | 0b1111 << 2;
/// Attributes of device registers: device nGnRE, read and write, never executed.
const DEVICE: u64 = 1 << 54 | 3 << 6 | 0b0001 << 2;

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

    /// Whether attributes are those of RAM; otherwise they are those of a device.
    pub fn is_ram(attributes: u64) -> bool {
        attributes & DEVICE_OR_RAM == RAM & DEVICE_OR_RAM
    }

    /// Maps RAM.
    pub fn map_ram(&mut self, ipa: u64, pa: u64, bytes: u64) -> Result<(), MapError> {
        self.table.map(ipa, pa, bytes, RAM)
    }

    /// Maps the registers of an assigned device.
    pub fn map_device(&mut self, ipa: u64, pa: u64, bytes: u64) -> Result<(), MapError> {
        self.table.map(ipa, pa, bytes, DEVICE)
    }

    /// Makes these the tables of the VM that this CPU runs.
    pub fn activate(&self) {
        regs::vtcr_el2::write(VTCR_BASE | (regs::id_aa64mmfr0_el1::read() & 7) << 16);
        regs::vttbr_el2::write(u64::from(self.vmid) << 48 | self.table.root_address());
        super::cpu::isb();
    }
}
