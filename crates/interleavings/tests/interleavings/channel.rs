//! Messages through a channel: none is torn, whatever weak memory allows; and each mutant is found.

use std::panic::catch_unwind;

use interleavings::channel;

/// All interleavings with at most so many changes of a thread that could go on.
fn all(changes: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(changes);
    model.check(run);
}

/// Stands behind P14 of the safety manual.
#[test]
fn no_message_is_torn() {
    all(3, || channel::real::run(1, 2, 1));
    all(2, || channel::real::run(2, 3, 1));
    all(2, || channel::real::run(2, 3, 2));
}

#[test]
fn mutants_are_found() {
    type Run = fn(usize, u8, usize);
    let mutants: [(&str, Run); 6] = [
        ("unmarked", channel::unmarked::run),
        ("marked without a fence", channel::marked_without_a_fence::run),
        ("newest too early", channel::newest_too_early::run),
        ("newest without acquiring", channel::newest_without_acquiring::run),
        ("no second look", channel::no_second_look::run),
        ("second look without a fence", channel::second_look_without_a_fence::run),
    ];
    for (name, run) in mutants {
        let found = catch_unwind(|| all(3, move || run(1, 2, 1)));
        let panic = found.expect_err(name);
        let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(message.contains("torn") || message.contains("number"), "{name}: {message}");
    }
}

#[test]
fn no_message_is_of_another_opening() {
    all(2, channel::real::run_opened);
    for (before, after) in [(false, true), (true, false), (true, true)] {
        all(2, move || channel::real::run_opened_again(before, after));
    }
}

#[test]
fn mutants_of_opening_are_found() {
    type Run = fn(bool, bool);
    let found = |name: &str, run: &(dyn Fn() + Sync)| {
        let found = catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err(name);
        let message = found.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(message.contains("torn") || message.contains("number"), "{name}: {message}");
    };
    let mutants: [(&str, Run); 2] = [
        ("opening without a fence", channel::opening_without_a_fence::run_opened_again),
        ("no look for openings", channel::no_look_for_openings::run_opened_again),
    ];
    for (name, run) in mutants {
        found(name, &|| {
            for (before, after) in [(true, false), (false, true), (true, true)] {
                all(2, move || run(before, after));
            }
        });
    }
    let mutants: [(&str, fn()); 2] = [
        ("opened too early", channel::opened_too_early::run_opened),
        ("look without a fence", channel::look_for_openings_without_a_fence::run_opened),
    ];
    for (name, run) in mutants {
        found(name, &|| all(2, run));
    }
}
