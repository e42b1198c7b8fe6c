//! Tells a model of the host's caches, where QEMU has one, whose a page of memory is (cachescope, `Said::Page`).
//!
//! Each word is a NOP for a CPU, whatever its registers contain.

use core::arch::asm;

/// The number in place of a VM's, with which all is told.
const ALL: u64 = u64::MAX;

/// The page at this physical address belongs to a VM, by its index.
pub fn tell_page(vm: u8, address: u64) {
    say(vm.into(), address);
}

/// All pages of VMs are told.
pub fn tell_all() {
    say(ALL, 0);
}

fn say(vm: u64, address: u64) {
    // SAFETY: a NOP of 7 bytes, which accesses no memory and changes no register.
    unsafe {
        asm!(
            "nop dword ptr [rax + 0x424b4d02]",
            in("rax") address,
            in("rcx") vm,
            options(nostack, preserves_flags, nomem)
        );
    }
}
