//! Links whose ends several VMs use at the same time: nothing is written where no ring is any more, a driver knows when its ring is
//! wrong, and a right one is never said to be wrong; and each mutant is found.

use std::panic::{AssertUnwindSafe, catch_unwind};

use interleavings::links;

use crate::iterations;

fn some(run: fn()) {
    shuttle::check_random(run, iterations(100));
    shuttle::check_pct(run, iterations(100), 3);
}

#[test]
fn at_most_the_frame_that_is_on_its_way_comes_to_a_card_that_is_reset() {
    some(links::real::scenes::reset);
}

#[test]
fn nothing_comes_to_a_vm_that_stopped() {
    some(links::real::scenes::stop);
}

#[test]
fn a_right_ring_is_not_said_to_be_wrong() {
    some(links::real::scenes::repaired);
}

#[test]
fn a_driver_knows_that_its_ring_is_wrong() {
    some(links::real::scenes::told);
    some(links::real::scenes::own);
}

/// Random interleavings, more than the real one needs to pass, show the mistake; or some in which one CPU goes on for long.
fn found(part: &str, run: fn()) {
    let random = || shuttle::check_random(run, 1_000);
    let long = || shuttle::check_pct(run, 20_000, 2);
    let panic =
        catch_unwind(AssertUnwindSafe(random)).and_then(|()| catch_unwind(AssertUnwindSafe(long)));
    let panic = panic.expect_err(part);
    let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
    let text = panic.downcast_ref::<&str>().copied().unwrap_or(&message);
    assert!(text.contains(part), "{text}");
}

macro_rules! mutants {
    ($($mutant:ident in $scene:ident: $part:literal)*) => {$(
        #[test]
        fn $mutant() {
            found($part, links::$mutant::scenes::$scene);
        }
    )*};
}

mod mutants {
    use super::*;

    mutants! {
        comes_while_moving in reset: "frames begin"
        stops_without_taking in stop: "written though"
        stops_without_waiting in stop: "written though"
        starts_without_forgetting in repaired: "said to be wrong"
        breaks_late in repaired: "said to be wrong"
        breaks_untold in told: "nobody knows"
        sends_untold in own: "nobody knows"
    }
}
