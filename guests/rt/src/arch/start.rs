//! The way from the first instruction to `main`.

use core::arch::global_asm;
use core::ops::Range;

use super::layout::{self, layout};
use super::{cpu, mmu, secondary, stacks};
use crate::{arguments, console, hypercall, interrupts, println, psci};

global_asm!(
    include_str!("boot.s"),
    stacks = sym stacks::STACKS,
    handler_end = const stacks::HANDLER_END,
    thread_from_handler = const stacks::THREAD_FROM_HANDLER,
    build_tables = sym mmu::build_tables,
    root_table = sym mmu::ROOT,
    mair = const mmu::MAIR,
    tcr = const mmu::TCR,
    sctlr = const mmu::SCTLR,
    rust_entry = sym enter,
    wrong_level = sym wrong_level,
    secondary_rust_entry = sym secondary::enter,
);

unsafe extern "C" {
    static patched_arguments: [u8; 184];
}

unsafe extern "Rust" {
    fn guest_main();
}

extern "C" fn enter(device_tree: usize) -> ! {
    console::enable();
    hypercall::detect();
    // SAFETY: the loader passes 0 or a device tree, which `build_tables` has mapped read-only when
    // it lies where this range says; nobody writes to it.
    let tree = unsafe { device_tree_at(device_tree) };
    // SAFETY: the bytes are part of the image, in read-only memory.
    let patched = unsafe { &patched_arguments };
    if let Err(error) = arguments::set(tree, patched) {
        println!("rt: {error}; going on without device tree");
    }
    interrupts::enable();
    cpu::unmask_interrupts();
    // SAFETY: `guest!` defines it with this signature.
    unsafe { guest_main() };
    psci::system_off()
}

unsafe fn device_tree_at(address: usize) -> Option<&'static [u8]> {
    const BYTES_MAX: usize = 2 << 20;
    const MAPPED: Range<usize> = mmu::RAM_BASE..mmu::RAM_BASE + (1 << 30) - BYTES_MAX;
    let below_image = (mmu::RAM_BASE..layout().image).contains(&address);
    let behind_pages = address >= mmu::RAM_BASE + BYTES_MAX;
    if !MAPPED.contains(&address) || !address.is_multiple_of(8) || !(below_image || behind_pages) {
        return None;
    }
    let limit = if below_image { layout().image - address } else { BYTES_MAX };
    // SAFETY: both words of the header lie in mapped memory.
    let [magic, bytes] = unsafe { *(address as *const [u32; 2]) }.map(u32::from_be);
    let bytes = bytes as usize;
    if magic != 0xd00d_feed || bytes > limit {
        return None;
    }
    layout::keep_tree(address as u64..(address + bytes) as u64);
    // SAFETY: mapped memory that nobody writes to.
    Some(unsafe { core::slice::from_raw_parts(address as *const u8, bytes) })
}

extern "C" fn wrong_level() -> ! {
    console::enable();
    println!("rt: started at EL{}, this guest runs at EL1", cpu::exception_level());
    loop {
        cpu::wait_for_interrupt();
    }
}

/// Makes a binary out of a function without arguments, the guest's `main`. On the host, the binary
/// only says what it is.
#[macro_export]
macro_rules! guest {
    ($main:path) => {
        #[unsafe(no_mangle)]
        fn guest_main() {
            $main()
        }
    };
}
