//! The EL2 image.
#![cfg_attr(target_os = "none", no_std)]
#![cfg_attr(target_os = "none", no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("This is the hypervisor's image: build it for aarch64-unknown-none-softfloat.");
    std::process::exit(2);
}
