//! Registers of the CPU whose callback runs.

use std::ffi::{CStr, c_char, c_uint};
use std::slice;

use qemu_plugin_sys::{
    GArray, GByteArray, qemu_plugin_get_registers, qemu_plugin_read_register,
    qemu_plugin_reg_descriptor, qemu_plugin_register,
};

// GLib, which QEMU is linked with.
unsafe extern "C" {
    fn g_array_free(array: *mut GArray, free_segment: i32) -> *mut c_char;
    fn g_byte_array_new() -> *mut GByteArray;
    fn g_byte_array_set_size(array: *mut GByteArray, length: c_uint) -> *mut GByteArray;
}

use super::target::Target;

/// The registers that the plugin reads. All CPUs have them under the same handles.
pub struct Registers {
    /// On AArch64.
    cpsr: Option<*mut qemu_plugin_register>,
    /// x0 to x30; on x86-64 rax and rcx.
    x: Vec<*mut qemu_plugin_register>,
    buffer: *mut GByteArray,
}

impl Registers {
    /// Asks QEMU for the registers; the name of one that it does not have is an error.
    ///
    /// # Safety
    /// In the thread of a CPU.
    pub unsafe fn find(target: Target) -> Result<Self, String> {
        // SAFETY: in the thread of a CPU. The array holds descriptors with names
        // that live as long as QEMU does; it is freed once and not used after.
        unsafe {
            let array = qemu_plugin_get_registers();
            let known = if array.is_null() || (*array).data.is_null() {
                &[]
            } else {
                let data = (*array).data.cast::<qemu_plugin_reg_descriptor>();
                slice::from_raw_parts(data, (*array).len as usize)
            };
            let handle = |name: String| {
                let found = known
                    .iter()
                    .find(|register| CStr::from_ptr(register.name).to_bytes() == name.as_bytes());
                found.map(|register| register.handle).ok_or(name)
            };
            let (cpsr, x): (_, Result<_, _>) = match target {
                Target::Aarch64 => {
                    let x = (0..31).map(|number| handle(format!("x{number}")));
                    (Some(handle("cpsr".into())).transpose(), x.collect())
                }
                Target::X86 => {
                    (Ok(None), ["rax", "rcx"].map(String::from).map(handle).into_iter().collect())
                }
            };
            if !array.is_null() {
                g_array_free(array, 1);
            }
            let buffer = g_byte_array_new();
            Ok(Self { cpsr: cpsr?, x: x?, buffer })
        }
    }

    /// Exception level, 0 to 3; `None` also where there is none.
    ///
    /// # Safety
    /// In the thread of a CPU, in a callback.
    pub unsafe fn level(&mut self) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe { self.read(self.cpsr?) }.map(|cpsr| cpsr >> 2 & 3)
    }

    /// General register `number` of those that the plugin reads; on AArch64, 31 is the zero register.
    ///
    /// # Safety
    /// In the thread of a CPU, in a callback that may read registers.
    pub unsafe fn x(&mut self, number: u32) -> Option<u64> {
        match self.x.get(number as usize) {
            // SAFETY: as the caller promises.
            Some(&register) => unsafe { self.read(register) },
            None => Some(0),
        }
    }

    unsafe fn read(&mut self, register: *mut qemu_plugin_register) -> Option<u64> {
        // SAFETY: a handle that QEMU gave, and a byte array of our own, which QEMU
        // extends to the length that it returns.
        unsafe {
            g_byte_array_set_size(self.buffer, 0);
            let length = qemu_plugin_read_register(register, self.buffer);
            let length = usize::try_from(length).ok().filter(|length| (1..=8).contains(length))?;
            let bytes = slice::from_raw_parts((*self.buffer).data, length);
            let mut value = [0; 8];
            value[..length].copy_from_slice(bytes);
            Some(u64::from_le_bytes(value))
        }
    }
}
