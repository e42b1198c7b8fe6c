//! Calls of the program that runs this guest.

use core::arch::asm;

use abi::hypercall::{Error, LOCK_LOST};
use abi::kvm::{
    ARGUMENT_WORD, Call, GRANTS_WORD, MARKS_MAX, MARKS_READ_WORD, MARKS_WORD, PORT, SECOND_WORD,
    TEXT_MAX, THIRD_WORD,
};

use super::{block, counter, cpu};

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
    wait_for_grant(time, grants());
}

/// Waits until this time, or until [`grants`] returns something else than `seen`.
pub fn wait_for_grant(time: u64, seen: u64) {
    block::set_word(SECOND_WORD, seen);
    call(Call::Wait, time);
}

/// Returns the number of times that tasks of this processor got resources for which they waited.
#[inline]
pub fn grants() -> u64 {
    block::word(GRANTS_WORD)
}

/// Calls with two arguments. Returns both results, of which the first one is a number or an error.
fn shared(which: Call, first: u64, second: u64) -> [i64; 2] {
    block::set_word(SECOND_WORD, second);
    call(which, first);
    [block::word(ARGUMENT_WORD), block::word(SECOND_WORD)].map(|it| it as i64)
}

/// Opens a resource that the description lets this VM share; `None` if there is none of this name.
pub fn open(name: &str) -> Option<u64> {
    let [first, second] = abi::hypercall::resource_name(name.as_bytes())?;
    let [resource, _] = shared(Call::Open, first, second);
    u64::try_from(resource).ok()
}

/// Calls for nothing.
pub fn nothing() {
    call(Call::Marks, 0);
}

/// A task asks for a resource: the results of [`abi::hypercall::LOCK`].
pub fn lock(resource: u64, task: usize) -> i64 {
    shared(Call::Lock, resource, task as u64)[0]
}

/// A task releases a resource: the results of [`abi::hypercall::UNLOCK`].
pub fn unlock(resource: u64, task: usize) -> i64 {
    shared(Call::Unlock, resource, task as u64)[0]
}

/// Returns a task that got the resource for which it waited, each once, and whether it still has it.
pub fn granted() -> Option<(usize, bool)> {
    let [task, held] = shared(Call::Granted, 0, 0);
    Some((usize::try_from(task).ok()?, held != LOCK_LOST as i64))
}

/// Requests extra colours (a bit field; 0: none) for the pages that contain some of `bytes` bytes from an address on: the number
/// of pages, or a negative [`Error`]. Waits while another request of the VM is under way.
pub fn request_colors(colors: u64, address: u64, bytes: u64) -> i64 {
    loop {
        block::set_word(THIRD_WORD, bytes);
        let [result, _] = shared(Call::Colors, colors, address);
        if result != Error::Busy as i64 {
            return result;
        }
        cpu::burn(1_000);
    }
}

/// Puts a mark into the trace.
pub fn mark(value: u64) {
    let written = block::word(MARKS_WORD);
    if written.wrapping_sub(block::word(MARKS_READ_WORD)) >= MARKS_MAX {
        call(Call::Marks, 0);
    }
    block::set_mark(written % MARKS_MAX, [counter::now(), value]);
    block::set_word(MARKS_WORD, written + 1);
    cpu::show(value);
}

/// Resets the VM, which starts again if its description says so.
pub fn reset() -> ! {
    loop {
        call(Call::Reset, 0);
    }
}

/// Switches the VM off.
pub fn off() -> ! {
    loop {
        call(Call::Off, 0);
    }
}
