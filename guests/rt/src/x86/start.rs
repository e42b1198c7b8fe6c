//! The way from the first instruction to `main`.

use core::arch::global_asm;
use core::panic::PanicInfo;

use super::{call, cpu};
use crate::println;

// The first instruction of the file. The stack is there.
global_asm!(".section .text.boot, \"ax\"", ".globl _start", "_start: jmp {enter}", enter = sym enter);

unsafe extern "Rust" {
    fn guest_main();
}

/// Each VCPU comes here; when the first one has done its work, the VM ends.
extern "C" fn enter() -> ! {
    // SAFETY: `guest!` defines it with this signature.
    unsafe { guest_main() };
    if cpu::index() == 0 {
        call::off();
    }
    loop {
        call::wait_until(u64::MAX);
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("rt: FAILED: {info}");
    call::off()
}

/// Makes a binary out of a function without arguments, the guest's `main`, which every VCPU calls.
#[macro_export]
macro_rules! guest {
    ($main:path) => {
        #[unsafe(no_mangle)]
        fn guest_main() {
            $main()
        }
    };
}
