//! Calls of the program that runs this guest.

use core::arch::asm;

use abi::kvm::{ARGUMENT_WORD, Call, MARKS_MAX, MARKS_READ_WORD, MARKS_WORD, PORT, TEXT_MAX};

use super::{block, counter};

/// Nanoseconds until the console may be less busy.
const BUSY: u64 = 1_000_000;

fn call(call: Call, argument: u64) {
    block::set_word(ARGUMENT_WORD, argument);
    // SAFETY: who is called changes only the block, which is accessed atomically.
    unsafe {
        asm!("out dx, eax", in("dx") PORT, in("eax") call as u32, options(nostack, preserves_flags))
    }
}

/// Shows bytes on the console.
pub(crate) fn write(bytes: &[u8]) {
    for part in bytes.chunks(TEXT_MAX as usize) {
        block::set_text(part);
        call(Call::Console, part.len() as u64);
        while block::word(ARGUMENT_WORD) == 0 {
            wait_until(counter::now() + BUSY);
            call(Call::Console, part.len() as u64);
        }
    }
}

/// Waits until this time.
pub fn wait_until(time: u64) {
    call(Call::Wait, time);
}

/// Puts a mark into the trace.
pub fn mark(value: u64) {
    let written = block::word(MARKS_WORD);
    if written.wrapping_sub(block::word(MARKS_READ_WORD)) >= MARKS_MAX {
        call(Call::Marks, 0);
    }
    block::set_mark(written % MARKS_MAX, [counter::now(), value]);
    block::set_word(MARKS_WORD, written + 1);
}

/// Switches the VM off.
pub fn off() -> ! {
    loop {
        call(Call::Off, 0);
    }
}
