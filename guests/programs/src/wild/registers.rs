//! System registers.

use super::instruction::{ISB, System, branch_to, read_system, write_system};
use super::snippet::Snippet;
use super::values::{Places, value};
use rt::random::Random;

const VALUE: u32 = 5;

/// Registers whose loss the code does not survive: only [`lose_control`] writes them.
const VITAL: [System; 5] = [
    [3, 0, 1, 0, 0],  // SCTLR_EL1
    [3, 0, 2, 0, 0],  // TTBR0_EL1
    [3, 0, 2, 0, 2],  // TCR_EL1
    [3, 0, 10, 2, 0], // MAIR_EL1
    VECTORS,
];
/// ICC_SGI1R_EL1.
const SGI1R: System = [3, 0, 12, 11, 5];
const VECTORS: System = [3, 0, 12, 0, 0]; // VBAR_EL1
/// The virtual address at which guest physical addresses without anything are mapped.
const NOWHERE: u64 = 8 << 30;

/// ICC_BPR0_EL1 and ICC_BPR1_EL1: QEMU 10.0 ends itself (`bpr > 0`) when they get a multiple of 8.
const BINARY_POINTS: [System; 2] = [[3, 0, 12, 8, 3], [3, 0, 12, 12, 3]];

fn register(random: &mut Random) -> System {
    let mut below = |bound| random.below(bound) as u32;
    match below(12) {
        0 => [3, 0, 12, 11, 5 + below(3)], // ICC_SGI1R_EL1 and its kind
        1 => [3, 0, 12, 8 + below(5), below(8)], // ICC_*
        2 => [3, 3, 9, 12 + below(3), below(8)], // PM*
        3 => [3, 3, 14, 8 + below(8), below(8)], // PMEV*
        4 => [3, 3, 14, below(8), below(8)], // CNT*
        5 => [2, 0, below(8), below(16), below(8)], // debug
        6 => [3, 0, 0, below(8), below(8)], // ID_*
        7 => [3, below(3), 0, 0, below(8)], // caches
        8 => [3, below(8), 11 + 4 * below(2), below(16), below(8)], // implementation defined
        9 => [3, 4 + below(3), below(16), below(16), below(8)], // EL2, EL3
        _ => [2 + below(2), below(8), below(16), below(16), below(8)],
    }
}

/// Reads or writes a register by chance.
pub fn access(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    let register = register(random);
    if random.below(2) == 0 || VITAL.contains(&register) {
        snippet.push(read_system(register, VALUE));
    } else {
        let value = value(random, places);
        let value = match register {
            _ if BINARY_POINTS.contains(&register) => value & 7,
            SGI1R if !value.is_multiple_of(4) => random.below(16) << 24 | random.below(16),
            _ => value,
        };
        snippet.set(VALUE, value);
        snippet.push(write_system(register, VALUE));
    }
}

/// Spoils a register without which the code has no way back, or goes elsewhere.
pub fn lose_control(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    snippet.set(VALUE, value(random, places));
    match VITAL.get(random.below(VITAL.len() as u64 + 1) as usize) {
        Some(&register) => snippet.push(write_system(register, VALUE)),
        None => snippet.push(branch_to(VALUE)),
    }
    snippet.push(ISB);
}

/// Branches to an address at which nothing is, with or without exception vectors.
pub fn go_nowhere(snippet: &mut Snippet, random: &mut Random) {
    snippet.set(VALUE, (NOWHERE + random.below(1 << 30)) & !0x7ff);
    if random.below(2) == 0 {
        snippet.push(write_system(VECTORS, VALUE));
    }
    snippet.push(branch_to(VALUE));
}
