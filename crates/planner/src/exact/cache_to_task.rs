//! Colours for the tasks of a VCPU such that its budget is least, by branch and bound.
//!
//! Colours that the same tasks have are equivalent: only the number of colours of each kind
//! matters. Tasks are visited from the lowest priority up. Each gets some colours of each existing
//! kind, and some fresh ones. A branch ends if no completion can have a smaller budget than the
//! best one so far:
//!
//! - the visited tasks have their part of the utilisation (Eq. 4), and the tasks above them at
//!   least that of [`crate::least_utilization`];
//! - the tasks would miss a deadline even if each task above had all colours alone and delayed no
//!   other task.
//!
//! Both bounds hold for all completions, so the result is the optimum.

use analysis::Duration;
use policy::color::{Color, ColorSet};

use super::Limit;
use crate::least_utilization::{Costs, NEVER, WHOLE, allocate};
use crate::{Evaluator, Point, Setting, Task};

/// Returns the least budget of a VCPU with these tasks, the highest priority first, and with
/// `colors` colours; none if deadlines are missed with the whole processor. `steps` counts down.
///
/// # Errors
///
/// The search was not complete after this number of steps.
pub fn cache_to_task(
    evaluator: &mut Evaluator,
    tasks: &[&Task],
    colors: usize,
    period: Duration,
    steps: &mut u64,
) -> Result<Option<Point>, Limit> {
    if tasks.is_empty() {
        return Ok(Some(Point { budget: Duration(0), sets: Vec::new() }));
    }
    let Ok(setting) = evaluator.setting().with_colors(colors) else { return Ok(None) };
    let sets = allocate(tasks, &setting);
    let start = evaluator.least_budget(tasks, &sets, period, [Duration(0), period]);
    let mut search = Search {
        above: above(tasks, &setting),
        best: start.map(|budget| Point { budget, sets }),
        sets: vec![ColorSet::EMPTY; tasks.len()],
        evaluator,
        tasks,
        colors,
        period,
        steps,
    };
    search.branch(tasks.len(), 0, 0)?;
    Ok(search.best)
}

/// `R_h(u)`: the least utilisation of the tasks above `h` if those from `h` down have `u`
/// colours.
fn above(tasks: &[&Task], setting: &Setting) -> Vec<Vec<u64>> {
    let colors = setting.colors();
    let mut above = vec![vec![0; colors + 1]];
    for task in tasks {
        let costs = Costs::new(task, setting);
        let next = &above[above.len() - 1];
        let least = |u: usize| {
            let choices = (0..=colors - u).map(|f| costs.of(u, f).saturating_add(next[u + f]));
            choices.min().unwrap_or(NEVER).min(NEVER)
        };
        above.push((0..=colors).map(least).collect());
    }
    above
}

struct Search<'a> {
    evaluator: &'a mut Evaluator,
    tasks: &'a [&'a Task],
    colors: usize,
    period: Duration,
    /// At `h`: for the tasks above `h`, by number of colours of the others.
    above: Vec<Vec<u64>>,
    /// Colours of the tasks that are decided: the last ones.
    sets: Vec<ColorSet>,
    best: Option<Point>,
    steps: &'a mut u64,
}

impl Search<'_> {
    /// The tasks from `decided` on have their colours, which are the first `used` ones and
    /// have this utilisation.
    fn branch(&mut self, decided: usize, used: usize, utilization: u64) -> Result<(), Limit> {
        *self.steps = self.steps.checked_sub(1).ok_or(Limit)?;
        let grain = self.evaluator.setting().grain().0;
        let most = match &self.best {
            Some(best) => Duration(best.budget.0.saturating_sub(grain)),
            None => self.period,
        };
        let bound = utilization.saturating_add(self.above[decided][used]);
        let share = u128::from(most.0) * u128::from(WHOLE) / u128::from(self.period.0);
        if most == Duration(0) || u128::from(bound) > share || !self.may_fit(decided, most) {
            return Ok(());
        }
        if decided == 0 {
            // The bound of the utilisation is below the smallest budget.
            let range = [Duration(0), most];
            let budget = self.evaluator.least_budget(self.tasks, &self.sets, self.period, range);
            if let Some(budget) = budget {
                self.best = Some(Point { budget, sets: self.sets.clone() });
            }
            return Ok(());
        }
        let kinds = kinds(&self.sets[decided..], used);
        self.choose(decided - 1, used, utilization, &kinds, ColorSet::EMPTY)
    }

    /// Task `h` has `chosen`, and chooses among the colours of these kinds and the fresh ones.
    fn choose(
        &mut self,
        h: usize,
        used: usize,
        utilization: u64,
        kinds: &[Vec<Color>],
        chosen: ColorSet,
    ) -> Result<(), Limit> {
        if let Some((kind, rest)) = kinds.split_first() {
            for count in 0..=kind.len() {
                let more: ColorSet = kind[..count].iter().copied().collect();
                self.choose(h, used, utilization, rest, chosen | more)?;
            }
            return Ok(());
        }
        for fresh in 0..=self.colors - used {
            let new: ColorSet =
                (used..used + fresh).filter_map(|index| Color::new(index as u8)).collect();
            if (chosen | new).is_empty() {
                continue;
            }
            self.sets[h] = chosen | new;
            let setting = self.evaluator.setting();
            let own = Costs::exactly(self.tasks[h], setting, fresh, chosen.len() as usize);
            self.branch(h, used + fresh, utilization.saturating_add(own))?;
        }
        self.sets[h] = ColorSet::EMPTY;
        Ok(())
    }

    /// Returns true if the tasks could fit if those that are not decided had all colours and
    /// delayed nobody.
    fn may_fit(&mut self, decided: usize, most: Duration) -> bool {
        let (tasks, colors, sets) = (self.tasks, self.colors, &self.sets);
        let tasks = tasks.iter().enumerate().map(|(index, task)| {
            let own = if index < decided { colors } else { sets[index].len() as usize };
            *task.with_colors(own)
        });
        self.evaluator.fits_as_they_are(tasks, sets, most, self.period)
    }
}

/// Colours that the same tasks have, together.
fn kinds(sets: &[ColorSet], used: usize) -> Vec<Vec<Color>> {
    let mut kinds: Vec<(Vec<bool>, Vec<Color>)> = Vec::new();
    for color in (0..used).filter_map(|index| Color::new(index as u8)) {
        let users: Vec<bool> = sets.iter().map(|set| set.contains(color)).collect();
        match kinds.iter_mut().find(|(of, _)| *of == users) {
            Some((_, colors)) => colors.push(color),
            None => kinds.push((users, vec![color])),
        }
    }
    kinds.into_iter().map(|(_, colors)| colors).collect()
}
