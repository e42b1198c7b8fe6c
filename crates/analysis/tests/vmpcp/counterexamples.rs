//! Systems in which bounds of the printed equations are exceeded.

use analysis::Kind;
use analysis::vmpcp::{Protocol, Variant};

use super::described::{Described, OneVcpu, section, task};
use super::model::{self, Course, full};
use super::random::{APART, GLOBAL};
use super::searches::search;

/// Eq. 7 counts sections below with a ceiling above the priority of the task. If the task itself is
/// the highest one that uses the resource, its priority is the ceiling, and it is blocked.
#[test]
fn a_task_waits_for_a_local_resource_of_its_own() {
    let tasks = vec![task(&[section(0, 1)], 20), task(&[section(0, 5)], 40)];
    let (budget, period) = (10, 10);
    let kind = Kind::Deferrable;
    let vcpu = OneVcpu { pcpu: 0, priority: 0, kind, budget, period, overrun: false, tasks };
    let described = Described { vcpus: vec![vcpu], protocol: Protocol::Vmpcp };
    let course = Course {
        vcpu_offsets: vec![0],
        task_offsets: vec![1, 0],
        eager: false,
        last_first: false,
        lengths: full,
        seed: 0,
    };
    let responses = model::run(&described, &course, 100);
    assert_eq!(responses[0], 5);
    assert_eq!(described.all_bounds(Variant::Published).expect("bounds")[0], 1);
    assert_eq!(described.all_bounds(Variant::Sound).expect("bounds")[0], 6);
}

/// Nothing else was found: the printed equations hold for tasks that share global resources.
#[test]
fn published_bounds_hold_without_local_resources() {
    for (seed, shape) in [(7, GLOBAL), (8, APART)] {
        let found = search(seed, (200, 8), (shape, Protocol::Vmpcp), Variant::Published);
        assert!(found.above.is_none() && found.tasks > 5, "{found:?}");
    }
}

#[test]
#[ignore = "a minute"]
fn published_bounds_of_many_systems_hold_without_local_resources() {
    for (seed, shape) in [(9, GLOBAL), (10, APART)] {
        let found = search(seed, (20_000, 40), (shape, Protocol::Vmpcp), Variant::Published);
        assert!(found.above.is_none(), "{:?}", found.above);
        println!("{} systems, {} tasks, {} reached", found.systems, found.tasks, found.reached);
    }
}
