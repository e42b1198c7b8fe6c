//! The block of this VCPU ([`abi::kvm`]).

use core::sync::atomic::{AtomicU64, Ordering};

use abi::kvm::{
    ARGUMENTS_MAX, ARGUMENTS_OFFSET, ARGUMENTS_WORD, CLOCK_WORD, SERVERS_START_WORD, TEXT_MAX,
    TEXT_OFFSET, VCPUS_MAX, block,
};

use super::cpu;

/// Returns a word of the block at this offset.
fn at(offset: u64) -> &'static AtomicU64 {
    let address = block(cpu::index().min(VCPUS_MAX - 1)) + offset;
    // SAFETY: the block is RAM that belongs to nothing else in this program. Words of it are accessed only here, atomically,
    // and are aligned: offsets are multiples of 8.
    unsafe { AtomicU64::from_ptr(address as *mut u64) }
}

/// Reads a word.
pub(super) fn word(number: usize) -> u64 {
    at(number as u64 * 8).load(Ordering::Acquire)
}

/// Writes a word.
pub(super) fn set_word(number: usize, value: u64) {
    at(number as u64 * 8).store(value, Ordering::Release);
}

/// Writes a mark into a place of the ring.
pub(super) fn set_mark(place: u64, [time, value]: [u64; 2]) {
    let offset = abi::kvm::MARKS_OFFSET + place * 16;
    at(offset).store(time, Ordering::Relaxed);
    at(offset + 8).store(value, Ordering::Relaxed);
}

/// The three words of the clock, all of which are renewed when the VCPU gets its processor.
#[inline]
pub(super) fn clock() -> [u64; 3] {
    loop {
        let clock = [0, 1, 2].map(|number| word(CLOCK_WORD + number));
        if word(CLOCK_WORD) == clock[0] {
            return clock;
        }
    }
}

/// Writes the text for the console.
pub(super) fn set_text(bytes: &[u8]) {
    for (offset, part) in (0u64..TEXT_MAX).step_by(8).zip(bytes.chunks(8)) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        at(TEXT_OFFSET + offset).store(u64::from_le_bytes(word), Ordering::Relaxed);
    }
}

/// The boot arguments.
pub fn arguments() -> &'static [u8] {
    let length = word(ARGUMENTS_WORD).min(ARGUMENTS_MAX) as usize;
    let start = (block(cpu::index().min(VCPUS_MAX - 1)) + ARGUMENTS_OFFSET) as *const u8;
    // SAFETY: this part of the block is written before the VCPU starts, and never again.
    unsafe { core::slice::from_raw_parts(start, length) }
}

/// The time at which the first period of all servers starts.
pub fn servers_start() -> u64 {
    word(SERVERS_START_WORD)
}
