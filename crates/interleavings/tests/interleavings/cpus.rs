//! VCPUs that take turns on CPUs and send each other interrupts: none is lost, none comes twice or after it was
//! withdrawn; and each mutant is found.

use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};

use abi::hypercall::LOCK_INTERRUPT;
use interleavings::Act::{self, *};

use crate::iterations;
use interleavings::cpus;

/// VMs, for each of its VCPUs the CPU and what its guest does. Those of the first VM go first.
type Vms = &'static [&'static [(usize, &'static [Act])]];

/// The edge-triggered interrupt of a virtual device, and that of the assigned one: VCPU 0 gets them at first.
const EDGE: u32 = 36;
const DEVICE: u32 = 40;

/// VCPUs on CPUs of their own, which sleep in between.
const APART: Vms = &[&[
    (0, &[Send(1, 1), Handle, Send(1, 2), Handle]),
    (1, &[Handle, Send(0, 3), Handle, Send(0, 4)]),
]];

/// Others go first, which wait and wake too.
const PREEMPTED: Vms = &[
    &[(1, &[Handle, Send(1, 5), Handle]), (0, &[Send(0, 6), Handle, Send(0, 7)])],
    &[(0, &[Handle, Handle]), (1, &[Send(0, 1), Send(0, 2)])],
];

/// An interrupt is disabled while it comes, and enabled again.
const WITHDRAWN: Vms = &[
    &[(1, &[Handle, Send(1, 5)]), (0, &[Send(0, 6), Handle])],
    &[(0, &[Send(1, 1), Disable(1), Withdrawn(1), Enable(1), Send(1, 2)]), (1, &[Handle, Handle])],
];

/// The same while another VM has the CPU of the VCPU that would get it.
const WITHDRAWN_OUTSIDE: Vms = &[
    &[(1, &[Handle, Busy, Busy]), (2, &[Busy, Busy, Send(0, 5)])],
    &[
        (0, &[Send(1, 1), Busy, Busy, Disable(1), Withdrawn(1), Busy, Busy, Busy, Busy, Enable(1)]),
        (1, &[Busy, Busy, Busy, Busy, Handle]),
    ],
];

/// An interrupt goes to another VCPU while the one that had it before waits.
const ROUTED: Vms = &[&[
    (0, &[Handle, Send(1, 1)]),
    (1, &[Raise(EDGE), Handle, Route(EDGE, 1), Raise(EDGE), Handle]),
]];

/// A device, whose interrupt is disabled and enabled while it comes, and whose VCPU others may preempt.
const ASSIGNED: Vms = &[
    &[(0, &[Handle, Send(1, 5)]), (1, &[Send(0, 6), Handle])],
    &[
        (0, &[Handle, Send(1, 1), Handle, Send(1, 2)]),
        (1, &[Fire, Disable(DEVICE), Enable(DEVICE), Handle, Fire, Handle]),
    ],
];

/// VCPUs of two VMs that need the same resource.
const SHARING: Vms = &[
    &[(0, &[Open, Lock(0), Unlock(0), Lock(0), Unlock(0)])],
    &[(1, &[Open, Lock(0), Unlock(0), Lock(0), Unlock(0)])],
    &[(1, &[Handle, Send(1, 5), Handle]), (0, &[Send(0, 6), Handle, Send(0, 7)])],
];

/// One VCPU takes no notice of the resource that it gets, and waits for something else; another one on its CPU is woken.
const IGNORED: Vms = &[
    &[
        (1, &[Open, Lock(0), Send(1, 3), Unlock(0)]),
        (0, &[Open, Disable(LOCK_INTERRUPT), Handle, Ask(0)]),
    ],
    &[(1, &[Send(1, 5), Send(1, 6)]), (0, &[Handle, Handle])],
];

/// The same; what it waits for was in its list registers before, and comes from the VCPU that gives the resource back.
const IGNORED_AGAIN: Vms = &[
    &[
        (1, &[Open, Lock(0), Send(1, 3), Handle, Unlock(0), Send(1, 3)]),
        (0, &[Open, Disable(LOCK_INTERRUPT), Handle, Send(0, 9), Ask(0), Handle]),
    ],
    &[(1, &[Send(1, 5), Send(1, 6)]), (0, &[Handle, Handle])],
];

/// VCPUs of a VM that open the same resource.
const OPENING: Vms = &[&[(0, &[Open, Close]), (1, &[Open])]];

fn some(run: fn(Vms), vms: Vms) {
    shuttle::check_random(move || run(vms), iterations(500));
    shuttle::check_pct(move || run(vms), iterations(500), 3);
}

/// The same with locks, of which there is one table.
fn some_with_locks(vms: Vms) {
    static TABLE: Mutex<()> = Mutex::new(());
    let _table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    some(cpus::real::run, vms);
}

/// Stands behind P16 of the safety manual.
#[test]
fn what_is_sent_comes() {
    some(cpus::real::run, APART);
}

#[test]
fn what_is_sent_comes_though_others_run() {
    some(cpus::real::run, PREEMPTED);
}

#[test]
fn what_is_disabled_comes_when_it_is_enabled() {
    some(cpus::real::run, WITHDRAWN);
    some(cpus::real::run, WITHDRAWN_OUTSIDE);
}

#[test]
fn what_is_routed_elsewhere_comes_there() {
    some(cpus::real::run, ROUTED);
}

#[test]
fn what_a_device_signals_comes() {
    some(cpus::real::run, ASSIGNED);
}

#[test]
fn one_has_a_resource_and_the_next_gets_it() {
    some_with_locks(SHARING);
}

#[test]
fn time_goes_on_where_resources_are_taken_away() {
    some_with_locks(IGNORED);
}

#[test]
fn what_is_sent_comes_after_a_resource_that_the_guest_ignores() {
    some_with_locks(IGNORED_AGAIN);
}

#[test]
fn a_resource_is_open_whoever_opened_it() {
    some_with_locks(OPENING);
}

/// Random interleavings, more than the real one needs to pass, show the mistake.
macro_rules! found {
    ($($mutant:ident in $vms:ident)*) => {$(
        #[test]
        fn $mutant() {
            let mutant = || shuttle::check_random(|| cpus::$mutant::run($vms), 20_000);
            assert!(catch_unwind(mutant).is_err(), "nothing is found");
        }
    )*};
}

mod mutants {
    use super::*;

    found! {
        goes_on_unseen in APART
        enters_without_a_look in WITHDRAWN_OUTSIDE
        sleeps_without_a_look in APART
        waits_under_the_table in SHARING
        grants_without_a_kick in SHARING
        kicks_before_the_grant in SHARING
        two_owners in SHARING
        opens_and_closes_alike in OPENING
        masks_without_waking in ASSIGNED
        settles_without_folding in IGNORED_AGAIN
        waits_for_those_who_sleep in WITHDRAWN
        trusts_what_seems_listed in ROUTED
    }
}
