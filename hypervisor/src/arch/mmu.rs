//! The translation regime of EL2: write or execute but never both, and one to one but for the
//! hypervisor's own memory where that lies in colours.

use core::ops::Range;

use super::page_table::PageTable;
use super::regs;

/// MAIR_EL2: index 0 device nGnRnE, 1 normal write-back, 2 normal non-cacheable.
pub const MAIR: u64 = 0x44_ff_00;

/// The same while VMs are built: constants that shall not be cached later are read often.
const MAIR_BUILDING: u64 = 0xff_ff_00;

/// TCR_EL2 without the physical address size: 39-bit input addresses, 4 KiB
/// pages, cacheable inner-shareable walks.
pub const TCR_BASE: u64 = 1 << 31 | 1 << 23 | 3 << 12 | 1 << 10 | 1 << 8 | 25;

/// SCTLR_EL2: reserved ones, MMU, data and instruction cache, stack alignment.
pub const EARLY_SCTLR: u64 = 0x30c5_0830 | 1 << 12 | 1 << 3 | 1 << 2 | 1;

/// SCTLR_EL2 with the final tables: writable memory is never executable.
pub const FINAL_SCTLR: u64 = EARLY_SCTLR | 1 << 19;

/// Attributes of an early block: normal, inner shareable, accessed, valid.
pub const EARLY_BLOCK: u64 = 1 << 10 | SHAREABLE | RES1 | NORMAL | 1;

const SHAREABLE: u64 = 3 << 8;
const NORMAL: u64 = 1 << 2;
const UNCACHED: u64 = 2 << 2;
const DEVICE: u64 = 0;
const READ_ONLY: u64 = 1 << 7;
const EXECUTE_NEVER: u64 = 1 << 54;
/// Bit 6 (AP\[1\]) is RES1 in a regime with one exception level.
const RES1: u64 = 1 << 6;

/// The kind of access to memory that EL2 has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Code: read and execute.
    Code,
    /// Constants: read.
    Constants,
    /// Constants that leave no traces in the caches once VMs run ([`stop_caching`]).
    UncachedConstants,
    /// Data: read and write.
    Data,
    /// Device registers: read and write, never cached, reordered or merged.
    Device,
}

impl Access {
    /// Attribute bits of a leaf entry.
    pub const fn attributes(self) -> u64 {
        RES1 | match self {
            Self::Code => NORMAL | SHAREABLE | READ_ONLY,
            Self::Constants => NORMAL | SHAREABLE | READ_ONLY | EXECUTE_NEVER,
            Self::UncachedConstants => UNCACHED | SHAREABLE | READ_ONLY | EXECUTE_NEVER,
            Self::Data => NORMAL | SHAREABLE | EXECUTE_NEVER,
            Self::Device => DEVICE | EXECUTE_NEVER,
        }
    }
}

/// TCR_EL2 on this CPU.
pub fn tcr() -> u64 {
    TCR_BASE | (regs::id_aa64mmfr0_el1::read() & 7) << 16
}

unsafe extern "C" {
    static mut early_table: [u64; 512];
    fn replace_tables(root: u64, sctlr: u64, mair: u64, first: *const Move, end: *const Move);
}

/// Maps the gigabyte around a device for use before the final tables, unless
/// something is mapped there already. Returns false then, and the device has to wait.
pub fn map_early_device(address: u64) -> bool {
    let Some(slot) = usize::try_from(address >> 30).ok().filter(|&slot| slot < 512) else {
        return false;
    };
    // SAFETY: only the boot CPU runs, and only this function and the entry code
    // touch the early table; an invalid entry may become valid at any time.
    unsafe {
        let entry = (&raw mut early_table).cast::<u64>().add(slot);
        if entry.read() != 0 {
            return false;
        }
        entry.write((slot as u64) << 30 | EXECUTE_NEVER | 1 << 10 | RES1 | DEVICE | 1);
    }
    super::cpu::publish_tables();
    true
}

/// Makes a range of RAM usable before the final tables, where no device is in the way.
pub fn map_early_ram(start: u64, end: u64) {
    for slot in start >> 30..end.div_ceil(1 << 30).min(512) {
        // SAFETY: as in `map_early_device`.
        unsafe {
            let entry = (&raw mut early_table).cast::<u64>().add(slot as usize);
            if entry.read() == 0 {
                entry.write(slot << 30 | EARLY_BLOCK);
            }
        }
    }
    super::cpu::publish_tables();
}

/// A page of the hypervisor that moves to another frame when the final tables come.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// Its address.
    pub page: u64,
    /// The frame, mapped one to one before.
    pub frame: u64,
}

/// Moves pages to their frames and replaces the early tables by the final ones, which
/// map them there.
///
/// # Safety
/// The tables map the running image, its stack and everything else that EL2
/// touches from now on at the address that it has; the frames are used by nothing else.
/// The image was loaded where it runs.
pub unsafe fn switch_to(tables: &PageTable, moves: &[Move]) {
    let Range { start, end } = moves.as_ptr_range();
    super::cpu::publish_tables();
    // SAFETY: the caller vouches for tables and frames; the code was loaded where it
    // runs, so that it goes on at the same address while the MMU is off.
    unsafe { replace_tables(tables.root_address(), FINAL_SCTLR, MAIR_BUILDING, start, end) }
}

/// From now on these bytes, mapped as [`Access::UncachedConstants`], are not cached.
pub fn stop_caching(tables: &PageTable, bytes: &[u8]) {
    super::cpu::clean_and_invalidate(bytes.as_ptr() as usize, bytes.len());
    let none = core::ptr::null();
    // SAFETY: these tables are in use. The memory attribute of constants changes while the
    // MMU is off, and no line of them is in a cache.
    unsafe { replace_tables(tables.root_address(), FINAL_SCTLR, MAIR, none, none) }
}
