//! Accesses to registers of devices, to memory, and to nothing.

use super::instruction::{self, ACCESSES, PLAIN_ACCESSES};
use super::snippet::Snippet;
use super::values::{HOLE, Places, value};
use rt::random::Random;

const ADDRESS: u32 = 9;
/// `STXR` and `STXP` report in register 3.
const DATA: u32 = 4;

fn form(random: &mut Random) -> u32 {
    let forms = if random.below(4) > 0 { PLAIN_ACCESSES } else { ACCESSES.len() };
    ACCESSES[random.below(forms as u64) as usize]
}

fn at(snippet: &mut Snippet, random: &mut Random, places: &Places, address: u64) {
    snippet.set(ADDRESS, address);
    snippet.set(DATA, value(random, places));
    snippet.push(instruction::access(form(random), ADDRESS, DATA));
}

/// An access to a device, now and then to memory.
pub fn access(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    let address = if random.below(10) == 0 { places.data(random) } else { places.device(random) };
    let offset = if random.below(8) == 0 { address & 7 } else { random.below(2) << 2 };
    at(snippet, random, places, address & !7 | offset);
}

/// An access to an address where nothing is.
pub fn nowhere(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    let address = if random.below(2) == 0 {
        HOLE + random.below(1 << 20) + places.device_alias
    } else {
        (7 << 30) + (1 << 30) + random.below(1 << 30)
    };
    at(snippet, random, places, address & !7);
}
