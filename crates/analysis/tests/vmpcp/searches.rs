//! Searches for courses of events in which a response time is above its bound.

use analysis::vmpcp::{Protocol, Variant};
use taskgen::Random;

use super::described::{Described, times};
use super::model::{self, Course};
use super::random::{self, Shape};

/// What was found of many systems.
#[derive(Debug, Default)]
pub struct Found {
    /// Systems in which tasks have bounds.
    pub systems: u64,
    /// Those of them that use global resources.
    pub tasks: u64,
    /// Tasks with bounds that are above their deadlines.
    pub late: u64,
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
        let mut described = random::described(&mut random, shape, protocol);
        if variant == Variant::Sound && set % 2 > 0 {
            random::other_deadlines(&mut random, &mut described);
        }
        // The published bounds rest on all tasks being in time.
        let bounds = match variant {
            Variant::Sound => times(&described.bounds(variant)),
            Variant::Published => match described.all_bounds(variant) {
                Some(bounds) => bounds.into_iter().map(Some).collect(),
                None => continue,
            },
        };
        if bounds.iter().all(Option::is_none) {
            continue;
        }
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
            let responses = model::run(&described, &course, end);
            let mut ratio: f64 = 0.0;
            for (task, (&response, &bound)) in responses.iter().zip(&bounds).enumerate() {
                let Some(bound) = bound else { continue };
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
            let Some(bound) = bound else { continue };
            found.late += u64::from(*bound > task.deadline);
            if task.sections().any(|it| described.is_global(it.0)) {
                found.tasks += 1;
                found.reached += u64::from(longest == bound);
            }
        }
    }
    found
}
