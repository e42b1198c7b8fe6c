//! Rules of locks by hand: who is refused, what becomes of the resources of the dead, local ones.

use std::collections::HashSet;

use crate::events::Events;
use policy::cpu::{Cpu, Slot};
use policy::lock::pcp::Pcp;
use policy::lock::table::{Granted, Holdings, Locked, Resource, Table};
use policy::lock::{LockError, Who, rank};
use policy::server::{Parameters, Policy};
use policy::task::ReadyTasks;
use policy::time::{Duration, Instant};
use proptest::prelude::*;

fn who(vcpu: usize, task: usize) -> Who {
    Who::new(vcpu, task).unwrap()
}

/// VCPUs 0 and 1 of VM 0, VCPU 2 of VM 1. Resource 0 is open to both, 1 to VM 0 alone.
fn table() -> Table<Vec<Resource>, Vec<Holdings>> {
    let resources = vec![Resource::new(0b11), Resource::new(0b01)];
    let vcpus = [0, 0, 1].map(Holdings::new).to_vec();
    let mut table = Table::new(resources, vcpus);
    assert_eq!(table.open(0, 0), Ok(true));
    assert_eq!(table.open(1, 0), Ok(false), "another VM has it open");
    assert_eq!(table.open(0, 1), Ok(true));
    table
}

/// A VCPU stops: who gets what it held.
fn stop(table: &mut Table<Vec<Resource>, Vec<Holdings>>, vcpu: usize) -> Vec<Who> {
    let next = (0..2).filter_map(|resource| table.stop(vcpu, resource)).collect();
    table.forget(vcpu);
    next
}

fn granted(task: usize, resource: usize, orphaned: bool) -> Granted {
    Granted { task, resource: Some(resource), orphaned }
}

const HELD: Locked = Locked::Held { orphaned: false };

#[test]
fn calls_that_break_a_rule_are_refused_and_change_nothing() {
    let mut table = table();
    assert_eq!(table.lock(who(0, 0), 0), Ok(HELD));
    assert_eq!(table.lock(who(1, 7), 0), Ok(Locked::Waits));
    let before = table.clone();
    let mut refuse = |who: Who, resource: usize, error: LockError| {
        assert_eq!(table.lock(who, resource), Err(error));
        assert_eq!(table.try_lock(who, resource), Err(error));
    };
    refuse(who(0, 0), 0, LockError::AlreadyHeld);
    refuse(who(0, 0), 1, LockError::Nested);
    refuse(who(1, 7), 1, LockError::Waits);
    refuse(who(1, 7), 0, LockError::Waits);
    refuse(who(2, 0), 1, LockError::NotOpen);
    refuse(who(0, 1), 2, LockError::NotOpen);
    refuse(who(9, 0), 0, LockError::NotOpen);
    assert_eq!(table.try_lock(who(2, 0), 0), Err(LockError::Busy));
    for (who, resource) in [(who(1, 7), 0), (who(0, 1), 0), (who(0, 0), 1), (who(2, 0), 0)] {
        assert_eq!(table.unlock(who, resource), Err(LockError::NotOwner));
    }
    assert_eq!(table.unlock(who(0, 0), 2), Err(LockError::NotOpen));
    assert_eq!(table.open(1, 1), Err(LockError::NotOpen), "no right");
    assert_eq!(table.open(1, 7), Err(LockError::NotOpen), "no such resource");
    assert_eq!(table.destroy(0, 0), Err(LockError::Busy), "held, and waited for");
    assert_eq!(table.destroy(1, 1), Err(LockError::NotOpen));
    assert_eq!(table, before);

    assert_eq!(table.unlock(who(0, 0), 0), Ok(Some(who(1, 7))));
    assert!(!table.in_gcs(0) && table.in_gcs(1));
    assert_eq!(table.take_grant(1), Some(granted(7, 0, false)));
    assert_eq!(table.take_grant(1), None);
    assert_eq!(table.unlock(who(1, 7), 0), Ok(None));
    assert_eq!(table.destroy(0, 0), Ok(false), "the other VM still has it");
    assert_eq!(table.lock(who(0, 0), 0), Err(LockError::NotOpen));
    assert_eq!(table.destroy(1, 0), Ok(true));
}

#[test]
fn what_the_dead_held_goes_to_the_next_who_is_told() {
    let mut table = table();
    assert_eq!(table.lock(who(2, 0), 0), Ok(HELD));
    assert_eq!(table.lock(who(0, 1), 0), Ok(Locked::Waits));
    assert_eq!(table.lock(who(1, 3), 0), Ok(Locked::Waits));
    // A VCPU that stops while one of its tasks waits is forgotten.
    assert_eq!(stop(&mut table, 0), []);
    assert_eq!(stop(&mut table, 2), [who(1, 3)]);
    assert_eq!(table.take_grant(1), Some(granted(3, 0, true)));
    assert_eq!(table.unlock(who(1, 3), 0), Ok(None));
    assert_eq!(table.lock(who(0, 0), 0), Ok(HELD), "told once");

    // Nobody waits: the next who comes is told.
    assert_eq!(stop(&mut table, 0), []);
    assert_eq!(table.try_lock(who(1, 0), 0), Ok(true));
    table.close_all(0);
    assert_eq!(table.lock(who(1, 1), 0), Err(LockError::NotOpen));
}

