//! Address spaces: the map of the program, and pages of their own from [`USER_BASE`] on.
//!
//! Pages of a space are not global, and all spaces use ASID 0: a processor that enters one drops the entries of its TLB for
//! another.

use core::arch::asm;
use core::sync::atomic::Ordering::Relaxed;

use policy::color::{OutOfFrames, Rotation};

use super::mmu::{NO_EXECUTE, NORMAL, ROOT, TABLE, Table};
use super::sysreg::read_sysreg;
use crate::coloring::{Memory, PageFrame};

/// First address of the pages of a space.
pub const USER_BASE: usize = 16 << 30;

/// Attribute of an entry: accessible from EL0.
pub(super) const USER: u64 = 1 << 6;
/// Attribute of an entry: only for this address space.
pub(super) const NOT_GLOBAL: u64 = 1 << 11;

const ADDRESS: u64 = 0xffff_ffff_f000;
const INDEX_BITS: usize = 9;

/// Translation tables of an address space. Its pages stay mapped for ever.
#[derive(Debug)]
pub struct AddressSpace {
    // Private: a table that starts with the entries of `ROOT`; like the tables and pages that it
    // refers to from `USER_BASE` on, it belongs to this space.
    root: PageFrame,
}

/// The table in a page of RAM.
fn table_at(address: u64) -> &'static Table {
    // SAFETY: the callers pass pages that a space took out of `Memory` for its tables: mapped one to
    // one, never given back, and only accessed as a table, whose entries are atomic.
    unsafe { &*(address as *const Table) }
}

impl AddressSpace {
    /// A space without pages of its own. Its tables lie in pages of these colours.
    pub fn new(memory: &mut Memory, colors: &mut Rotation) -> Result<Self, OutOfFrames> {
        let root = memory.allocate(colors)?;
        for (entry, of_program) in table_at(root.address()).0.iter().zip(&ROOT.0) {
            entry.store(of_program.load(Relaxed), Relaxed);
        }
        Ok(Self { root })
    }

    /// Maps `frame` at `address`, readable and writable from EL0 and EL1, and makes it zero.
    ///
    /// # Panics
    ///
    /// If `address` lies below [`USER_BASE`] or above 2^39, or something is mapped there.
    pub fn map(
        &mut self,
        memory: &mut Memory,
        colors: &mut Rotation,
        address: usize,
        frame: PageFrame,
    ) -> Result<(), OutOfFrames> {
        assert!((USER_BASE..1 << 39).contains(&address), "{address:#x} is not in a task's space");
        let mut table = table_at(self.root.address());
        for level in [2, 1] {
            let entry = &table.0[address >> (12 + level * INDEX_BITS) & 0x1ff];
            if entry.load(Relaxed) == 0 {
                let next = memory.allocate(colors)?.address();
                clear(next);
                entry.store(next | TABLE, Relaxed);
            }
            table = table_at(entry.load(Relaxed) & ADDRESS);
        }
        let entry = &table.0[address >> 12 & 0x1ff];
        assert_eq!(entry.load(Relaxed), 0, "{address:#x} is mapped");
        let frame = frame.address();
        clear(frame);
        entry.store(frame | NORMAL | USER | NOT_GLOBAL | NO_EXECUTE | TABLE, Relaxed);
        Ok(())
    }

    /// The value of `TTBR0_EL1` for it.
    pub(super) fn ttbr0(&self) -> u64 {
        self.root.address()
    }
}

/// Makes a page of RAM zero that only the caller uses.
fn clear(address: u64) {
    for entry in &table_at(address).0 {
        entry.store(0, Relaxed);
    }
}

/// The space that this processor uses now.
pub(super) fn current() -> u64 {
    read_sysreg!("ttbr0_el1")
}

/// Goes on in another space.
///
/// # Safety
///
/// `ttbr0` is that of [`ROOT`] or of an [`AddressSpace`]; nothing is used any more that only the space
/// before has mapped.
pub(super) unsafe fn enter(ttbr0: u64) {
    // SAFETY: the program is mapped the same in all spaces; the caller vouches for the rest.
    unsafe {
        asm!(
            "dsb ishst", // entries that were written are seen by walks
            "msr ttbr0_el1, {ttbr0}",
            "isb",
            "tlbi aside1, xzr",
            "dsb nsh",
            "isb",
            ttbr0 = in(reg) ttbr0,
            options(nostack, preserves_flags)
        );
    }
}
