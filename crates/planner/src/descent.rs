//! Descends from the colours with the least utilisation to a smaller budget, in small steps.
//!
//! A budget depends on more than utilisation: a task with a short deadline gains more from a colour
//! than its utilisation shows.

use analysis::Duration;
use policy::color::ColorSet;

use crate::least_utilization::{Size, WHOLE, place};
use crate::{Evaluator, Task};

/// Tasks of a VCPU, the highest priority first.
pub(crate) struct Problem<'a> {
    pub tasks: &'a [&'a Task],
    /// Colours of the VCPU.
    pub colors: usize,
    /// Its period.
    pub period: Duration,
    /// No budget below this is enough.
    pub least: Duration,
}

/// Returns the least budget of at most `most` that some steps from these sizes lead to, and the
/// colours for it.
pub(crate) fn descend(
    evaluator: &mut Evaluator,
    problem: &Problem<'_>,
    start: Vec<Size>,
    most: Duration,
) -> Option<(Duration, Vec<ColorSet>)> {
    let grain = evaluator.setting().grain().0;
    let mut sizes = start;
    let mut best = problem.budget(evaluator, &sizes, most);
    if problem.tasks.len() < 2 {
        return best.map(|budget| (budget, place(&sizes)));
    }
    let mut step = (problem.colors / 4).max(1);
    loop {
        let most = best.map_or(most, |budget| Duration(budget.0.saturating_sub(grain)));
        if most < problem.least || most == Duration(0) {
            break;
        }
        let better = problem.neighbors(&sizes, step).find_map(|neighbor| {
            let fits = problem.utilization(&neighbor, evaluator.setting().reload)
                <= part(most, problem.period);
            let budget = fits.then(|| problem.budget(evaluator, &neighbor, most))??;
            Some((budget, neighbor))
        });
        match better {
            Some((budget, neighbor)) => (best, sizes) = (Some(budget), neighbor),
            None if step > 1 => step /= 2,
            None => break,
        }
    }
    best.map(|budget| (budget, place(&sizes)))
}

impl Problem<'_> {
    fn budget(
        &self,
        evaluator: &mut Evaluator,
        sizes: &[Size],
        most: Duration,
    ) -> Option<Duration> {
        evaluator.least_budget(self.tasks, &place(sizes), self.period, [self.least, most])
    }

    /// Utilisation (Eq. 4), rounded down.
    fn utilization(&self, sizes: &[Size], reload: Duration) -> u64 {
        let with = self.tasks.iter().zip(sizes);
        with.map(|(task, size)| {
            let delay = reload.0.saturating_mul(size.shared as u64);
            let time = task.wcet(size.fresh + size.shared).0.saturating_add(delay);
            part(Duration(time), task.period())
        })
        .fold(0, u64::saturating_add)
    }

    /// Sizes that differ in `step` colours of one task, or of two.
    fn neighbors(&self, sizes: &[Size], step: usize) -> impl Iterator<Item = Vec<Size>> {
        let count = sizes.len();
        let fewer = move |sizes: &mut [Size], task: usize| {
            sizes[task].fresh = sizes[task].fresh.saturating_sub(step);
        };
        let shared = (0..count).flat_map(move |task| {
            [true, false].map(|more| {
                let mut sizes = sizes.to_vec();
                let shared = sizes[task].shared;
                sizes[task].shared = if more { shared + step } else { shared.saturating_sub(step) };
                sizes
            })
        });
        let moved = (0..count).flat_map(move |from| {
            (0..count).filter(move |to| *to != from).flat_map(move |to| {
                // What a task gives away it shares from now on, or does without.
                [true, false].map(|keeps| {
                    let mut sizes = sizes.to_vec();
                    let had = sizes[from].fresh;
                    fewer(&mut sizes, from);
                    let given = had - sizes[from].fresh;
                    sizes[to].fresh += given;
                    if keeps {
                        sizes[from].shared += given;
                    }
                    sizes
                })
            })
        });
        let original = sizes;
        shared.chain(moved).filter_map(move |mut sizes| {
            let mut used = 0;
            for size in sizes.iter_mut().rev() {
                size.shared = size.shared.min(used);
                used += size.fresh;
                if size.fresh + size.shared == 0 {
                    return None;
                }
            }
            (sizes != original).then_some(sizes)
        })
    }
}

/// Part of a period, rounded down.
fn part(time: Duration, period: Duration) -> u64 {
    (u128::from(time.0) * u128::from(WHOLE) / u128::from(period.0)).min(u128::from(u64::MAX)) as u64
}