#[test]
fn a_vcpu_is_in_a_section_as_long_as_one_of_its_tasks_is() {
    let mut table = table();
    assert_eq!(table.lock(who(0, 0), 0), Ok(HELD));
    assert_eq!(table.lock(who(0, 1), 1), Ok(HELD));
    assert_eq!(table.unlock(who(0, 0), 0), Ok(None));
    assert!(table.in_gcs(0));
    assert_eq!(table.unlock(who(0, 1), 1), Ok(None));
    assert!(!table.in_gcs(0));
}

#[test]
fn who_holds_for_too_long_loses_everything_and_waits_on() {
    let mut table = table();
    assert_eq!(table.lock(who(0, 0), 0), Ok(HELD));
    assert_eq!(table.lock(who(0, 1), 1), Ok(HELD));
    assert_eq!(table.lock(who(2, 3), 0), Ok(Locked::Waits));
    assert_eq!(table.lock(who(0, 2), 0), Ok(Locked::Waits));
    assert_eq!((table.revoke(2, 0), table.revoke(0, 7)), (None, None), "it has none");
    assert_eq!(table.revoke(0, 0), Some(who(0, 2)), "another task of the same VCPU");
    assert_eq!(table.take_grant(0), Some(granted(2, 0, true)));
    assert_eq!(table.revoke(0, 1), None, "nobody waits");
    assert_eq!(table.unlock(who(0, 0), 0), Err(LockError::NotOwner));
    assert_eq!(table.revoke(0, 0), Some(who(2, 3)));
    assert_eq!((table.in_gcs(0), table.owner(0)), (false, Some(who(2, 3))));
    assert_eq!(table.take_grant(2), Some(granted(3, 0, true)));
    assert_eq!(table.unlock(who(0, 2), 0), Err(LockError::NotOwner));
    // Both may ask again; who comes next is told that the last owner did not end its section.
    assert_eq!(table.lock(who(0, 0), 0), Ok(Locked::Waits));
    assert_eq!(table.lock(who(0, 2), 1), Ok(Locked::Held { orphaned: true }));
    assert_eq!(table.unlock(who(2, 3), 0), Ok(Some(who(0, 0))));
    assert_eq!(table.take_grant(0), Some(granted(0, 0, false)));
}

/// Otherwise the guest would never let the task go on.
#[test]
fn a_task_that_loses_what_it_got_before_it_knew_is_told() {
    let mut table = table();
    assert_eq!(table.lock(who(2, 0), 0), Ok(HELD));
    assert_eq!(table.lock(who(0, 3), 0), Ok(Locked::Waits));
    assert_eq!(table.lock(who(1, 0), 0), Ok(Locked::Waits));
    assert_eq!(table.unlock(who(2, 0), 0), Ok(Some(who(0, 3))));
    assert_eq!(table.revoke(0, 0), Some(who(1, 0)));
    let lost = Granted { task: 3, resource: None, orphaned: false };
    assert_eq!(table.clone().take_grant(0), Some(lost));
    // A guest that lets it ask before it has told it: it waits as others do.
    assert_eq!(table.lock(who(0, 3), 0), Ok(Locked::Waits));
    assert_eq!(table.take_grant(0), None);
    assert_eq!(table.unlock(who(1, 0), 0), Ok(Some(who(0, 3))));
    assert_eq!(table.take_grant(0), Some(granted(3, 0, false)));
}

#[test]
fn ranks_follow_priorities_and_then_the_order() {
    let mut ranks = [9; 5];
    rank(&[3, 7, 3, 0, 7], &mut ranks);
    assert_eq!(ranks, [2, 0, 3, 4, 1]);
}

/// vMPCP, figure 11: the VCPU of `tau_7` gets the resource while that of `tau_8` would go on.
#[test]
fn a_vcpu_in_a_section_goes_first_only_with_ceilings() {
    let parameters = Parameters {
        budget: Duration(3),
        period: Duration(10),
        start: Instant(0),
        overrun: Duration::ZERO,
    };
    for (ceilings, first) in [(false, 0), (true, 1)] {
        let slot = || Slot::new(Policy::Deferrable(parameters)).unwrap();
        let mut cpu = Cpu::new([slot(), slot()]);
        if ceilings {
            cpu = cpu.with_ceilings();
        }
        assert_eq!(cpu.wake(0, Instant(0)).run, Some(0));
        assert_eq!(cpu.wake(1, Instant(0)).run, Some(0));
        assert_eq!(cpu.enter_gcs(1, Instant(1)).run, Some(first));
        let both = cpu.enter_gcs(0, Instant(1));
        assert_eq!(both.run, Some(0), "of two in sections the higher one");
        assert_eq!(cpu.leave_gcs(0, Instant(1)).run, Some(first));
        assert_eq!(cpu.leave_gcs(1, Instant(2)).run, Some(0), "as before");
        assert_eq!(cpu.slots()[1].budget(Instant(2)), Duration(3 - first as u64));
        // Without anything to do it stands in nobody's way, in a section or not.
        cpu.enter_gcs(1, Instant(2));
        assert_eq!(cpu.block(1, Instant(2)).run, Some(0));
    }
}

