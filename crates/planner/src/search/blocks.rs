//! Sets of tasks of a VM, and the need of a VCPU with one of them.

use std::collections::HashMap;
use std::rc::Rc;

use analysis::Duration;
use analysis::utilization::Share;
use policy::color::ColorSet;

use super::rates::Rates;
use crate::demand::members;
use crate::descent;
use crate::least_utilization::{Costs, NEVER, Size, Table, WHOLE, place, sizes};
use crate::published::cache_to_task::{Allocated, cache_to_task};
use crate::{Coloring, Demand, Evaluator, Mask, Point, Setting, Slot, Vm, indices};

/// Stands for what a VCPU needs that misses deadlines with the colours that have the least
/// utilisation, whatever its budget is: more than all VCPUs of a system that do not.
pub const UNFIT: u64 = 100 * WHOLE;

/// The effort of a search for colours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effort {
    /// Only those with the least utilisation are tried: [`UNFIT`] says enough.
    Little,
    /// Others are tried, too, if those are not enough.
    Much,
}

/// A number for tasks in a VCPU that were looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Block(usize);

/// The needs of a VCPU with these tasks.
#[derive(Debug)]
struct Curve {
    mask: Mask,
    slot: Slot,
    /// The part of a processor in units of [`WHOLE`], by number of colours: a lower bound until the
    /// part is known. [`NEVER`] if no part is enough.
    shares: Vec<u64>,
    /// The known results, by number of colours.
    points: Vec<Option<Known>>,
    /// True if the colours with the least utilisation are not sufficient, by number of colours.
    unfit: Vec<bool>,
    plain: Vec<Known>,
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
    rates: Rates,
    /// The blocks, by tasks and by the first VCPU that is equivalent.
    known: HashMap<(Mask, usize), Block>,
    curves: Vec<Curve>,
    effort: Effort,
}

impl<'a> Blocks<'a> {
    pub fn new(vm: &'a Vm, setting: &Setting) -> Self {
        Self {
            vm,
            evaluator: Evaluator::new(*setting),
            costs: match vm.coloring() {
                Coloring::Own => vm.tasks().iter().map(|task| Costs::new(task, setting)).collect(),
                _ => Vec::new(),
            },
            tables: HashMap::from([(0, Rc::new(Table::empty(setting)))]),
            rates: Rates::new(vm.tasks(), setting),
            known: HashMap::new(),
            curves: Vec::new(),
            effort: Effort::Little,
        }
    }

