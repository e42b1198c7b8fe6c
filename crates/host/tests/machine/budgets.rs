//! Budgets, times for which VCPUs wait, and their clocks.

use std::thread;
use std::time::Duration;

use abi::trace::Kind;
use host::machine::News;
use policy::server::Policy;

use crate::code::{LOOP, wait_each, wait_until};
use crate::records::{runs, time_of_action};
use crate::vms::{MS, Vm, alone, news, start};

#[test]
fn each_vcpu_gets_its_budget_and_waits_for_its_time() {
    let _alone = alone();
    let busy = (LOOP.to_vec(), Policy::Periodic as fn(_) -> _, [2 * MS, 10 * MS]);
    // Runs from 20 ms after the start of the servers on.
    let late = [wait_until(20 * MS as u32), LOOP.to_vec()].concat();
    let late = (late, Policy::Deferrable as fn(_) -> _, [3 * MS, 10 * MS]);
    let Some(mut running) = start(&[busy, late]) else { return };
    thread::sleep(Duration::from_millis(500));
    running.stop();
    let exits = news(&mut running);
    assert!(matches!(exits[..], [News::Left { .. }, News::Left { .. }]), "{exits:?}");
    let mut records = Vec::new();
    assert_eq!(running.take_records()[0].poll(&mut records), 0);
    assert!(records.is_sorted_by_key(time_of_action), "time does not go back");
    let epoch = records.iter().find(|it| it.kind() == Some(Kind::Epoch)).expect("an epoch").ticks;
    for (vm, budget) in [(0, 2 * MS), (1, 3 * MS)] {
        let mut runs = runs(&records, vm);
        let first = runs[0].0;
        if vm == 1 {
            // The first time only to say that it waits.
            assert!(runs[1].0 >= epoch + 20 * MS);
        }
        assert!(first >= epoch, "no budget comes before the epoch");
        runs.retain(|(_, length)| *length > budget / 2);
        assert!(runs.len() >= 10, "VM {vm} had its budget only {} times", runs.len());
        runs.sort_by_key(|(_, length)| *length);
        let median = runs[runs.len() / 2].1;
        assert!(median.abs_diff(budget) < MS / 4, "VM {vm} had {median} of {budget}");
    }
}

#[test]
fn a_vcpu_that_preempts_another_one_pays_from_the_time_for_which_it_asked() {
    const EACH: u64 = 400_000;
    let _alone = alone();
    let vms: [Vm; 2] = [
        (wait_each(EACH as u32), Policy::Deferrable, [9 * MS, 10 * MS]),
        (LOOP.to_vec(), |_| Policy::Background, [0, 0]),
    ];
    let Some(mut running) = start(&vms) else { return };
    thread::sleep(Duration::from_millis(400));
    running.stop();
    news(&mut running);
    let mut records = Vec::new();
    running.take_records()[0].poll(&mut records);
    assert!(records.is_sorted_by_key(time_of_action), "time does not go back");
    let epoch = records.iter().find(|it| it.kind() == Some(Kind::Epoch)).expect("an epoch").ticks;
    let wakes = records.iter().filter(|it| it.kind() == Some(Kind::Wake) && it.vm() == 0);
    let wakes = wakes.filter(|it| it.ticks >= epoch);
    let mut late: Vec<u64> = wakes.map(|it| (it.ticks - epoch) % EACH).collect();
    late.sort_unstable();
    assert!(late.len() > 300, "{} wakes", late.len());
    // The other VCPU would else pay for the alarm that stops it, each time.
    assert!(late[late.len() / 2] < 1_000, "{late:?}");
}

#[test]
fn a_vcpu_that_nothing_stops_sees_a_clock_that_is_not_old() {
    let _alone = alone();
    let Some(mut running) = start(&[(LOOP.to_vec(), |_| Policy::Background, [0, 0])]) else {
        return;
    };
    thread::sleep(Duration::from_millis(1_000));
    running.stop();
    let all = news(&mut running);
    let [News::Left { exits, .. }] = all[..] else { panic!("{all:?}") };
    assert!((4..50).contains(&exits), "its clock was renewed {exits} times");
    let mut records = Vec::new();
    running.take_records()[0].poll(&mut records);
    // The scheduler is not asked for that.
    assert!(records.len() < 10, "{records:?}");
}
