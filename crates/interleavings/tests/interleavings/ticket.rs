//! The lock that CPUs get in turn: mutual exclusion, and the order in which they came; and each mutant is found.

use std::panic::catch_unwind;

use interleavings::ticket;

/// All interleavings with at most so many changes of a thread that could go on.
fn all(changes: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(changes);
    model.check(run);
}

#[test]
fn cpus_get_the_lock_one_by_one_in_the_order_in_which_they_came() {
    all(4, || ticket::real::run(&[1, 2]));
    all(2, || ticket::real::run(&[2, 2]));
}

#[test]
fn mutants_are_found() {
    let found = |run: fn(&'static [usize])| {
        let panic = catch_unwind(|| all(2, move || run(&[1, 1]))).expect_err("nothing is found");
        let message = panic.downcast_ref::<String>().cloned();
        message.unwrap_or_else(|| (*panic.downcast_ref::<&str>().expect("a text")).to_owned())
    };
    let race = "Causality violation: Concurrent";
    assert!(found(ticket::relaxed_lock::run).starts_with(race));
    assert!(found(ticket::relaxed_unlock::run).starts_with(race));
    let both = found(ticket::one_ticket_for_two::run);
    assert!(both.contains("UnsafeCell") || both.starts_with(race), "{both}");
}
