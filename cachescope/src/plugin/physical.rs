//! Physical addresses of what QEMU reports by virtual address or not at all:
//! operations on lines, and instructions.

use std::ffi::{CStr, c_void};
use std::mem;

use qemu_plugin_sys::{qemu_plugin_insn, qemu_plugin_insn_haddr};

use super::symbol::{Cpu, symbol};
use super::target::Target;

/// Pages of addresses: accesses in one page are translated alike.
pub const PAGE_MASK: u64 = 0xfff;

/// Finds physical addresses with functions that are not part of the plugin interface but exported by QEMU's binary.
pub enum Physical {
    Aarch64(Walk),
    X86(Ram),
}

/// Translates as the running CPU does at its exception level.
pub struct Walk {
    /// Address of `current_cpu` in the thread of the CPUs.
    current: *const Cpu,
    /// `cpu_get_phys_page_debug`: a page of both stages' output, or all ones.
    page_of: extern "C" fn(Cpu, u64) -> u64,
}

/// Knows where QEMU keeps the RAM of the machine. QEMU's own walk of page tables, as above, ends at the addresses of a nested
/// guest.
pub struct Ram {
    /// `qemu_ram_addr_from_host`: the place of a byte in all memory that QEMU has, of which the RAM of a PC comes first; up
    /// to 2 GiB it is its physical address. All ones for other bytes.
    place_of: extern "C" fn(*const c_void) -> u64,
}

const CURRENT: &CStr = c"current_cpu";
const PAGE_OF: &CStr = c"cpu_get_phys_page_debug";

const PLACE_OF: &CStr = c"qemu_ram_addr_from_host";

impl Physical {
    /// Finds what is needed in the thread of the CPUs.
    ///
    /// # Errors
    /// The name of what QEMU does not export.
    pub fn find(target: Target) -> Result<Self, String> {
        match target {
            Target::Aarch64 => Walk::find().map(Self::Aarch64),
            Target::X86 => Ram::find().map(Self::X86),
        }
    }
}

fn needed(name: &CStr) -> Result<*mut c_void, String> {
    symbol(name).ok_or_else(|| name.to_string_lossy().into_owned())
}

impl Ram {
    fn find() -> Result<Self, String> {
        let place_of = needed(PLACE_OF)?;
        // SAFETY: QEMU declares `ram_addr_t qemu_ram_addr_from_host(void *)`, whose result has 64 bits.
        let place_of =
            unsafe { mem::transmute::<*mut c_void, extern "C" fn(*const c_void) -> u64>(place_of) };
        Ok(Self { place_of })
    }

    /// Physical address of an instruction.
    ///
    /// # Safety
    /// The instruction belongs to a block that is being translated.
    pub unsafe fn of_instruction(&self, instruction: *const qemu_plugin_insn) -> Option<u64> {
        // SAFETY: as the caller promises.
        let byte = unsafe { qemu_plugin_insn_haddr(instruction) };
        let place = if byte.is_null() { u64::MAX } else { (self.place_of)(byte) };
        (place != u64::MAX).then_some(place)
    }
}

impl Walk {
    fn find() -> Result<Self, String> {
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
