//! Searches for courses of events in which a response time is above its bound.

use analysis::vmpcp::{Protocol, Variant};
use taskgen::Random;

use super::described::Described;
use super::model::{self, Course};
use super::random::{self, Shape};

/// What was found of many systems.
#[derive(Debug, Default)]
pub struct Found {
    /// Systems in which all tasks have bounds.
    pub systems: u64,
    /// Tasks that use global resources in them.
    pub tasks: u64,
    /// Those whose bound was reached.
    pub reached: u64,
    /// The first system with a response time that is above its bound: task, time, bound.
    pub above: Option<(Described, Course, usize, u64, u64)>,
}

/// Looks at so many random systems, with so many courses of events in each: the first half
/// random, and the others near the worst one so far.
pub fn search(
    seed: u64,
    (systems, courses): (u64, u64),
    (shape, protocol): (Shape, Protocol),
    variant: Variant,
) -> Found {
    let mut found = Found::default();
    for set in 0..systems {
        let mut random = Random::new(seed, set);
        let described = random::described(&mut random, shape, protocol);
        let Some(bounds) = described.all_bounds(variant) else { continue };
        let longest = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks).map(|task| task.period);
        let end = 3 * longest.max().unwrap_or(0);
        found.systems += 1;
        let mut worst: Option<(f64, Course)> = None;
        let mut longest = vec![0; bounds.len()];
        for number in 0..courses {
            let course = match &worst {
                Some((_, worst)) if number >= courses / 2 => {
                    random::neighbour(&mut random, &described, worst)
                }
                _ => random::course(&mut random, &described),
            };
            let responses = model::run(&described, &course, end).unwrap_or_else(|| {
                panic!("a job is late that has a bound: {described:?} {course:?}")
            });
            let mut ratio: f64 = 0.0;
            for (task, (&response, &bound)) in responses.iter().zip(&bounds).enumerate() {
                if response > bound {
                    found.above.get_or_insert((
                        described.clone(),
                        course.clone(),
                        task,
                        response,
                        bound,
                    ));
                    return found;
                }
                longest[task] = longest[task].max(response);
                ratio = ratio.max(response as f64 / bound as f64);
            }
            if worst.as_ref().is_none_or(|(least, _)| ratio >= *least) {
                worst = Some((ratio, course));
            }
        }
        let all = described.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
        for (task, (longest, bound)) in all.zip(longest.iter().zip(&bounds)) {
            if task.sections().any(|it| described.is_global(it.0)) {
                found.tasks += 1;
                found.reached += u64::from(longest == bound);
            }
        }
    }
    found
}
