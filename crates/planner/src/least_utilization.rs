//! The cache-to-task allocation with the least utilisation (vCache, Eq. 4), exactly.
//!
//! In Eq. 4 a task `h` pays `Delta / T_h` for each of its colours that some task below it
//! has too, however many have it. So let the tasks get their colours one after the other,
//! the lowest priority first, and let `u` be the number of colours that those so far have
//! together. The next task `h` takes `f` *fresh* colours that nobody has yet and shares
//! `o <= u` others, at a cost of
//!
//! ```text
//! cost_h(u, f) = min over o <= u of (C_h(f + o) + o Delta) / T_h
//! ```
//!
//! and leaves `u + f` to the next. Which colours it shares does not matter, so that
//!
//! ```text
//! V_h(u) = min over f of V_below(u - f) + cost_h(u - f, f)
//! ```
//!
//! is the least utilisation of the tasks from `h` down with `u` colours: all allocations are
//! among those looked at, in `O(tasks colors^2)`. (Cache-to-task allocation with sharing is
//! known to be NP-hard in general (Bui et al., RTCSA 2008); this cost has more structure.)
//!
//! `V` is a lower bound for budgets, too: a VCPU whose tasks meet their deadlines has
//! `C^v / T^v >= V`, whatever the allocation, because the supply in a window of length `t`
//! is at most `t C^v / T^v`, and that of the lowest task contains `t / T_h (C_h + gamma_h)`
//! of each other one.

use analysis::utilization::Share;
use policy::color::{Color, ColorSet};

use crate::{Setting, Task};

/// All of a processor, in the units of this module.
pub const WHOLE: u64 = 1_000_000_000_000;
/// More than any utilisation.
pub(crate) const NEVER: u64 = u64::MAX / 1024;
/// A utilisation at which larger ones are cut off; sums of it stay below [`NEVER`].
const HUGE: u64 = 1_000 * WHOLE;

/// The cost of a task in addition to others, by the colours of these and its fresh ones.
#[derive(Clone, Debug)]
pub struct Costs {
    colors: usize,
    /// At `u * (colors + 1) + f`: cost, and the number `o` of colours to share.
    best: Vec<(u64, u8)>,
}

impl Costs {
    /// Returns the costs of one task.
    pub fn new(task: &Task, setting: &Setting) -> Self {
        let colors = setting.colors();
        let mut best = vec![(NEVER, 0); (colors + 1) * (colors + 1)];
        for f in 0..=colors {
            let mut least = (NEVER, 0);
            for u in 0..=colors - f {
                least = least.min((Self::exactly(task, setting, f, u), u as u8));
                best[u * (colors + 1) + f] = least;
            }
        }
        Self { colors, best }
    }

    /// Returns the cost with this number of fresh colours, when the others have `used`.
    pub(crate) fn of(&self, used: usize, fresh: usize) -> u64 {
        self.best[used * (self.colors + 1) + fresh].0
    }

    /// Returns the cost with these numbers of fresh and shared colours.
    pub(crate) fn exactly(task: &Task, setting: &Setting, fresh: usize, shared: usize) -> u64 {
        if fresh + shared == 0 {
            return NEVER;
        }
        let delay = setting.reload.0.saturating_mul(shared as u64);
        let time = task.wcet(fresh + shared).0.saturating_add(delay);
        let scaled = u128::from(time) * u128::from(WHOLE) / u128::from(task.period().0);
        u64::try_from(scaled).unwrap_or(HUGE).min(HUGE)
    }
}

/// The division of the colours among the tasks of a VCPU, for all numbers of colours: `V_h`.
#[derive(Clone, Debug)]
pub struct Table {
    /// By number of colours: the utilisation, rounded down, and the number of fresh colours of the
    /// task with the highest priority.
    best: Vec<(u64, u8)>,
}

impl Table {
    /// Returns the table of a VCPU without tasks.
    pub fn empty(setting: &Setting) -> Self {
        let mut best = vec![(NEVER, 0); setting.colors() + 1];
        best[0] = (0, 0);
        Self { best }
    }

    /// Returns the table with another task above the others.
    pub fn with(&self, above: &Costs) -> Self {
        let colors = above.colors;
        let least = |used: usize| {
            let mut least = (NEVER, 0);
            for (f, (below, _)) in self.best[..=used].iter().rev().enumerate() {
                let cost = below + above.best[(used - f) * (colors + 1) + f].0;
                if cost < least.0 {
                    least = (cost, f as u8);
                }
            }
            least
        };
        Self { best: (0..=colors).map(least).collect() }
    }

    /// Returns the least utilisation with `colors`, in units of [`WHOLE`], rounded down; more than
    /// `NEVER` says if there is none.
    pub fn utilization(&self, colors: usize) -> u64 {
        self.best[colors].0
    }
}

/// Fresh and shared colours of a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Size {
    pub fresh: usize,
    pub shared: usize,
}

