//! Searches for courses of events in which a task takes longer than its bound.

use analysis::response::{Analyzer, Response};
use analysis::{Caches, Duration, Failure, vcache};
use taskgen::Random;

use crate::class::{self, Class, one_in};
use crate::course::{self, Target, Variant};
use crate::system::{self, Bounds, System, Task, Vcpu};
use crate::{machine, simulator};

/// What was found out about a system.
pub struct Found {
    /// For each task with a bound: longest response time that was seen, bound.
    pub times: Vec<(u64, u64)>,
    /// Courses that were followed.
    pub courses: u32,
    /// One in which a task takes longer than its bound.
    pub violation: Option<System>,
}

/// System `number` of a seed: each is drawn on its own.
pub fn drawn(seed: u64, number: u64) -> (Class, System, Random) {
    let mut random = Random::new(seed, number);
    let (class, _) = Class::ALL[(number % Class::ALL.len() as u64) as usize];
    let system = class::draw(class, &mut random);
    (class, system, random)
}

/// Follows a system, of which the analysis in question says `bounds`, through so many courses at
/// random for it and for each of its tasks.
pub fn search(
    mut system: System,
    bounds: &Bounds,
    courses_each: u32,
    random: &mut Random,
) -> Found {
    let mut longest: Vec<Vec<u64>> = system.vcpu.iter().map(|it| vec![0; it.task.len()]).collect();
    let mut courses = 0;
    let mut violation = None;
    let mut follow = |system: &System, until: u64, random: &mut Random| {
        courses += 1;
        debug_assert!(system.is_possible(), "{}", system.to_toml());
        let seen = times(system, until, one_in(random, 16));
        for (longest, seen) in longest.iter_mut().flatten().zip(seen.iter().flatten()) {
            *longest = (*longest).max(*seen);
        }
        if violation.is_none() && is_longer(&seen, bounds) {
            violation = Some(system.clone());
        }
    };
    for vcpu in 0..system.vcpu.len() {
        for task in 0..system.vcpu[vcpu].task.len() {
            if bounds[vcpu][task].is_err() {
                continue;
            }
            let target = Target { vcpu, task };
            for turn in 0..=courses_each {
                let variant = if turn == 0 { Variant::Theory } else { Variant::Random };
                let until = course::critical(&mut system, target, bounds, variant, random);
                follow(&system, until, random);
            }
        }
    }
    for _ in 0..courses_each {
        let until = course::random(&mut system, random);
        follow(&system, until, random);
    }
    let times = longest.iter().flatten().zip(bounds.iter().flatten());
    let times = times.filter_map(|(&longest, bound)| Some((longest, bound.as_ref().ok()?.time.0)));
    Found { times: times.collect(), courses, violation }
}

/// Longest response times; where both can tell, of the simulator, and now and then of the machine
/// as well, which must say the same.
fn times(system: &System, until: u64, both: bool) -> Vec<Vec<u64>> {
    if !system.is_plain() {
        return machine::run(system, until);
    }
    let seen = simulator::run(system, until);
    if both {
        assert_eq!(seen, machine::run(system, until), "{}", system.to_toml());
    }
    seen
}

/// When all that can be seen of a system with jobs has been seen.
fn end(system: &System) -> u64 {
    let tasks = system.vcpu.iter().flat_map(|vcpu| &vcpu.task);
    let last = tasks.flat_map(|task| &task.job).map(|job| job.arrival + job.delay).max();
    last.unwrap_or(0) + system::LIMITS.window.0
}

/// Returns true if in this course a task takes longer than its bound.
pub fn is_violation(system: &System, bounds: &Bounds) -> bool {
    is_longer(&times(system, end(system), false), bounds)
}

fn is_longer(seen: &[Vec<u64>], bounds: &Bounds) -> bool {
    let mut each = seen.iter().flatten().zip(bounds.iter().flatten());
    each.any(|(&seen, bound)| bound.is_ok_and(|bound| seen > bound.time.0))
}

/// The published bounds of a VCPU that gets its budget are not shorter than ours, for tasks as
/// the paper has them.
pub fn published_is_not_shorter(
    vcpu: &Vcpu,
    reload: u64,
    bounds: &[Result<Response, Failure>],
) -> bool {
    let paper = |task: &Task| (task.jitter, task.blocking, task.suspension) == (0, 0, 0);
    let Some(server) = vcpu.server.as_ref().filter(|_| vcpu.task.iter().all(paper)) else {
        return true;
    };
    let (models, sets) = (vcpu.models(), vcpu.sets());
    let caches = (reload > 0).then(|| Caches::new(&sets, Duration(reload)));
    let mut published = Vec::new();
    let workload = vcache::workload(&models, server.model(), caches);
    Analyzer::new(system::LIMITS).response_times(&workload, &mut published);
    published.iter().zip(bounds).all(|(published, ours)| match (published, ours) {
        (Ok(published), Ok(ours)) => ours.time <= published.time,
        (Ok(_), Err(failure)) => matches!(failure, Failure::NoSupply { .. }),
        (Err(_), _) => true,
    })
}
