//! The protocol of kicks: no wake-up is lost, nothing is withdrawn too late, kicks are few and each is paid; and each
//! mutant is found.

use std::panic::catch_unwind;

use interleavings::attention::{with_loom, with_shuttle};

use crate::iterations;

/// Acts of the VCPU beside calls of its siblings.
#[derive(Clone, Copy, Debug)]
enum Life {
    Preempted,
    FallsAsleep,
    Asleep,
    Withdrawn,
    Teased,
}

macro_rules! live {
    ($($protocol:ident)::+, $life:expr) => {{
        use $($protocol)::+::{self as protocol, Act::*, Call::*};
        match $life {
            Life::Preempted => protocol::run(Preempt, &[Run], &[&[Send(1)], &[Send(2)]]),
            Life::FallsAsleep => protocol::run(Look, &[Wait, Run], &[&[Send(1)], &[Send(2)]]),
            Life::Asleep => protocol::run(Wait, &[Look], &[&[TakeBack(1), Send(1)], &[Send(2)]]),
            Life::Withdrawn => {
                protocol::run(Preempt, &[Run, Handle], &[&[Send(1), Disable(1)]]);
            }
            Life::Teased => protocol::run(
                Wait,
                &[Look; 16],
                &[&[Send(1), TakeBack(1)], &[Send(2), TakeBack(2), Send(2), TakeBack(2), Send(2), TakeBack(2)]],
            ),
        }
    }};
}

/// All interleavings with at most three changes of a thread that could go on.
macro_rules! all {
    ($mutant:ident, $life:expr) => {{
        let life = $life;
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || live!(with_loom::$mutant, life));
    }};
}

macro_rules! some {
    ($mutant:ident, $life:expr) => {{
        let life = $life;
        let run = move || live!(with_shuttle::$mutant, life);
        shuttle::check_random(run, iterations(2000));
        shuttle::check_pct(run, iterations(2000), 3);
    }};
}

/// A mutant fails.
macro_rules! found {
    ($how:ident, $mutant:ident, $life:expr) => {
        #[test]
        fn $mutant() {
            let life = $life;
            assert!(catch_unwind(|| $how!($mutant, life)).is_err(), "{life:?}: nothing is found");
        }
    };
}

mod sound {
    use super::*;

    #[test]
    fn a_vcpu_that_is_preempted_and_runs_loses_nothing() {
        all!(real, Life::Preempted);
        some!(real, Life::Preempted);
    }

    #[test]
    fn a_vcpu_that_falls_asleep_loses_nothing() {
        all!(real, Life::FallsAsleep);
        some!(real, Life::FallsAsleep);
    }

    #[test]
    fn a_vcpu_that_waits_wakes() {
        all!(real, Life::Asleep);
        some!(real, Life::Asleep);
    }

    #[test]
    fn what_is_withdrawn_does_not_come() {
        all!(real, Life::Withdrawn);
        some!(real, Life::Withdrawn);
    }

    #[test]
    fn kicks_of_one_that_waits_are_few() {
        some!(real, Life::Teased);
    }
}

mod mutants {
    use super::*;

    found!(all, place_before_note, Life::Preempted);
    found!(all, relaxed_run, Life::Preempted);
    found!(all, relaxed_look, Life::Preempted);
    found!(all, wait_without_look, Life::FallsAsleep);
    found!(all, notes_taken_late, Life::Asleep);
    found!(all, quiet_call, Life::Asleep);
    found!(some, settled_sleeps_on, Life::Teased);
    found!(all, later_kick_unpaid, Life::Asleep);
}
