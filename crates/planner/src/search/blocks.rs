//! Sets of tasks of a VM, and what a VCPU with one of them needs.

use std::collections::HashMap;
use std::rc::Rc;

use analysis::Duration;
use analysis::utilization::Share;
use policy::color::ColorSet;

use crate::demand::members;
use crate::descent;
use crate::least_utilization::{Costs, NEVER, Size, Table, WHOLE, place, sizes};
use crate::published::cache_to_task::{Allocated, cache_to_task};
use crate::{Coloring, Demand, Evaluator, Mask, Point, Setting, Slot, Vm, indices};

/// A number for tasks in a VCPU that were looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Block(usize);

/// What a VCPU with these tasks needs.
#[derive(Debug)]
struct Curve {
    mask: Mask,
    slot: Slot,
    /// By number of colours, the part of a processor in units of [`WHOLE`]: the lower
    /// bound until it is known. [`NEVER`] if nothing is enough.
    shares: Vec<u64>,
    /// By number of colours, what is known.
    points: Vec<Option<Known>>,
}

/// Budget and colours, if some budget is enough.
type Known = Option<Rc<Point>>;

/// The sets of tasks of a VM that were looked at.
#[derive(Debug)]
pub struct Blocks<'a> {
    vm: &'a Vm,
    evaluator: Evaluator,
    costs: Vec<Costs>,
    tables: HashMap<Mask, Rc<Table>>,
    /// By tasks, and by the first VCPU that is like the one in question.
    known: HashMap<(Mask, usize), Block>,
    curves: Vec<Curve>,
}

impl<'a> Blocks<'a> {
    pub fn new(vm: &'a Vm, setting: &Setting) -> Self {
        Self {
            vm,
            evaluator: Evaluator::new(*setting),
            costs: vm.tasks().iter().map(|task| Costs::new(task, setting)).collect(),
            tables: HashMap::from([(0, Rc::new(Table::empty(setting)))]),
            known: HashMap::new(),
            curves: Vec::new(),
        }
    }

