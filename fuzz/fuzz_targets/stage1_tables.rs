//! Any registers and any memory are an address space that a walk comes to the end of.
#![no_main]

use hypervisor::stage1::{Space, Step, Tables, Walker};

/// Most tables that a walk visits.
const TABLES: u32 = 16;
/// Entries of the largest table.
const ENTRIES: u32 = 0x2000;

/// Memory that repeats after these bytes, up to an end.
struct Memory<'a> {
    bytes: &'a [u8],
    end: u64,
}

impl Tables for Memory<'_> {
    fn word(&mut self, ipa: u64) -> Option<u64> {
        assert!(ipa.is_multiple_of(8));
        let words = self.bytes.as_chunks::<8>().0;
        if ipa >= self.end || words.is_empty() {
            return None;
        }
        Some(u64::from_le_bytes(words[(ipa / 8) as usize % words.len()]))
    }
}

libfuzzer_sys::fuzz_target!(|input: ([u64; 2], u64, u32, &[u8])| {
    let ([ttbr0, tcr], end, budget, bytes) = input;
    let mut memory = Memory { bytes, end };
    let Some(mut walker) = Walker::new(Space { ttbr0, tcr }, TABLES) else { return };
    let mut left = TABLES * ENTRIES;
    loop {
        let given = budget.clamp(1, ENTRIES).min(left);
        let mut rest = given;
        let step = walker.next(&mut memory, &mut rest);
        left -= given - rest;
        match step {
            Step::Pages { ipa, bytes } => assert!(bytes >= 4096 && ipa.is_multiple_of(bytes)),
            Step::Pause => assert!(left > 0, "more entries than the tables have"),
            Step::Done | Step::TooManyTables => break,
        }
    }
});
