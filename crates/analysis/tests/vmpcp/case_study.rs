//! Worked examples: the case study (vMPCP, section V.B), and Figures 3 to 5.

use analysis::vmpcp::{Protocol, Variant};
use analysis::{Duration, Failure, Kind};

use super::described::{Described, OneVcpu, normal, section, task};

/// Eight VCPUs (3, 10) ms on four PCPUs, a task (2, 1, 2) of 200 ms in each, (2, 1.1, 2) in v_2,
/// and one resource; in units of 0.1 ms.
fn case_study(protocol: Protocol, overrun: bool) -> Described {
    let vcpu = |number: u32| OneVcpu {
        pcpu: (number as usize - 1) / 2,
        priority: number,
        kind: Kind::Deferrable,
        budget: 30,
        period: 100,
        overrun,
        tasks: vec![task(
            &[normal(20), section(0, if number == 2 { 11 } else { 10 }), normal(20)],
            2000,
        )],
    };
    Described { vcpus: [2, 1, 4, 3, 6, 5, 8, 7].map(vcpu).into(), protocol }
}

/// Bounds of tau_1, tau_2, ...
fn by_number<T: Clone>(of: &[T]) -> Vec<T> {
    [1, 0, 3, 2, 5, 4, 7, 6].map(|place| of[place].clone()).into()
}

#[test]
fn bounds_of_the_case_study_without_overrun() {
    let bounds = case_study(Protocol::Vmpcp, false).bounds(Variant::Published);
    // Eq. 5, v_2: 3 + 2 * 1 of tau_1. v_1: 3 + 2 * 3 of v_2.
    let servers = by_number(&bounds.servers);
    assert_eq!(servers[..2], [Ok(Duration(90)), Ok(Duration(50))]);
    // Eq. 16: 7 + 1 for even numbers, 1.1 more for tau_2; 1 more for odd ones, whose VCPU waits for
    // the other one, and 1.1 for tau_1: 9.1 is the longest. Eq. 11: that once, and twice each
    // of those above. Eq. 6: tau_8 executes for 5, waits for 9.1, and for 6 gaps of 7.
    let tasks = by_number(&bounds.tasks);
    let bound = |number: usize| tasks[number - 1].map(|it| (it.remote.0, it.time.0));
    assert_eq!(bound(8), Err(Failure::Others { task: 6 }));
    let at_least = |number: usize| match tasks[number - 1] {
        Err(Failure::Unschedulable { at_least, .. }) => at_least.0,
        other => panic!("{other:?}"),
    };
    // The analysis does not say that the tasks from tau_5 on are in time.
    assert!((1..=5).all(|number| at_least(number) > 2000));
}

/// Without those that would be late, all others are in time.
#[test]
fn bounds_of_the_upper_half_of_the_case_study() {
    let mut described = case_study(Protocol::Vmpcp, false);
    described.vcpus.drain(..4);
    let bounds = described.bounds(Variant::Published);
    let bound = |place: usize| bounds.tasks[place].map(|it| (it.remote.0, it.time.0));
    // tau_8: 5, 9 of tau_5 or tau_7, and 6 gaps of 7: ceil(14 / 3) and one.
    assert_eq!(bound(2), Ok((90, 50 + 90 + 6 * 70)));
    // tau_7: 9 of tau_5, twice 8 of tau_8.
    assert_eq!(bound(3), Ok((90 + 160, 50 + 250 + 11 * 70)));
    // tau_6: twice 9 of tau_7, and twice 8 of tau_8.
    assert_eq!(bound(0), Ok((90 + 180 + 160, 50 + 430 + 17 * 70)));
    // tau_5: nobody below; the same and twice 8 of tau_6.
    assert_eq!(bound(1), Ok((500, 50 + 500 + 20 * 70)));
}

/// Eq. 5 does not hold there: v_1 may have to wait for 2 (3 + 1.1) of v_2, besides 3 + 1 of its own.
#[test]
fn the_budgets_of_the_case_study_leave_no_room_for_overrun() {
    let bounds = case_study(Protocol::Vmpcp, true).bounds(Variant::Published);
    let expected =
        Failure::Unschedulable { task: 1, at_least: Duration(122), deadline: Duration(100) };
    assert_eq!(bounds.servers[1], Err(expected));
    assert_eq!(bounds.servers[0], Ok(Duration(61)));
}

/// A task in a VCPU above waits for a section of 1 in a VCPU (4, 10): Eq. 14, 15 and 16.
#[test]
fn sections_take_as_long_as_their_servers_let_them() {
    let remote = |kind, overrun, length| {
        let vcpu = |priority: u32, length| OneVcpu {
            pcpu: priority as usize,
            priority,
            kind,
            budget: 4,
            period: 10,
            overrun,
            tasks: vec![task(&[normal(1), section(0, length), normal(1)], 400)],
        };
        let described =
            Described { vcpus: vec![vcpu(0, length), vcpu(1, 1)], protocol: Protocol::Vmpcp };
        described.bounds(Variant::Published).tasks[1].map(|bound| bound.remote.0)
    };
    // Figure 3: it waits for the next budget at most once. Figure 4: not at all.
    assert_eq!(remote(Kind::Periodic, true, 1), Ok(6 + 1));
    assert_eq!(remote(Kind::Periodic, true, 5), Ok(6 + 5));
    assert_eq!(remote(Kind::Deferrable, true, 5), Ok(5));
    // Figure 5; as with overrun if it fits into one budget.
    for kind in [Kind::Periodic, Kind::Deferrable] {
        assert_eq!(remote(kind, false, 4), Ok(6 + 4));
        assert_eq!(remote(kind, false, 5), Ok(2 * 6 + 5));
    }
}
