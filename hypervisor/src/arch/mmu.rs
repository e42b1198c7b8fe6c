//! The translation regime of EL2: one to one, write or execute but never both.

use super::page_table::PageTable;
use super::regs;

/// MAIR_EL2: index 0 device nGnRnE, 1 normal write-back, 2 device nGnRE.
pub const MAIR: u64 = 0x04_ff_00;

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
const DEVICE: u64 = 0;
const READ_ONLY: u64 = 1 << 7;
const EXECUTE_NEVER: u64 = 1 << 54;
/// Bit 6 (AP\[1\]) is RES1 in a regime with one exception level.
const RES1: u64 = 1 << 6;

/// What EL2 may do with memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Code: read and execute.
    Code,
    /// Constants: read.
    Constants,
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
    fn replace_tables(root: u64, sctlr: u64);
}

/// Maps the gigabyte around a device for use before the final tables, unless
/// something is mapped there already (then the device must wait).
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

/// Replaces the early tables by the final ones.
///
/// # Safety
/// The tables map the running image, its stack and everything else that EL2
/// touches from now on, one to one.
pub unsafe fn switch_to(tables: &PageTable) {
    super::cpu::publish_tables();
    // SAFETY: the caller vouches for the tables; the code runs one to one, so
    // that it goes on at the same address while the MMU is off.
    unsafe { replace_tables(tables.root_address(), FINAL_SCTLR) }
}
