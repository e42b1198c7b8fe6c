//! How many tasks have a bound beside others that are late.

use std::collections::BTreeMap;

use analysis::Reason;
use analysis::vmpcp::{Bounds, Protocol, Variant};
use taskgen::Random;

use super::described::{Described, times};
use super::hostile::{bounds, guard};
use super::random::{self, APART, SMALL, WIDE};

#[derive(Debug, Default)]
struct Counts {
    tasks: u64,
    /// Those that have a bound, in time or not.
    bounded: u64,
    in_time: u64,
    /// Those that would have one if each late task with global sections took those of all others away that locks
    /// concern.
    apart: u64,
    failures: BTreeMap<Reason, u64>,
}

impl Counts {
    fn add(&mut self, described: &Described, found: &Bounds) {
        let vcpus = described.vcpus.iter();
        let tasks = vcpus.flat_map(|vcpu| vcpu.tasks.iter().map(move |task| (vcpu.pcpu, task)));
        let tasks: Vec<_> = tasks.zip(times(found)).collect();
        let is_in_time = |deadline: u64, bound: Option<u64>| bound.is_some_and(|it| it <= deadline);
        let locks =
            |task: &super::described::OneTask| task.sections().any(|it| described.is_global(it.0));
        let one_is_late =
            tasks.iter().any(|((_, task), it)| locks(task) && !is_in_time(task.deadline, *it));
        for ((pcpu, task), bound) in &tasks {
            let is_concerned = tasks.iter().any(|((other, it), _)| other == pcpu && locks(it));
            let in_time = is_in_time(task.deadline, *bound);
            self.tasks += 1;
            self.bounded += u64::from(bound.is_some());
            self.in_time += u64::from(in_time);
            self.apart += u64::from(in_time && !(one_is_late && is_concerned));
        }
        for failure in found.tasks.iter().filter_map(|bound| bound.err()) {
            *self.failures.entry(failure.reason()).or_default() += 1;
        }
    }
}

/// Of so many systems of each shape, in which VCPUs are of one VM or of three.
fn count(systems: u64, vms: u64, protocol: Protocol) -> Counts {
    let mut counts = Counts::default();
    for shape in [SMALL, WIDE, APART] {
        for set in 0..systems {
            let mut random = Random::new(31, set);
            let described = random::described(&mut random, shape, protocol);
            let found = match vms {
                1 => described.bounds(Variant::Sound),
                _ => {
                    let guards = described.vcpus.iter();
                    let guards: Vec<_> = guards
                        .map(|it| guard(&described, it, random.between(0, vms - 1) as usize))
                        .collect();
                    let shared =
                        (0..shape.resources as usize).filter(|it| described.is_global(*it));
                    bounds(&described, &guards, &shared.collect::<Vec<_>>())
                }
            };
            counts.add(&described, &found);
        }
    }
    counts
}

#[test]
fn who_is_late_takes_few_bounds_away() {
    for protocol in [Protocol::Vmpcp, Protocol::Mpcp] {
        for vms in [1, 3] {
            let counts = count(1_000, vms, protocol);
            println!("{protocol:?}, VMs: {vms}: {counts:?}");
            assert!(counts.bounded > counts.in_time && counts.in_time > counts.apart);
            // Where the demand is exactly the supply, no busy period ends.
            let limited = counts.failures.get(&Reason::LimitReached).copied().unwrap_or(0);
            assert!(limited < counts.tasks / 1_000, "{limited}");
        }
    }
}
