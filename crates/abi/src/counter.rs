//! The counter of memory accesses that an observer of the machine keeps for each CPU, for machines
//! whose CPUs do not count them: on QEMU, the plugin cachescope.
//!
//! EL2 registers the counter of the CPU on which it runs with the `NOP` `hint` number [`HINT`]:
//! `x0` contains the physical address of a block, `x1` the INTID of the private interrupt that the
//! observer raises when the count passes the threshold. A block is [`WORDS`] words of 64 bits,
//! little endian, in a cache line of its own. The observer counts lines moved between the
//! last-level cache and memory for this CPU, at EL0, EL1 and EL2: fills and write-backs. Accesses
//! to the block itself do not count.

/// Immediate of the `HINT` instruction, a `NOP` for CPUs.
pub const HINT: u8 = 0x51;

/// The value that the observer writes into [`MAGIC_WORD`] before the instruction behind the hint:
/// `BULKCOUN`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BULKCOUN");

/// Words of a block; it is aligned to its size.
pub const WORDS: usize = 8;

/// Number of the word with [`MAGIC`].
pub const MAGIC_WORD: usize = 0;
/// Number of the word with the count since power-on. The observer keeps it up to date.
pub const COUNT_WORD: usize = 1;
/// Number of the word with the threshold, which EL2 writes: the observer raises the interrupt once
/// when the count exceeds it.
pub const THRESHOLD_WORD: usize = 2;

/// A threshold that is never passed.
pub const NEVER: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_a_line_and_its_words_are_in_it() {
        assert_eq!(WORDS * size_of::<u64>(), 64);
        assert!([MAGIC_WORD, COUNT_WORD, THRESHOLD_WORD].iter().all(|&word| word < WORDS));
        assert_eq!(MAGIC, 0x4e55_4f43_4b4c_5542);
    }
}
