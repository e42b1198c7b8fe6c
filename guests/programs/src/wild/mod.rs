//! Code that does what no guest should do, made by chance: the same for the same seed.
//!
//! A [`Snippet`] is a series of *operations*, each an instruction that the hypervisor or the processor has to
//! deal with, and what that needs. Nothing here needs a machine; `arch` executes it.

mod calls;
mod devices;
mod instruction;
mod maintenance;
mod registers;
mod snippet;
mod tables;
mod values;
mod waits;

pub use snippet::{END, Snippet};
pub use values::Places;

use rt::random::Random;

/// Most operations of a snippet.
const OPERATIONS_MAX: u64 = 24;
/// One of this number of operations is likely to end the life of the VM.
const DEADLY: u64 = 20_000;

/// A snippet by chance.
pub fn snippet(random: &mut Random, places: &Places) -> Snippet {
    let at_el0 = random.below(8) == 0;
    let places = if at_el0 { places.from_el0() } else { *places };
    let mut snippet = Snippet::new(at_el0, random.below(16) == 0);
    for register in 0..31 {
        snippet.start_with(register, values::value(random, &places));
    }
    for _ in 0..=random.below(OPERATIONS_MAX - 1) {
        snippet.begin();
        operation(&mut snippet, random, &places);
    }
    snippet.end();
    snippet
}

fn operation(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    if random.below(DEADLY) == 0 {
        return deadly(snippet, random, places);
    }
    match random.below(100) {
        0..20 => calls::call(snippet, random, places),
        20..50 => devices::access(snippet, random, places),
        50..72 => registers::access(snippet, random, places),
        72..82 => maintenance::operation(snippet, random, places),
        82..88 => tables::change(snippet, random, places),
        88..94 => waits::wait(snippet, random),
        _ => snippet.push(any_word(random, places)),
    }
}

/// Any instruction, or none. Those that access memory could hit the tables of their VCPU.
fn any_word(random: &mut Random, places: &Places) -> u32 {
    let word = random.number() as u32;
    let accesses_memory = word >> 25 & 0b0101 == 0b0100;
    if accesses_memory && !places.may_get_lost { word ^ 1 << 25 } else { word }
}

/// An operation for which the hypervisor has to end the VM, or from which the code does not come back.
fn deadly(snippet: &mut Snippet, random: &mut Random, places: &Places) {
    match random.below(5) {
        0 => devices::nowhere(snippet, random, places),
        1 if places.may_get_lost => registers::lose_control(snippet, random, places),
        1 => registers::go_nowhere(snippet, random),
        2 => calls::reset(snippet),
        3 => tables::walk_nowhere(snippet, random, places),
        _ => waits::forever(snippet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places = Places {
        arena: 0x4020_0000,
        other: 0x4040_0000,
        end_of_ram: 0x4080_0000,
        doorbell: Some(0x0b00_0000),
        alias: 0,
        device_alias: 0,
        may_get_lost: true,
    };

    #[test]
    fn the_same_seed_gives_the_same_code() {
        let code = |seed| snippet(&mut Random::new(seed), &PLACES).parts()[0].1.to_vec();
        assert_eq!(code(7), code(7));
        assert_ne!(code(7), code(8));
    }

    #[test]
    fn each_snippet_ends_and_counts_what_was_reached() {
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let snippet = snippet(&mut random, &PLACES);
            assert!((1..=OPERATIONS_MAX).contains(&snippet.reached(snippet.bytes())));
            assert_eq!(snippet.reached(0), 1, "the first one was tried");
            assert_eq!(snippet.reached(snippet.bytes() + 4), 0, "it went elsewhere");
            let [(_, code), _] = snippet.parts();
            assert_eq!(code.iter().filter(|&&word| word == instruction::svc(END)).count(), 1);
        }
    }
}