    /// Returns the VM.
    pub fn vm(&self) -> &'a Vm {
        self.vm
    }

    /// Answers questions about tasks of the VM.
    pub fn evaluator(&mut self) -> &mut Evaluator {
        &mut self.evaluator
    }

    /// Returns true if two VCPUs of the VM are alike.
    pub fn are_alike(&self, one: usize, other: usize) -> bool {
        self.vm.vcpus()[one].is_like(&self.vm.vcpus()[other])
    }

    /// Returns the block of these tasks in this VCPU.
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
            let shares: Vec<u64> = match self.vm.coloring() {
                Coloring::Own => {
                    let table = self.table(mask);
                    (0..=colors).map(|k| bound(table.utilization(k))).collect()
                }
                Coloring::Shared => {
                    self.rates.shares(mask, colors).into_iter().map(bound).collect()
                }
                Coloring::Fixed(_) => vec![bound(self.utilization(mask, 0)); colors + 1],
            };
            let points = shares.iter().map(|&share| (share == NEVER).then_some(None)).collect();
            (shares, points)
        };
        let block = Block(self.curves.len());
        let unfit = vec![false; colors + 1];
        self.curves.push(Curve {
            mask,
            slot,
            shares,
            points,
            unfit,
            plain: vec![None; colors + 1],
        });
        self.known.insert((mask, first), block);
        block
    }

    /// Returns the tasks of a block.
    pub fn mask(&self, block: Block) -> Mask {
        self.curves[block.0].mask
    }

    /// Returns by number of colours the part of a processor that the block needs, or a lower bound
    /// of it.
    pub fn shares(&self, block: Block) -> &[u64] {
        &self.curves[block.0].shares
    }

    /// Returns true if that part is known for this number of colours, or if more knowledge is of no
    /// use.
    pub fn is_settled(&self, block: Block, colors: usize, effort: Effort) -> bool {
        let Curve { points, shares, .. } = &self.curves[block.0];
        points[colors].is_some() || (effort == Effort::Little && shares[colors] == UNFIT)
    }

    /// Searches from now on also colours other than those with the least utilisation.
    pub fn reconsider(&mut self) {
        self.effort = Effort::Much;
        for block in (0..self.curves.len()).map(Block) {
            let may_gain = self.may_gain(block);
            for colors in 0..self.curves[block.0].shares.len() {
                let Curve { shares, points, .. } = &self.curves[block.0];
                let is_known = may_gain && matches!(points[colors], Some(Some(_)));
                if shares[colors] != UNFIT && !is_known {
                    continue;
                }
                let bound = self.utilization(self.mask(block), colors);
                let curve = &mut self.curves[block.0];
                if curve.shares[colors] == UNFIT {
                    curve.shares[colors] = bound;
                } else if may_gain && let Some(Some(_)) = &curve.points[colors] {
                    curve.plain[colors] = curve.points[colors].take().flatten();
                    curve.shares[colors] = bound.max(curve.shares[colors] / 32 * 31);
                    curve.unfit[colors] = true;
                }
            }
        }
    }

    /// Returns true if other colours may lead to a smaller budget than those with the least
    /// utilisation. Where all deadlines are as long as periods, next to nothing is gained.
    fn may_gain(&self, block: Block) -> bool {
        let Curve { mask, slot, .. } = &self.curves[block.0];
        let is_short = |&task: &usize| {
            let task = &self.vm.tasks()[task];
            task.deadline() < task.period()
        };
        mask.count_ones() > 1
            && slot.budget.is_none()
            && *self.vm.coloring() == Coloring::Own
            && indices(*mask).iter().any(is_short)
    }

    /// Finds out the needs of the block with this number of colours, or that they are not below the
    /// bound so far plus `slack`, which is more than 0.
    pub fn settle_below(&mut self, block: Block, colors: usize, slack: u64) {
        let curve = &self.curves[block.0];
        if curve.points[colors].is_some() {
            return;
        }
        let bound = curve.shares[colors];
        let limit = bound.saturating_add(slack);
        let (period, unfit) = (curve.slot.period, curve.unfit[colors]);
        let rough = self.effort == Effort::Much && !unfit && self.may_gain(block);
        let grain = self.grain();
        let fewer = curve.points[..colors].iter().rev().find_map(Clone::clone).flatten();
        let fewer = fewer.or_else(|| curve.plain[colors].clone());
        let found = match fewer {
            Some(fewer) if share(fewer.budget, period) < limit && !rough => {
                let most = below(fewer.budget, grain);
                let better = match unfit {
                    true => self.other_colors(block, colors, most),
                    false => self.point(block, colors, most),
                };
                Some(better.or(Some(fewer)))
            }
            _ if unfit => {
                self.other_colors(block, colors, most_below(limit, period, grain)).map(Some)
            }
            _ if rough => {
                let limit = limit.saturating_add(limit / 31);
                let plain = self.point(block, colors, most_below(limit, period, grain));
                if let Some(plain) = plain {
                    let curve = &mut self.curves[block.0];
                    curve.shares[colors] = bound.max(share(plain.budget, period) / 32 * 31);
                    curve.plain[colors] = Some(plain);
                    curve.unfit[colors] = true;
                    return;
                }
                None
            }
            _ => self.point(block, colors, most_below(limit, period, grain)).map(Some),
        };
        let curve = &mut self.curves[block.0];
        curve.shares[colors] = match &found {
            Some(Some(point)) => share(point.budget, period),
            None if limit <= WHOLE => limit,
            None if !curve.unfit[colors] => UNFIT,
            Some(None) | None => NEVER,
        };
        curve.unfit[colors] |= curve.shares[colors] == UNFIT;
        curve.points[colors] = match curve.shares[colors] {
            NEVER => Some(None),
            _ => found,
        };
    }

    /// Finds the needs of the block with up to `most` colours.
    pub fn evaluate_up_to(&mut self, block: Block, most: usize) {
        for colors in 0..=most {
            while !self.is_settled(block, colors, Effort::Much) {
                self.settle_below(block, colors, NEVER);
            }
        }
    }

    /// Returns the needs of the block with this number of colours, as far as they are known.
    pub fn known_point(&self, block: Block, colors: usize) -> Option<&Point> {
        self.curves[block.0].points[colors].as_ref()?.as_deref()
    }

    /// Returns the needs of the block with 1 to `most` colours, as far as they are known.
    pub fn demand(&self, block: Block, most: usize) -> Demand {
        let Curve { slot, points, .. } = &self.curves[block.0];
        let points = points[1..=most].iter();
        let points = points.map(|known| Some(known.clone()??.as_ref().clone()));
        Demand::new(slot.period, points.collect())
    }

    /// Looks for a smaller budget of a VCPU with these tasks and colours than this one.
    pub fn polish(&mut self, block: Block, colors: usize, point: Point) -> Point {
        let slot = self.curves[block.0].slot;
        if slot.budget.is_some() || *self.vm.coloring() != Coloring::Own {
            return point;
        }
        self.descend(block, colors, below(point.budget, self.grain())).unwrap_or(point)
    }

    /// Budget and colours with `colors` colours, if it is at most `most`.
    fn point(&mut self, block: Block, colors: usize, most: Duration) -> Known {
        let slot = self.curves[block.0].slot;
        let (least, most) = match slot.budget {
            Some(fixed) => (fixed, fixed),
            None => (self.least_budget(block, colors), most),
        };
        if most < least || most == Duration(0) {
            return None;
        }
        let sets = match self.given_sets(self.mask(block), colors) {
            Some(sets) => sets,
            None => place(&self.sizes(block, colors)),
        };
        let tasks = indices(self.mask(block));
        let members = members(self.vm.tasks(), &tasks);
        let range = [least, most];
        let budget = self.evaluator.least_budget(&members, &sets, slot.period, range)?;
        Some(Rc::new(Point { budget, sets }))
    }

    /// Returns the same with other colours than those with the least utilisation.
    fn other_colors(&mut self, block: Block, colors: usize, most: Duration) -> Known {
        if *self.vm.coloring() != Coloring::Own {
            return None;
        }
        let most = self.curves[block.0].slot.budget.unwrap_or(most);
        self.descend(block, colors, most).map(Rc::new)
    }

    /// Returns the colours of these tasks, where they follow from the number of colours of the VM.
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

    /// Returns a lower bound of the part of a processor that these tasks need; [`NEVER`] if they
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

    /// Returns the least budget of at most `most` that was found by trying more than the least
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

    /// Returns the colours with the least utilisation.
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

    /// Budgets are multiples of this.
    fn grain(&self) -> Duration {
        self.evaluator.setting().grain()
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

/// Returns the part of a processor, rounded up.
fn share(budget: Duration, period: Duration) -> u64 {
    (u128::from(budget.0) * u128::from(WHOLE)).div_ceil(u128::from(period.0)) as u64
}

/// Returns the next smaller budget.
fn below(budget: Duration, grain: Duration) -> Duration {
    Duration(budget.0.saturating_sub(1) / grain.0 * grain.0)
}

/// Returns the largest budget that is a smaller part of a period than `limit`.
fn most_below(limit: u64, period: Duration, grain: Duration) -> Duration {
    if limit > WHOLE {
        return period;
    }
    let budget = u128::from(limit.saturating_sub(1)) * u128::from(period.0) / u128::from(WHOLE);
    Duration(budget as u64 / grain.0 * grain.0)
}
