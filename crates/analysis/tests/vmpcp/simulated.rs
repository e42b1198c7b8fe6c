//! Sound bounds hold in the model.

use analysis::vmpcp::{Protocol, Variant};

use super::random::{APART, SMALL, WIDE};
use super::searches::search;

fn none_is_above(seed: u64, size: (u64, u64)) {
    for protocol in [Protocol::Vmpcp, Protocol::Mpcp] {
        for shape in [SMALL, WIDE, APART] {
            let found = search(seed, size, (shape, protocol), Variant::Sound);
            assert!(found.above.is_none(), "{:?}", found.above);
            println!(
                "{protocol:?}: {} systems, {} bounds of late tasks, {} of tasks with global sections, \
                 {} reached",
                found.systems, found.late, found.tasks, found.reached
            );
            assert!(found.systems > size.0 / 3 && found.late > size.0 / 20, "{found:?}");
            assert!(found.tasks > size.0 / 10, "{found:?}");
        }
    }
}

#[test]
fn no_response_is_above_its_sound_bound() {
    none_is_above(1, (100, 8));
}

#[test]
#[ignore = "a minute"]
fn no_response_of_many_systems_is_above_its_sound_bound() {
    none_is_above(2, (10_000, 30));
}
