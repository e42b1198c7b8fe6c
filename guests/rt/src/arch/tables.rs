//! Translation tables of any granule, made to be looked at by a hypervisor, and calls out of them.

use core::arch::global_asm;
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::mmu::{
    self, BLOCK, EL0_NO_EXECUTE, EL1_NO_EXECUTE, NO_EXECUTE, NORMAL, READ_ONLY, ROOT, TABLE,
};
use super::ram::{self, Arena, Words};
use super::space::{NOT_GLOBAL, USER, USER_BASE};

global_asm!(include_str!("call.s"));

unsafe extern "C" {
    fn call_in_tables(ttbr0: u64, tcr: u64, function: u64, argument: u64) -> u64;
}

/// Bits of a virtual address.
const BITS: u32 = 39;
/// TCR_EL1: size of the granule of TTBR0_EL1.
const TG0: u64 = 3 << 14;
const ADDRESS: u64 = 0xffff_ffff_f000;
const LAST_LEVEL: u32 = 3;
/// Entries of the first table, of 1 GiB each, that map the program: devices and RAM.
const PROGRAM_ENTRIES: usize = 2;

/// Size of pages and tables.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Granule {
    /// 4 KiB.
    Kib4,
    /// 16 KiB.
    Kib16,
    /// 64 KiB.
    Kib64,
}

impl Granule {
    /// log2 of its bytes.
    const fn shift(self) -> u32 {
        match self {
            Self::Kib4 => 12,
            Self::Kib16 => 14,
            Self::Kib64 => 16,
        }
    }

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.shift()
    }

    /// Returns true if this processor has it (ID_AA64MMFR0_EL1).
    pub fn exists(self) -> bool {
        let features = super::sysreg::read_sysreg!("id_aa64mmfr0_el1");
        match self {
            Self::Kib4 => features >> 28 & 0xf != 0xf,
            Self::Kib16 => features >> 20 & 0xf != 0,
            Self::Kib64 => features >> 24 & 0xf != 0xf,
        }
    }

    const fn tg0(self) -> u64 {
        match self {
            Self::Kib4 => 0,
            Self::Kib16 => 2 << 14,
            Self::Kib64 => 1 << 14,
        }
    }

    /// log2 of the bytes that an entry of `level` maps.
    const fn entry_shift(self, level: u32) -> u32 {
        self.shift() + (self.shift() - 3) * (LAST_LEVEL - level)
    }

    const fn first_level(self) -> u32 {
        LAST_LEVEL + 1 - (BITS - self.shift()).div_ceil(self.shift() - 3)
    }
}

/// The purpose of a page or block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Use {
    /// Data of EL0 (and EL1).
    User,
    /// The same, in a run of entries with the contiguous hint.
    UserContiguous,
    /// Code of EL0.
    UserCode,
    /// Data of EL1 only.
    Kernel,
    /// A device for EL0.
    Device,
}

impl Use {
    const fn attributes(self) -> u64 {
        const CONTIGUOUS: u64 = 1 << 52;
        const DATA: u64 = NORMAL | USER | NOT_GLOBAL | NO_EXECUTE;
        match self {
            Self::User => DATA,
            Self::UserContiguous => DATA | CONTIGUOUS,
            Self::UserCode => NORMAL | USER | NOT_GLOBAL | READ_ONLY | EL1_NO_EXECUTE,
            Self::Kernel => NORMAL | NOT_GLOBAL | NO_EXECUTE,
            Self::Device => mmu::DEVICE | USER | NOT_GLOBAL | NO_EXECUTE,
        }
    }
}

/// An entry of a table.
pub type Entry = &'static AtomicU64;

/// Tables of an address space from [`USER_BASE`] on. Below, with pages of 4 KiB the program is mapped
/// as always; else only the code that makes the call.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    granule: Granule,
    // Private: what maps the program is as `new` has made it.
    root: Words,
}

impl Tables {
    /// Tables without pages; `None` if there is no memory for them.
    pub fn new(arena: &mut Arena, granule: Granule) -> Option<Self> {
        let tables = Self { granule, root: arena.allocate(granule.bytes(), granule.bytes())? };
        if granule == Granule::Kib4 {
            for (entry, of_program) in tables.root.iter().zip(&ROOT.0).take(PROGRAM_ENTRIES) {
                entry.store(of_program.load(SeqCst), SeqCst);
            }
        } else {
            let page = call_in_tables as *const () as u64 & !(granule.bytes() - 1);
            let attributes = NORMAL | READ_ONLY | EL0_NO_EXECUTE | TABLE;
            tables.walk(arena, page, LAST_LEVEL)?.store(page | attributes, SeqCst);
        }
        Some(tables)
    }

    /// The entry for `address` in a table of `level`; tables that are missing are made. `None` if there
    /// is no memory for them.
    ///
    /// # Panics
    ///
    /// If the program is mapped there.
    pub fn entry(&self, arena: &mut Arena, address: u64, level: u32) -> Option<Entry> {
        assert!(address >> 30 >= PROGRAM_ENTRIES as u64, "{address:#x} belongs to the program");
        self.walk(arena, address, level)
    }

    fn walk(&self, arena: &mut Arena, address: u64, level: u32) -> Option<Entry> {
        let bytes = self.granule.bytes();
        let entries = (bytes / 8) as usize;
        let index = |level| (address >> self.granule.entry_shift(level)) as usize % entries;
        let mut table = self.root;
        for above in self.granule.first_level()..level {
            let entry = &table[index(above)];
            table = match entry.load(SeqCst) {
                0 => {
                    let next = arena.allocate(bytes, bytes)?;
                    entry.store(ram::address(next) | TABLE, SeqCst);
                    next
                }
                descriptor => arena.given(descriptor & ADDRESS, bytes)?,
            };
        }
        Some(&table[index(level)])
    }

    /// Maps `frame` at `address` by an entry of `level`: a page at level 3, else a block.
    pub fn map(
        &self,
        arena: &mut Arena,
        address: u64,
        frame: u64,
        level: u32,
        what: Use,
    ) -> Option<()> {
        let kind = if level == LAST_LEVEL { TABLE } else { BLOCK };
        self.entry(arena, address, level)?.store(frame | what.attributes() | kind, SeqCst);
        Some(())
    }

    /// The entries of the first table that do not map the program.
    pub fn first_entries(&self) -> &'static [AtomicU64] {
        match self.granule {
            Granule::Kib4 => &self.root[USER_BASE >> 30..],
            Granule::Kib16 | Granule::Kib64 => &[],
        }
    }

    /// Guest physical address of the first table.
    pub fn address(&self) -> u64 {
        ram::address(self.root)
    }

    /// Calls `function` by HVC with one argument, while these are the tables of this processor.
    /// Returns `x0`.
    ///
    /// # Panics
    ///
    /// If it is not a function of hypervisors (SMCCC, owner 6): others may start processors.
    pub fn call(&self, function: u32, argument: u64) -> i64 {
        assert_eq!(function >> 24 & 0x3f, 6, "{function:#x} is not a function of hypervisors");
        let tcr = mmu::TCR & !TG0 | self.granule.tg0();
        // SAFETY: the code that runs meanwhile is mapped, uses no memory, and goes back to the map of
        // the program; calls of hypervisors do not write to memory of this program.
        unsafe { call_in_tables(self.address(), tcr, function.into(), argument) as i64 }
    }
}
