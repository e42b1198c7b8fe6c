//! Maintenance of caches and TLBs, and translation of addresses.

use super::instruction::{read_system, write_system};
use super::snippet::Snippet;
use super::values::{Places, value};
use rt::random::Random;

const VALUE: u32 = 6;

/// An operation by chance.
pub fn operation(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    let mut below = |bound| random.below(bound) as u32;
    let operation = match below(8) {
        0 => [1, 0, 7, [6, 10, 14][below(3) as usize], 2], // DC by set and way
        1 | 2 => [1, 3 * below(2), 7, below(16), below(8)], // IC, DC, AT
        3 | 4 => [1, 0, 8, [3, 7][below(2) as usize], below(8)], // TLBI of EL1
        5 => [1, 4, 8, below(8), below(8)],                // TLBI of EL2
        _ => [1, below(8), 7 + below(2), below(16), below(8)],
    };
    let address = match random.below(4) {
        0 => places.device(random),
        1 => value(random, places),
        _ => places.data(random),
    };
    snippet.set(VALUE, address);
    let read = random.below(16) == 0;
    snippet.push(if read { read_system } else { write_system }(operation, VALUE));
}