    /// The VM.
    pub fn vm(&self) -> &'a Vm {
        self.vm
    }

    /// Answers questions about tasks of the VM.
    pub fn evaluator(&mut self) -> &mut Evaluator {
        &mut self.evaluator
    }

    /// Whether two VCPUs of the VM are alike.
    pub fn are_alike(&self, one: usize, other: usize) -> bool {
        self.vm.vcpus()[one].is_like(&self.vm.vcpus()[other])
    }

    /// These tasks in this VCPU.
    pub fn block(&mut self, mask: Mask, vcpu: usize) -> Block {
        let slot = self.vm.vcpus()[vcpu];
        let first = self.vm.vcpus().iter().position(|other| other.is_like(&slot)).unwrap_or(vcpu);
        if let Some(&block) = self.known.get(&(mask, first)) {
            return block;
        }
        let colors = self.evaluator.setting().colors();
        let fixed = slot.budget.map(|budget| share(budget, slot.period));
        let (shares, points) = if mask == 0 {
            (vec![fixed.unwrap_or(0); colors + 1], vec![Some(None); colors + 1])
        } else {
            let bound = |bound: u64| match bound {
                bound if bound > fixed.unwrap_or(WHOLE) => NEVER,
                bound => fixed.unwrap_or(bound),
            };
            let shares: Vec<u64> = (0..=colors).map(|k| bound(self.utilization(mask, k))).collect();
            let points = shares.iter().map(|&share| (share == NEVER).then_some(None)).collect();
            (shares, points)
        };
        let block = Block(self.curves.len());
        self.curves.push(Curve { mask, slot, shares, points });
        self.known.insert((mask, first), block);
        block
    }

    /// The tasks of a block.
    pub fn mask(&self, block: Block) -> Mask {
        self.curves[block.0].mask
    }

    /// By number of colours, the part of a processor that the block needs, or a lower
    /// bound of it.
    pub fn shares(&self, block: Block) -> &[u64] {
        &self.curves[block.0].shares
    }

    /// Whether that part is known for so many colours.
    pub fn is_known(&self, block: Block, colors: usize) -> bool {
        self.curves[block.0].points[colors].is_some()
    }

    /// Finds out what the block needs with so many colours.
    pub fn evaluate(&mut self, block: Block, colors: usize) {
        if self.is_known(block, colors) {
            return;
        }
        let curve = &self.curves[block.0];
        let fewer = curve.points[..colors].iter().rev().find_map(Clone::clone).flatten();
        let point = self.point(block, colors, fewer);
        let curve = &mut self.curves[block.0];
        let share = point.as_ref().map(|point| share(point.budget, curve.slot.period));
        curve.shares[colors] = share.unwrap_or(NEVER);
        curve.points[colors] = Some(point);
    }

    /// Finds out what the block needs with up to `most` colours.
    pub fn evaluate_up_to(&mut self, block: Block, most: usize) {
        (0..=most).for_each(|colors| self.evaluate(block, colors));
    }

    /// What the block needs with so many colours, as far as it is known.
    pub fn known_point(&self, block: Block, colors: usize) -> Option<&Point> {
        self.curves[block.0].points[colors].as_ref()?.as_deref()
    }

    /// What the block needs with 1 to `most` colours, as far as it is known.
    pub fn demand(&self, block: Block, most: usize) -> Demand {
        let Curve { slot, points, .. } = &self.curves[block.0];
        let points = points[1..=most].iter();
        let points = points.map(|known| Some(known.clone()??.as_ref().clone()));
        Demand::new(slot.period, points.collect())
    }

    /// Looks for a smaller budget of a VCPU with these tasks and colours than this one.
    pub fn polish(&mut self, block: Block, colors: usize, point: Point) -> Point {
        let slot = self.curves[block.0].slot;
        let grain = self.evaluator.setting().grain().0;
        if slot.budget.is_some() || *self.vm.coloring() != Coloring::Own {
            return point;
        }
        let most = Duration(point.budget.0.saturating_sub(grain));
        self.descend(block, colors, most).unwrap_or(point)
    }

    /// Budget and colours with `colors` colours; not worse than with `fewer`.
    fn point(&mut self, block: Block, colors: usize, fewer: Known) -> Known {
        let Curve { slot, .. } = self.curves[block.0];
        let least = self.least_budget(block, colors);
        let grain = self.evaluator.setting().grain();
        let (least, most) = match (slot.budget, &fewer) {
            (Some(_), Some(_)) => return fewer,
            (Some(fixed), None) => (fixed, fixed),
            (None, Some(fewer)) => (least, Duration(fewer.budget.0.saturating_sub(grain.0))),
            (None, None) => (least, slot.period),
        };
        if most < least || most == Duration(0) {
            return fewer;
        }
        let sets = match self.given_sets(self.mask(block), colors) {
            Some(sets) => sets,
            None => place(&self.sizes(block, colors)),
        };
        let tasks = indices(self.mask(block));
        let members = members(self.vm.tasks(), &tasks);
        match self.evaluator.least_budget(&members, &sets, slot.period, [least, most]) {
            Some(budget) => Some(Rc::new(Point { budget, sets })),
            None if fewer.is_none() && *self.vm.coloring() == Coloring::Own => {
                self.descend(block, colors, most).map(Rc::new)
            }
            None => fewer,
        }
    }

    /// The colours of these tasks, where they follow from the number of colours of the VM.
    fn given_sets(&self, mask: Mask, colors: usize) -> Option<Vec<ColorSet>> {
        match self.vm.coloring() {
            Coloring::Own => None,
            Coloring::Shared => {
                Some(vec![ColorSet::first(colors as u32); mask.count_ones() as usize])
            }
            Coloring::Fixed(sets) => {
                Some(indices(mask).into_iter().map(|task| sets[task]).collect())
            }
        }
    }

    /// A lower bound of the part of a processor that these tasks need; [`NEVER`] if they
    /// need more colours.
    fn utilization(&mut self, mask: Mask, colors: usize) -> u64 {
        let Some(sets) = self.given_sets(mask, colors) else {
            return self.table(mask).utilization(colors);
        };
        if sets.iter().any(|set| set.is_empty()) {
            return NEVER;
        }
        let tasks = indices(mask);
        let share = self.evaluator.utilization(&members(self.vm.tasks(), &tasks), &sets);
        // The analysis rounds up, for each task by less than one of these units.
        let units = share.0 / (Share::WHOLE.0 / u128::from(WHOLE));
        u64::try_from(units).unwrap_or(NEVER).min(NEVER).saturating_sub(tasks.len() as u64)
    }

    /// The least budget of at most `most` that was found by trying more than the least
    /// utilisation.
    fn descend(&mut self, block: Block, colors: usize, most: Duration) -> Option<Point> {
        let slot = self.curves[block.0].slot;
        let least = slot.budget.unwrap_or_else(|| self.least_budget(block, colors));
        let sizes = self.sizes(block, colors);
        let tasks = indices(self.mask(block));
        let members = members(self.vm.tasks(), &tasks);
        let problem = descent::Problem { tasks: &members, colors, period: slot.period, least };
        // From there, and from where all tasks share all colours.
        let mut all = vec![Size { fresh: 0, shared: colors }; sizes.len()];
        if let Some(lowest) = all.last_mut() {
            *lowest = Size { fresh: colors, shared: 0 };
        }
        let mut descend = |start| descent::descend(&mut self.evaluator, &problem, start, most);
        let mut found = vec![descend(sizes), descend(all)];
        // What CAVM would do is there, too.
        let published = cache_to_task(&mut self.evaluator, &members, colors, slot.period);
        found.push(published.and_then(|Allocated { sets, .. }| {
            let range = [least, most];
            let budget = self.evaluator.least_budget(&members, &sets, slot.period, range)?;
            Some((budget, sets))
        }));
        let (budget, sets) = found.into_iter().flatten().min_by_key(|(budget, _)| *budget)?;
        Some(Point { budget, sets })
    }

    /// The colours with the least utilisation.
    fn sizes(&mut self, block: Block, colors: usize) -> Vec<Size> {
        let mut rest = self.mask(block);
        let tasks = indices(rest);
        let mut chain = Vec::with_capacity(tasks.len());
        while rest != 0 {
            chain.push(self.table(rest));
            rest &= rest - 1;
        }
        let tables: Vec<&Table> = chain.iter().map(Rc::as_ref).collect();
        let costs: Vec<&Costs> = tasks.iter().map(|&index| &self.costs[index]).collect();
        sizes(&tables, &costs, colors)
    }

    /// No budget below this is enough.
    fn least_budget(&mut self, block: Block, colors: usize) -> Duration {
        let (mask, slot) = (self.mask(block), self.curves[block.0].slot);
        let utilization = self.utilization(mask, colors);
        // At most one unit off for each task, all of them in favour of the bound.
        let least = u128::from(utilization) * u128::from(slot.period.0) / u128::from(WHOLE);
        Duration(least as u64)
    }

    fn table(&mut self, mask: Mask) -> Rc<Table> {
        if let Some(table) = self.tables.get(&mask) {
            return table.clone();
        }
        let below = self.table(mask & (mask - 1));
        let table = Rc::new(below.with(&self.costs[mask.trailing_zeros() as usize]));
        self.tables.insert(mask, table.clone());
        table
    }
}

/// The part of a processor, rounded up.
fn share(budget: Duration, period: Duration) -> u64 {
    (u128::from(budget.0) * u128::from(WHOLE)).div_ceil(u128::from(period.0)) as u64
}