/// The example of the priority ceiling protocol: the middle task uses nothing, the low and the
/// high one share a resource.
#[test]
fn who_blocks_inherits_and_the_middle_waits() {
    let mut pcp: Pcp = Pcp::default();
    pcp.use_by(0, 0);
    pcp.use_by(2, 0);
    pcp.use_by(1, 1);
    let none = ReadyTasks::default();
    let mut ready = ReadyTasks::default();
    ready.insert(2);
    assert_eq!(pcp.lock(2, 0), Ok(true));
    ready.insert(1);
    assert_eq!(pcp.runs(ready, none), Some(1));
    assert_eq!(pcp.lock(1, 1), Ok(false), "its priority is not above the ceiling of 0");
    assert_eq!(pcp.runs(ready, none), Some(2), "inherits the priority of 1");
    ready.insert(0);
    assert_eq!(pcp.runs(ready, none), Some(0));
    assert_eq!(pcp.lock(0, 0), Ok(false));
    assert_eq!(pcp.runs(ready, none), Some(2));
    // A task in a global section comes before all that.
    let mut raised = none;
    raised.insert(5);
    ready.insert(5);
    assert_eq!(pcp.runs(ready, raised), Some(5));
    ready.remove(5);
    assert_eq!(pcp.unlock(2, 0), Ok(()));
    assert_eq!(pcp.runs(ready, none), Some(0));
    assert_eq!(pcp.lock(0, 0), Ok(true));
    assert_eq!(pcp.lock(0, 0), Err(LockError::AlreadyHeld));
    pcp.use_by(0, 1);
    assert_eq!(pcp.lock(0, 1), Err(LockError::Nested));
    assert_eq!(pcp.unlock(2, 0), Err(LockError::NotOwner));
    assert_eq!(pcp.lock(0, 16), Err(LockError::NotOpen));
    assert_eq!(pcp.unlock(0, 0), Ok(()));
    let mut other: Pcp = Pcp::default();
    other.use_by(2, 0);
    assert_eq!(other.lock(1, 0), Err(LockError::NotOpen), "above the ceiling");
}

/// Calls of three VCPUs with any numbers.
fn calls() -> impl Strategy<Value = Vec<(u8, usize, usize, usize)>> {
    prop::collection::vec((0..10u8, 0usize..4, 0usize..3, 0usize..3), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(4_000)))]

    /// Whatever guests call: who holds is known from both sides, nobody waits for nobody, and each
    /// task that was told to wait waits in a queue or will be told.
    #[test]
    fn any_calls_leave_the_table_whole(calls in calls()) {
        let mut table = table();
        let mut suspended = HashSet::new();
        for (call, vcpu, task, resource) in calls {
            let it = who(vcpu, task);
            match call {
                0 | 1 => {
                    if table.lock(it, resource) == Ok(Locked::Waits) {
                        suspended.insert(it);
                    }
                }
                2 => drop(table.try_lock(it, resource)),
                3 | 4 => {
                    if table.unlock(it, resource).is_ok() {
                        // It knew.
                        suspended.remove(&it);
                    }
                }
                5 => drop(table.open(vcpu % 2, resource)),
                6 => drop(table.destroy(vcpu % 2, resource)),
                7 => drop(table.revoke(vcpu, resource)),
                8 => {
                    if let Some(granted) = table.take_grant(vcpu) {
                        let told = who(vcpu, granted.task);
                        prop_assert!(suspended.remove(&told), "{:?} did not wait", told);
                        let owner = granted.resource.and_then(|it| table.owner(it));
                        prop_assert!(granted.resource.is_none() || owner == Some(told));
                    }
                }
                _ => {
                    stop(&mut table, vcpu);
                    suspended.retain(|it| it.vcpu() != vcpu);
                }
            }
            let mut later = table.clone();
            let told: HashSet<Who> = (0..3)
                .flat_map(|vcpu| std::iter::from_fn(|| later.take_grant(vcpu)).map(move |it| who(vcpu, it.task)).collect::<Vec<_>>())
                .collect();
            for task in &suspended {
                let waits = |it: &Resource| it.mutex().waiting().contains(*task);
                let waits = table.resources().iter().any(waits);
                prop_assert!(waits != told.contains(task), "{:?} is stuck, or told while it waits", task);
            }
            let owners: Vec<Who> =
                table.resources().iter().filter_map(|it| it.mutex().owner()).collect();
            for resource in table.resources() {
                let mutex = resource.mutex();
                prop_assert!(mutex.owner().is_some() || mutex.waiting().is_empty());
            }
            for (rank, vcpu) in table.vcpus().iter().enumerate() {
                prop_assert_eq!(vcpu.in_gcs(), owners.iter().any(|owner| owner.vcpu() == rank));
                let has = |task| owners.iter().filter(|owner| **owner == who(rank, task)).count();
                prop_assert!((0..3).all(|task| has(task) <= 1), "nested: {owners:?}");
            }
        }
    }
}
