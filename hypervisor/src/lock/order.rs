//! A CPU that waits for a lock holds no other one, but for the pairs in [`ORDERED`]: else it could wait for as long as several
//! other CPUs need one after the other, or for ever. Tests on the development machine check that wherever a lock is taken, and
//! so does `crates/interleavings`.

use core::any::type_name;
use core::cell::RefCell;

/// Locks that may be waited for while another one is held: the type that the held one protects, and the type that
/// the other one protects. They make no circle, so that no CPUs can wait for each other.
pub const ORDERED: [(&str, &str); 8] = [
    // Who starts a VCPU tells it where: nobody else has this lock for longer than that takes.
    ("lifecycle::Lifecycle", "(u64, u64)"),
    // A guest's UART writes into the ring of its VM, and its interrupt follows its state.
    ("pl011::Pl011", "ring::Ring"),
    ("pl011::Pl011", "gic::state::State"),
    // The interrupt of an end of a serial line follows its state.
    ("port::End", "gic::state::State"),
    // The interrupt of a network card follows its state.
    ("card::Card", "gic::state::State"),
    // The interrupt of the port for colours follows its state.
    ("color_serial::ColorSerial", "gic::state::State"),
    // Who sends asks which rings have more: each for a few instructions.
    ("mux::Mux", "ring::Ring"),
    // The interrupt of an assigned device is changed in the machine's interrupt controller, in which several VMs share a register.
    ("gic::state::State", "()"),
];

std::thread_local! {
    /// Types of the data behind the locks that this thread, as a CPU, holds.
    static HELD: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Panics if this CPU has a lock that is not to be held when it waits for one around a `T`.
#[track_caller]
pub fn wanted<T>() {
    HELD.with_borrow(|held| check(held, type_name::<T>()));
}

/// This CPU has a lock around a `T`.
pub fn taken<T>() {
    HELD.with_borrow_mut(|held| held.push(type_name::<T>()));
}

/// This CPU has a lock around a `T` no more.
pub fn released<T>() {
    HELD.with_borrow_mut(|held| {
        let last = held.iter().rposition(|name| *name == type_name::<T>());
        last.map(|last| held.swap_remove(last))
    });
}

/// Panics if a CPU with locks of the types `held` may not wait for one of the type `wanted`.
#[track_caller]
pub fn check(held: &[&str], wanted: &str) {
    let is_ordered = |held: &str| {
        ORDERED.iter().any(|(first, second)| held.ends_with(first) && wanted.ends_with(second))
    };
    if let Some(held) = held.iter().find(|held| !is_ordered(held)) {
        panic!("waits for {wanted} and has {held}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Mutex;

    struct Mux;
    struct Ring;

    // Their names end as those of the console's do.
    mod mux {
        pub struct Mux;
    }
    mod ring {
        pub struct Ring;
    }

    #[test]
    fn one_lock_after_the_other_is_in_order() {
        let (first, second) = (Mutex::new(Mux), Mutex::new(Ring));
        drop(first.lock());
        drop(second.lock());
        let held = first.lock();
        assert!(second.try_lock().is_some(), "nobody waits");
        drop(held);
        drop(second.lock());
    }

    #[test]
    #[should_panic(expected = "Ring and has")]
    fn who_waits_has_no_other_one() {
        let (first, second) = (Mutex::new(Mux), Mutex::new(Ring));
        let _held = first.lock();
        drop(second.lock());
    }

    #[test]
    fn pairs_are_in_order() {
        let (mux, ring) = (Mutex::new(mux::Mux), Mutex::new(ring::Ring));
        let _held = mux.lock();
        drop(ring.lock());
    }

    #[test]
    #[should_panic(expected = "mux::Mux and has")]
    fn pairs_are_not_in_order_the_other_way_round() {
        let (mux, ring) = (Mutex::new(mux::Mux), Mutex::new(ring::Ring));
        let _held = ring.lock();
        drop(mux.lock());
    }

    #[test]
    fn no_pairs_make_a_circle() {
        for (first, _) in ORDERED {
            let mut reached = vec![first];
            for _ in 0..ORDERED.len() {
                let follows = ORDERED.iter().filter(|(from, _)| reached.contains(from));
                reached = follows.map(|(_, to)| *to).collect();
                assert!(!reached.contains(&first), "{first} waits for itself");
            }
        }
    }
}
