//! Waiting, hints, barriers, and instructions that are exceptions.

use super::instruction::{STAY, hint, svc, write_system};
use super::snippet::Snippet;
use rt::random::Random;

const WFE: u32 = 2;
const WFI: u32 = 3;

/// Waits, or something of the kind.
pub fn wait(snippet: &mut Snippet, random: &mut Random) {
    let immediate = random.number() as u32 & 0xffff;
    snippet.push(match random.below(16) {
        0 => hint(WFI),
        1 | 2 => hint(WFE),
        3 => hint(4), // SEV
        4..6 => hint(random.below(128) as u32),
        6 => svc(immediate & !(1 << 12)), // never that of the end, which has this bit
        7 => 0xd420_0000 | immediate << 5, // BRK
        8 => 0xd440_0000 | immediate << 5, // HLT
        9 => immediate,                   // UDF
        10 => 0xd4a0_0001 + random.below(3) as u32, // DCPS
        11 => 0xd6bf_03e0,                // DRPS
        12 => 0xd503_305f | (immediate & 0xf) << 8, // CLREX
        13 => 0xd503_309f | (immediate & 0xf) << 8, // DSB
        14 => {
            0xd500_401f
                | (immediate & 0x7) << 16
                | (immediate & 0xf0) << 4
                | (immediate & 0x700) >> 3
        } // MSR immediate
        _ => write_system([0, 3, 3, immediate & 15, immediate >> 4 & 7], 31),
    });
}

/// An endless loop that no interrupt ends.
pub fn forever(snippet: &mut Snippet) {
    snippet.push(0xd503_4fdf); // MSR DAIFSet, #15
    snippet.push(STAY);
}
