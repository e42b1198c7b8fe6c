//! Limits of memory accesses. No CPU has to count: an access is a nanosecond of processor time here, which Linux counts and of
//! which it tells the end of a limit in the same way.

use std::thread;
use std::time::Duration;

use abi::kvm::Call;
use abi::trace::{Kind, Record};
use host::machine::{
    Credits, Error, Event, Id, Limits, Prepared, Running, Seats, SharedLimit, Sharing, VmLimits,
};
use policy::bandwidth::{Account, Parameters};
use policy::cpu::{Cpu, Slot};
use policy::server::Policy;
use policy::time::{Duration as Ticks, Instant as Time};

use crate::code::{LOOP, call, wait_each};
use crate::records::{runs, time_of_action};
use crate::vms::{MS, alone, guest, last_cpu, news, prepared, started};

const BUDGET: u64 = MS;
const PERIOD: u64 = 10 * MS;
/// Time of a run.
const RUN: u64 = 400 * MS;
const NONE: VmLimits = VmLimits { own: false, shared: None, critical: false };

/// The memory account of a VCPU.
#[derive(Clone, Copy)]
enum Has {
    Nothing,
    Own,
    Shared,
}

/// Prepares VMs with this code on the last CPU, and starts them. All VCPUs are of the background class, the first comes first.
fn start(
    vms: &[&[u8]],
    vcpus: &[(u8, Has)],
    limits: Vec<VmLimits>,
    event: Event,
) -> Result<Running, Error> {
    let mut seats = Seats { cpu: last_cpu(), vcpus: Vec::new() };
    for (vm, _) in vcpus {
        let vcpu = seats.vcpus.iter().filter(|id| id.vm == *vm).count() as u8;
        seats.vcpus.push(Id { vm: *vm, vcpu });
    }
    let schedulers = |start| {
        let slot = |(_, has): &(u8, Has)| {
            let slot = Slot::new(Policy::Background).expect("a server");
            let (period, start) = (Ticks(PERIOD), Time(start));
            match has {
                Has::Nothing => slot,
                Has::Shared => slot.with_account(Account::shared()),
                Has::Own => {
                    let parameters = Parameters { budget: BUDGET, period, start };
                    slot.with_account(Account::own(parameters).expect("a budget"))
                }
            }
        };
        vec![Cpu::new(vcpus.iter().map(slot).collect())]
    };
    let guests = vms.iter().map(|code| guest(code)).collect();
    let limits = Limits { event, vms: limits };
    let prepared = prepared(guests, vec![seats], Sharing::default());
    prepared.map(|it| Prepared::with_limits(it, Some(limits)))?.start(schedulers)
}

/// The records of a run, and the time at which periods start.
fn records(result: Result<Running, Error>) -> Option<(Vec<Record>, u64)> {
    let mut running = started(result)?;
    thread::sleep(Duration::from_nanos(RUN));
    running.stop();
    news(&mut running);
    assert_eq!(running.failure(), None);
    let mut records = Vec::new();
    assert_eq!(running.take_records()[0].poll(&mut records), 0);
    assert!(records.is_sorted_by_key(time_of_action), "time does not go back");
    let epoch = records.iter().find(|it| it.kind() == Some(Kind::Epoch)).expect("an epoch").ticks;
    Some((records, epoch))
}

/// The sum of the arguments of records of a VM of some kinds.
fn sum(records: &[Record], vm: u8, kinds: &[Kind]) -> u64 {
    let of = |it: &&Record| it.vm() == vm && it.kind().is_some_and(|kind| kinds.contains(&kind));
    records.iter().filter(of).map(|it| it.argument()).sum()
}

/// The periods that have begun, of which the last may not be over.
fn periods(records: &[Record], epoch: u64) -> u64 {
    let end = records.last().expect("records").ticks;
    end.saturating_sub(epoch) / PERIOD + 1
}

/// The accesses of the last execution that ended at a limit.
fn last_overflow(records: &[Record]) -> u64 {
    let last = records.iter().rfind(|it| it.kind() == Some(Kind::Overflow));
    last.map_or(0, |it| it.argument())
}

const CHARGED: [Kind; 2] = [Kind::Account, Kind::Overflow];

#[test]
fn a_vcpu_stops_at_its_limit_and_others_run_until_its_next_period() {
    let _alone = alone();
    let limits = vec![VmLimits { own: true, ..NONE }, NONE];
    let vcpus = [(0, Has::Own), (1, Has::Nothing)];
    let Some((records, epoch)) = records(start(&[&LOOP, &LOOP], &vcpus, limits, Event::Clock))
    else {
        return;
    };
    let count = |kind, vm| {
        records.iter().filter(|it| it.kind() == Some(kind) && it.vm() == vm).count() as u64
    };
    let periods = periods(&records, epoch);
    // Each period ends with an overflow, if the host lets the VCPU execute at all.
    let overflows = count(Kind::Overflow, 0);
    assert!(overflows >= periods / 2 && overflows <= periods, "{overflows} in {periods} periods");
    assert!(count(Kind::VcpuRun, 1) >= overflows / 2, "the other VCPU runs then");
    assert!(count(Kind::Recharge, 0) >= overflows && count(Kind::Recharge, 1) == 0);
    // What the VCPU did beyond its budgets, it paid with the next ones: only the last is not paid yet.
    let charged = sum(&records, 0, &CHARGED);
    let last = last_overflow(&records);
    assert!(charged <= periods * BUDGET + last, "{charged} in {periods} periods");
    assert!(charged >= overflows * BUDGET * 9 / 10, "{charged} with {overflows} overflows");
    assert_eq!(sum(&records, 1, &CHARGED), 0, "nobody counts where there is no limit");
    let recharged = records.iter().filter(|it| it.kind() == Some(Kind::Recharge));
    assert!(recharged.map(|it| it.argument()).all(|left| (1..=BUDGET).contains(&left)));
}

