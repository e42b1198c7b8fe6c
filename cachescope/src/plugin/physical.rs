//! Physical addresses of what QEMU reports by virtual address or not at all:
//! operations on lines, and instructions.

use std::ffi::{CStr, c_void};
use std::mem;

use super::symbol::{Cpu, symbol};

/// Pages of addresses: accesses in one page are translated alike.
pub const PAGE_MASK: u64 = 0xfff;

/// Translates as the running CPU does at its exception level. `current_cpu` and
/// `cpu_get_phys_page_debug` are not part of the plugin interface but exported
/// by QEMU's binary.
pub struct Physical {
    /// Address of `current_cpu` in the thread of the CPUs.
    current: *const Cpu,
    /// `cpu_get_phys_page_debug`: a page of both stages' output, or all ones.
    page_of: extern "C" fn(Cpu, u64) -> u64,
}

const CURRENT: &CStr = c"current_cpu";
const PAGE_OF: &CStr = c"cpu_get_phys_page_debug";

impl Physical {
    /// Finds what is needed in the thread of the CPUs.
    ///
    /// # Errors
    /// The name of what QEMU does not export.
    pub fn find() -> Result<Self, String> {
        let needed = |name: &CStr| symbol(name).ok_or_else(|| name.to_string_lossy().into_owned());
        let current = needed(CURRENT)?.cast_const().cast();
        let page_of = needed(PAGE_OF)?;
        // SAFETY: QEMU declares `hwaddr cpu_get_phys_page_debug(CPUState *, vaddr)`,
        // both of 64 bits.
        let page_of =
            unsafe { mem::transmute::<*mut c_void, extern "C" fn(Cpu, u64) -> u64>(page_of) };
        Ok(Self { current, page_of })
    }

    /// Physical address behind a virtual one.
    ///
    /// # Safety
    /// In the thread of the CPUs, in a callback that may read registers, or one
    /// for a block that is being translated.
    pub unsafe fn physical(&self, address: u64) -> Option<u64> {
        // SAFETY: a variable of this thread, which lives as long as the thread; in
        // these callbacks it is the CPU whose registers are up to date.
        let cpu = unsafe { self.current.read() };
        let page = (self.page_of)(cpu, address & !PAGE_MASK);
        (page != u64::MAX).then_some(page & !PAGE_MASK | address & PAGE_MASK)
    }
}