/// Returns the sizes that the tables chose for `colors`: that of the highest priority first. There
/// is a table and the costs for each task with those below it, in this order, and a last table
/// without tasks.
pub(crate) fn sizes(tables: &[&Table], costs: &[&Costs], colors: usize) -> Vec<Size> {
    let mut used = colors;
    let size = |(table, costs): (&&Table, &&Costs)| {
        let fresh = usize::from(table.best[used].1);
        used -= fresh;
        let shared = usize::from(costs.best[used * (costs.colors + 1) + fresh].1);
        Size { fresh, shared }
    };
    tables.iter().zip(costs).map(size).collect()
}

/// Chooses colours for tasks with these numbers of colours, that of the highest priority first. A
/// shared colour is one whose highest user has the lowest priority, so that tasks between are
/// delayed least.
pub(crate) fn place(sizes: &[Size]) -> Vec<ColorSet> {
    // For each colour that somebody has: its highest user, as its distance from the end.
    let mut users: Vec<usize> = Vec::new();
    let mut sets = Vec::with_capacity(sizes.len());
    for (from_end, size) in sizes.iter().rev().enumerate() {
        let used = users.len();
        let mut order: Vec<usize> = (0..used).collect();
        order.sort_by_key(|&color| users[color]);
        order.truncate(size.shared);
        order.extend(used..used + size.fresh);
        users.resize(used + size.fresh, from_end);
        for &color in &order {
            users[color] = from_end;
        }
        sets.push(order.into_iter().filter_map(|color| Color::new(color as u8)).collect());
    }
    sets.reverse();
    sets
}

/// Colours for the tasks of a VCPU, the highest priority first, with the least utilisation
/// (Eq. 4).
pub fn allocate(tasks: &[&Task], setting: &Setting) -> Vec<ColorSet> {
    let costs: Vec<Costs> = tasks.iter().map(|task| Costs::new(task, setting)).collect();
    let mut tables = vec![Table::empty(setting)];
    for costs in costs.iter().rev() {
        tables.push(tables[tables.len() - 1].with(costs));
    }
    tables.reverse();
    let tables: Vec<&Table> = tables.iter().collect();
    let costs: Vec<&Costs> = costs.iter().collect();
    let colors = if tasks.is_empty() { 0 } else { setting.colors() };
    place(&sizes(&tables, &costs, colors))
}

/// Returns the least utilisation (Eq. 4) of tasks in one VCPU, the highest priority first, for 0,
/// 1, ... colours, rounded down; `None` if there are not enough colours.
///
/// This is also a lower bound for the same tasks in several VCPUs, of one VM or of many: VCPUs that
/// share no colours are a case in which the tasks share none.
pub fn by_colors(tasks: &[&Task], setting: &Setting) -> Vec<Option<Share>> {
    let above = |table: Table, task: &&Task| table.with(&Costs::new(task, setting));
    let table = tasks.iter().rev().fold(Table::empty(setting), above);
    let share = |colors| {
        let utilization = table.utilization(colors);
        let scale = Share::WHOLE.0 / u128::from(WHOLE);
        (utilization < NEVER).then(|| Share(u128::from(utilization) * scale))
    };
    (0..=setting.colors()).map(share).collect()
}

#[cfg(test)]
mod tests {
    use analysis::Duration;
    use proptest::prelude::*;

    use super::*;
    use crate::Evaluator;

    fn task() -> impl Strategy<Value = Task> {
        (1_000_u64..5_000, prop::collection::vec(1_u64..500, 1..5)).prop_map(|(period, wcet)| {
            let base = analysis::Task::new(Duration(1), Duration(period)).unwrap();
            let wcet: Vec<_> = wcet.into_iter().map(Duration).collect();
            Task::new(base, &wcet).unwrap()
        })
    }

    /// Calls `visit` with all choices of non-empty sets of these colours.
    fn all(
        tasks: usize,
        colors: u32,
        sets: &mut Vec<ColorSet>,
        visit: &mut dyn FnMut(&[ColorSet]),
    ) {
        if sets.len() == tasks {
            return visit(sets);
        }
        for bits in 1..1_u64 << colors {
            sets.push(ColorSet::from_bits(bits));
            all(tasks, colors, sets, visit);
            sets.pop();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn no_allocation_has_less(
            tasks in prop::collection::vec(task(), 1..4),
            colors in 1_usize..5,
            reload in 0_u64..200,
        ) {
            let setting = Setting::new(colors, Duration(reload)).unwrap();
            let mut evaluator = Evaluator::new(setting);
            let tasks: Vec<&Task> = tasks.iter().collect();
            let sets = allocate(&tasks, &setting);
            let found = evaluator.utilization(&tasks, &sets);
            let mut least = found;
            all(tasks.len(), colors as u32, &mut Vec::new(), &mut |sets| {
                least = least.min(evaluator.utilization(&tasks, sets));
            });
            prop_assert_eq!(found.ppm(), least.ppm());
        }
    }
}
