//! Reading and writing system registers by name.

/// Reads a system register. For registers whose reading has no effect on memory.
#[doc(hidden)]
#[macro_export]
macro_rules! read_sysreg {
    ($name:literal) => {{
        let value: u64;
        // SAFETY: reading this register changes neither memory nor other registers.
        unsafe {
            core::arch::asm!(concat!("mrs {}, ", $name), out(reg) value, options(nostack, preserves_flags));
        }
        value
    }};
}

/// Writes a system register. For registers that cannot harm memory safety.
#[doc(hidden)]
#[macro_export]
macro_rules! write_sysreg {
    ($name:literal, $value:expr) => {{
        let value: u64 = $value;
        // SAFETY: this register controls timers, interrupts or identification, not memory.
        unsafe {
            core::arch::asm!(concat!("msr ", $name, ", {}"), in(reg) value, options(nostack, preserves_flags));
        }
    }};
}

pub(super) use {read_sysreg, write_sysreg};
