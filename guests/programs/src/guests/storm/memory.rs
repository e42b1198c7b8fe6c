//! Accesses that the hypervisor has to serve.

use abi::limits::PAGE_BYTES as PAGE;
use programs::arch::probe::{self, Through};
use rt::arch::lock::InterruptLock;
use rt::arch::ram::Arena;
use rt::arch::{cpu, mmio::GICD};
use rt::{arguments, println};

/// An address below all RAM and channels, above all devices.
const NOTHING: u64 = 0x2000_0000;
const GICD_TYPER: usize = 0x4;

static FREE: InterruptLock<Option<Arena>> = InterruptLock::new(None);

/// Finds RAM that no VCPU has touched.
pub fn take() {
    let arena = arguments::ram_bytes_of_tree().and_then(Arena::take);
    if arena.is_none() {
        println!("storm: there is no RAM to touch");
    }
    FREE.with(|free| *free = arena);
}

/// Touches a page of RAM for the first time. The sibling, which must not be stopped while it has the lock, and all
/// others when nothing is left, read a register of a device.
pub fn touch(number: u64) -> bool {
    if cpu::index() == super::SIBLING {
        return mmio(number);
    }
    let page = FREE.with(|free| free.as_mut()?.allocate(8, PAGE));
    page.is_some() || !mmio(number)
}

/// Reads from an address at which the VM has nothing. Returns true if that fails.
pub fn absent(_: u64) -> bool {
    probe::read(NOTHING, 4, Through::Device).is_err()
}

/// Reads a register of a device that the hypervisor emulates.
pub fn mmio(_: u64) -> bool {
    GICD.read32(GICD_TYPER) != 0
}
