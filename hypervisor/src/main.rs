//! The EL2 image: entry code and panic handler around the library.
#![cfg_attr(target_os = "none", no_std)]
#![cfg_attr(target_os = "none", no_main)]

#[cfg(target_os = "none")]
use hypervisor as _;

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    hypervisor::panic_report(info)
}

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("This is the hypervisor's image: build it for aarch64-unknown-none-softfloat.");
    std::process::exit(2);
}
