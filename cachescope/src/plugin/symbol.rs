//! Symbols that QEMU's binary exports beside the plugin interface.

use std::ffi::{CStr, c_void};

/// A CPU of QEMU.
pub type Cpu = *const c_void;

/// Address of a symbol of QEMU; for a thread-local one, in this thread.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a name that ends with a zero; RTLD_DEFAULT searches all of the process.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// The same.
///
/// # Errors
/// The message about a QEMU that does not export it.
pub fn needed(name: &CStr) -> Result<*mut c_void, String> {
    symbol(name).ok_or_else(|| format!("this QEMU does not export \"{}\"", name.to_string_lossy()))
}
