//! The translation tables of a guest's tasks, read without any trust in them.
//!
//! A [`Walker`] finds the pages that a task can reach from EL0: what TTBR0_EL1 maps
//! (Arm ARM, section D8.2 and following). The guest may change its tables meanwhile, and
//! tables may be nonsense: whatever they hold, each word is read once, and the walk ends.

mod format;
#[cfg(test)]
mod tests;
mod walker;

pub use walker::{Step, Walker};

/// The memory in which the tables lie.
pub trait Tables {
    /// The 64-bit word at an IPA, a multiple of 8, in the byte order that the guest's
    /// table walks use; `None` where the VM has no RAM.
    fn word(&mut self, ipa: u64) -> Option<u64>;
}

/// The address space of a task, as the guest's registers describe it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Space {
    /// TTBR0_EL1.
    pub ttbr0: u64,
    /// TCR_EL1.
    pub tcr: u64,
}

impl Space {
    /// Address of the first table: the same for all threads of a task, whatever its ASID is.
    pub const fn table(&self) -> u64 {
        format::first_table(self.ttbr0)
    }
}
