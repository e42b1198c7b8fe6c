//! Output without formatting machinery.

use super::parameters;

/// The registers of a PL011 that this guest uses.
#[derive(Clone, Copy, Debug)]
pub enum Uart {
    /// Data.
    Data = 0x0,
    /// Flags.
    Flags = 0x18,
}

impl Uart {
    /// Address of the register.
    pub fn address(self) -> u64 {
        parameters().uart + self as u64
    }
}

#[inline(never)]
fn print_byte(byte: u8) {
    let uart = parameters().uart;
    // SAFETY: the parameters name a UART, which lies outside of this program.
    unsafe {
        core::arch::asm!(
            "2: ldr {flags:w}, [{uart}, #0x18]",
            "tbnz {flags:w}, #5, 2b",
            "str {byte:w}, [{uart}]",
            flags = out(reg) _,
            uart = in(reg) uart,
            byte = in(reg) u32::from(byte),
            options(nostack)
        );
    }
}

/// Prints text.
#[inline(never)]
pub fn print_text(text: &str) {
    text.bytes().for_each(print_byte);
}

/// Prints a decimal number.
#[inline(never)]
pub fn print_number(number: u64) {
    if number >= 10 {
        print_number(number / 10);
    }
    print_byte(b'0' + (number % 10) as u8);
}

/// Prints a hexadecimal number.
#[inline(never)]
pub fn print_hex(number: u64) {
    print_text("0x");
    let mut shift = 60;
    while shift > 0 && number >> shift == 0 {
        shift -= 4;
    }
    loop {
        let digit = (number >> shift & 15) as u8;
        print_byte(if digit < 10 { b'0' + digit } else { b'a' - 10 + digit });
        if shift == 0 {
            return;
        }
        shift -= 4;
    }
}
