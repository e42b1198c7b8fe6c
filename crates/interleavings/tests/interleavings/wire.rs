//! Bytes through a serial line: they come in order, a sender that waits for room is told, and a VCPU knows what a VM was told; and
//! each mutant is found.

use std::panic::catch_unwind;

use interleavings::{notes, wire};

/// All interleavings with at most so many changes of a thread that could go on.
fn all(changes: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(changes);
    model.check(run);
}

#[test]
fn bytes_come_in_order_and_no_sender_waits_for_ever() {
    all(3, || wire::real::run(3, 3));
    all(3, wire::real::run_full);
}

#[test]
fn what_was_told_is_done_or_somebody_is_called() {
    all(4, notes::real::run_called);
    all(4, notes::real::run_forget);
}

#[test]
fn mutants_are_found() {
    type Run = fn(u8, usize);
    let found = |name: &str, part: &str, run: &(dyn Fn() + Sync)| {
        let found = catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err(name);
        let message = found.downcast_ref::<String>().cloned().unwrap_or_default();
        let text = found.downcast_ref::<&str>().copied().unwrap_or(&message);
        assert!(text.contains(part), "{name}: {text}");
    };
    let mutants: [(&str, Run); 2] = [
        ("shown too early", wire::shown_too_early::run),
        ("seen without acquiring", wire::seen_without_acquiring::run),
    ];
    for (name, run) in mutants {
        found(name, "a wrong byte", &|| all(3, move || run(3, 3)));
    }
    let mutants: [(&str, fn()); 2] = [
        ("no second look", wire::no_second_look::run_full),
        ("second look without a fence", wire::second_look_without_a_fence::run_full),
    ];
    for (name, run) in mutants {
        found(name, "waits for ever", &|| all(3, run));
    }
    let mutants: [(&str, fn()); 4] = [
        ("no second try", notes::no_second_try::run_called),
        ("misses late", notes::misses_late::run_called),
        ("leaves without a look", notes::leaves_without_a_look::run_called),
        ("forgets by a store", notes::forgets_by_a_store::run_forget),
    ];
    for (name, run) in mutants {
        found(name, "nobody knows", &|| all(4, run));
    }
}