/// A guest that makes Linux and this process work in its place gets no more for that.
#[test]
fn a_vm_that_calls_all_the_time_pays_for_what_is_done_for_it() {
    let _alone = alone();
    let calls = call(Call::Marks);
    let back = -(calls.len() as i8 + 2);
    let calls = [&calls[..], &[0xeb, back as u8]].concat();
    let limits = vec![VmLimits { own: true, ..NONE }, NONE];
    let vcpus = [(0, Has::Own), (1, Has::Nothing)];
    let Some((records, epoch)) = records(start(&[&calls, &LOOP], &vcpus, limits, Event::Clock))
    else {
        return;
    };
    let executed: u64 = runs(&records, 0).into_iter().map(|(_, length)| length).sum();
    let charged = sum(&records, 0, &CHARGED);
    assert!(charged >= executed * 8 / 10, "it executed for {executed} ns and paid for {charged}");
    let (periods, last) = (periods(&records, epoch), last_overflow(&records));
    assert!(charged <= periods * BUDGET + last, "{charged} in {periods} periods");
}

#[test]
fn vcpus_of_a_vm_share_its_limit() {
    let _alone = alone();
    let shared = SharedLimit { accesses: BUDGET, period: PERIOD, credits: None };
    let limits = vec![VmLimits { shared: Some(shared), ..NONE }];
    let vcpus = [(0, Has::Shared), (0, Has::Shared)];
    let Some((records, epoch)) = records(start(&[&LOOP], &vcpus, limits, Event::Clock)) else {
        return;
    };
    let (granted, periods) = (sum(&records, 0, &[Kind::Grant]), periods(&records, epoch));
    assert!(granted <= periods * BUDGET && granted >= periods / 2 * BUDGET, "{granted}");
    // The first VCPU takes it all, and then there is nothing left for the other one.
    let refused = records
        .iter()
        .filter(|it| it.kind() == Some(Kind::Grant) && it.vcpu() == 1 && it.argument() == 0);
    assert!(refused.count() as u64 >= periods / 2);
    assert!(
        records.iter().filter(|it| it.kind() == Some(Kind::Idle)).count() as u64 >= periods / 2
    );
}

#[test]
fn a_vm_gets_credits_for_what_a_critical_vm_does_not_do() {
    let _alone = alone();
    let credits = Some(Credits { periods: 2, flush_task_switch: true });
    let run = |credits| {
        let shared = SharedLimit { accesses: BUDGET, period: PERIOD, credits };
        let limits =
            vec![VmLimits { critical: true, ..NONE }, VmLimits { shared: Some(shared), ..NONE }];
        // The critical VM waits, and wakes up once in four periods.
        let waits = wait_each(4 * PERIOD as u32);
        let vcpus = [(0, Has::Nothing), (1, Has::Shared)];
        records(start(&[&waits, &LOOP], &vcpus, limits, Event::Clock))
    };
    let Some((without, epoch)) = run(None) else { return };
    let most = |records: &[Record], epoch: u64| {
        let mut granted = vec![0; periods(records, epoch) as usize + 1];
        for it in records.iter().filter(|it| it.kind() == Some(Kind::Grant)) {
            granted[(it.ticks.saturating_sub(epoch) / PERIOD) as usize] += it.argument();
        }
        granted
    };
    assert!(most(&without, epoch).into_iter().all(|granted| granted <= BUDGET));
    let (with, epoch) = run(credits).expect("it ran before");
    let granted = most(&with, epoch);
    assert!(granted.iter().all(|granted| *granted <= 2 * BUDGET), "{granted:?}");
    let more = granted.iter().filter(|granted| **granted > BUDGET * 3 / 2).count();
    assert!(more >= granted.len() / 8, "{granted:?}");
    // They are given up every two periods.
    assert!(
        granted.windows(2).all(|two| two[0] + two[1] <= 3 * BUDGET + BUDGET / 2),
        "{granted:?}"
    );
}

/// A CPU with performance monitors has the event.
#[test]
fn without_a_counter_nothing_starts() {
    let _alone = alone();
    let limits = vec![VmLimits { own: true, ..NONE }];
    match start(&[&LOOP], &[(0, Has::Own)], limits, Event::CacheMisses) {
        Ok(running) => drop(running),
        Err(Error::NoCounter { error }) => assert!(!error.is_empty()),
        Err(error) => drop(started(Err(error))),
    }
}
