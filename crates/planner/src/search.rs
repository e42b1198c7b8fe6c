//! The planner of this project: tasks to VCPUs, colours to tasks and VCPUs, budgets.
//!
//! The planner searches the least sum of `C^v / T^v` of all VCPUs with a given number of colours:
//!
//! - the colours of a VCPU are divided among its tasks such that the utilisation is least
//!   ([`crate::least_utilization`]); in the end the division is changed in small steps as long as the
//!   budget decreases;
//! - the colours of the machine are divided among the VCPUs exactly
//!   ([`crate::exact::cache_to_vm()`]);
//! - tasks are distributed over the VCPUs of their VM by local search: the tasks of two VCPUs at a
//!   time are split in the best of all ways, in view of all other VCPUs. The search starts from an
//!   even distribution, and from the result of CAVM ([`crate::published`]).
//!
//! The least utilisation of a VCPU is a lower bound of its needs, and quick to compute. A split is
//! examined only as long as its bound is below the best one so far, and a budget is searched only
//! if one can make the split the best. The search is deterministic.

mod blocks;
mod rates;
mod split;

use std::cmp::Reverse;

use analysis::utilization::Share;

use crate::demand::Vcpu;
use crate::least_utilization::{NEVER, WHOLE};
use crate::published::cache_aware_vm;
use crate::{Coloring, Demand, Mask, Point, Setting, Slot, Task, Vm, indices, mask};
use blocks::{Block, Blocks, Effort, UNFIT};

/// Rounds over all pairs of VCPUs; a local optimum is usually reached after two or three.
const ROUNDS_MAX: usize = 20;
/// Splits of two VCPUs of which others then need more than their bounds; mostly there is none.
const SPLITS_MAX: usize = 100;

/// Plans one system for several numbers of colours. Results for one number speed up the next.
#[derive(Debug)]
pub struct Planner<'a> {
    setting: Setting,
    vms: Vec<Blocks<'a>>,
}

/// VCPUs with tasks, and their needs.
#[derive(Clone, Debug)]
pub struct Design {
    /// For each VM, its VCPUs in their order; `None` for VCPUs without tasks.
    pub vms: Vec<Vec<Option<Vcpu>>>,
}

/// A plan: all of the design, with a number of colours for each VCPU.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// The VMs in their order.
    pub vms: Vec<PlannedVm>,
    /// Sum of the parts of a processor that their VCPUs need.
    pub total: Share,
}

/// A VM of a plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlannedVm {
    /// Its colours; some may be left unused.
    pub colors: usize,
    /// Its VCPUs in their order; none for those without tasks.
    pub vcpus: Vec<Option<Planned>>,
}

/// A VCPU of a plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Planned {
    /// Indices of its tasks, ascending.
    pub tasks: Vec<usize>,
    /// Its colours; its tasks may leave some of them unused. Those of the VM if they are
    /// shared; of no meaning if they are fixed.
    pub colors: usize,
    /// Budget of the VCPU, and colours of its tasks: numbered from 0 in each VCPU, unless they are
    /// fixed.
    pub point: Point,
}

/// The need of the VCPUs of one VM if its tasks are spread over them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rough {
    /// Sum of the parts of a processor that they need.
    pub total: Share,
    /// The VCPUs that have tasks.
    pub used: Vec<usize>,
}

/// The VCPUs of all VMs: of each VM as many blocks as it has VCPUs.
type State = Vec<Vec<Block>>;

/// Colours of a VM and of its VCPUs.
struct SharedOut {
    of_vm: usize,
    of_vcpus: Vec<usize>,
}

impl<'a> Planner<'a> {
    /// Returns a planner for these VMs.
    pub fn new(vms: &'a [Vm], setting: &Setting) -> Self {
        Self { setting: *setting, vms: vms.iter().map(|vm| Blocks::new(vm, setting)).collect() }
    }

    /// Returns a plan that needs little with `colors` colours in all (at most those of the
    /// setting). `None` if deadlines are missed in all plans that were found.
    pub fn plan(&mut self, colors: usize) -> Option<Plan> {
        let colors = colors.min(self.setting.colors());
        let state = self.search(colors)?;
        let (_, shared_out) = self.settle(&state, colors, NEVER, Effort::Much)?;
        let mut total = Share(0);
        let mut vms = Vec::with_capacity(state.len());
        for ((blocks, vcpus), colors) in self.vms.iter_mut().zip(&state).zip(shared_out) {
            let mut planned = Vec::with_capacity(vcpus.len());
            for (&block, &colors) in vcpus.iter().zip(&colors.of_vcpus) {
                planned.push(planned_vcpu(blocks, block, colors));
            }
            for (vcpu, slot) in planned.iter().zip(blocks.vm().vcpus()) {
                let budget = vcpu.as_ref().map(|vcpu: &Planned| vcpu.point.budget).or(slot.budget);
                total = total + budget.map_or(Share(0), |budget| Share::up(budget, slot.period));
            }
            vms.push(PlannedVm { colors: colors.of_vm, vcpus: planned });
        }
        Some(Plan { vms, total })
    }

    /// Returns the need of the first VM with `colors` colours if its tasks are spread over its VCPUs:
    /// no better distribution is looked for. `None` if deadlines are missed then.
    pub fn rough(&mut self, colors: usize) -> Option<Rough> {
        let colors = colors.min(self.setting.colors());
        let state = self.spread(colors);
        let (total, _) = self.settle(&state, colors, NEVER, Effort::Little)?;
        let blocks = self.vms.first()?;
        let has_tasks = |vcpu: &usize| blocks.mask(state[0][*vcpu]) != 0;
        let total = Share(u128::from(total) * (Share::WHOLE.0 / u128::from(WHOLE)));
        let used = (0..state[0].len()).filter(has_tasks).collect();
        (total < Share(u128::from(UNFIT) * (Share::WHOLE.0 / u128::from(WHOLE))))
            .then_some(Rough { total, used })
    }

    /// Returns the VCPUs of a plan for `colors`, with what they need with any number of colours up
    /// to that. None as with [`Planner::plan`].
    pub fn design(&mut self, colors: usize) -> Option<Design> {
        let colors = colors.min(self.setting.colors());
        let state = self.search(colors)?;
        for (blocks, state) in self.vms.iter_mut().zip(&state) {
            state.iter().for_each(|&block| blocks.evaluate_up_to(block, colors));
        }
        Some(self.describe(&state, colors))
    }

    fn describe(&self, state: &State, colors: usize) -> Design {
        let vms = self.vms.iter().zip(state).map(|(blocks, state)| {
            let vcpu = |&block: &Block| {
                let tasks = indices(blocks.mask(block));
                let demand = || blocks.demand(block, colors);
                (!tasks.is_empty()).then(|| Vcpu { demand: demand(), tasks })
            };
            state.iter().map(vcpu).collect()
        });
        Design { vms: vms.collect() }
    }

    /// Returns the best state from all starts.
    fn search(&mut self, colors: usize) -> Option<State> {
        let mut states = vec![self.spread(colors)];
        states.extend(self.published(colors));
        let mut improved: Vec<_> =
            states.into_iter().map(|state| self.improve(state, colors, Effort::Little)).collect();
        improved.sort_by_key(|(total, _)| *total);
        if improved.first().is_some_and(|(total, _)| *total < UNFIT) {
            improved.truncate(1);
        }
        self.vms.iter_mut().for_each(Blocks::reconsider);
        let improved =
            improved.into_iter().map(|(_, state)| self.improve(state, colors, Effort::Much));
        let (total, best) = improved.min_by_key(|(total, _)| *total)?;
        (total < NEVER).then_some(best)
    }

    /// Tasks one by one, the largest first, to the VCPU with the least utilisation, with
    /// the same number of colours for all.
    fn spread(&mut self, colors: usize) -> State {
        let vcpus: usize = self.vms.iter().map(|blocks| blocks.vm().vcpus().len()).sum();
        let each = (colors / vcpus.max(1)).max(1);
        let spread = self.vms.iter_mut().map(|blocks| {
            let vm = blocks.vm();
            let utilization = |task: &Task| Share::up(task.wcet(each), task.period());
            let of = |mask: Mask| {
                indices(mask).iter().map(|&index| utilization(&vm.tasks()[index])).sum::<Share>()
            };
            let mut masks: Vec<Mask> = vm.vcpus().iter().map(|slot| slot.pinned).collect();
            let mut open: Vec<usize> =
                (0..vm.tasks().len()).filter(|index| vm.pinned() >> index & 1 == 0).collect();
            open.sort_by_key(|&index| Reverse(utilization(&vm.tasks()[index])));
            for index in open {
                if let Some(least) = masks.iter_mut().min_by_key(|mask| of(**mask)) {
                    *least |= 1 << index;
                }
            }
            masks.into_iter().enumerate().map(|(vcpu, mask)| blocks.block(mask, vcpu)).collect()
        });
        spread.collect()
    }

    /// As CAVM does, if it finds an allocation for each VM. It knows VCPUs that are all
    /// alike, with tasks that have colours of their own.
    fn published(&mut self, colors: usize) -> Option<State> {
        let allocate = |blocks: &mut Blocks<'_>| {
            let vm = blocks.vm();
            let first = *vm.vcpus().first()?;
            if *vm.coloring() != Coloring::Own {
                return None;
            }
            let is_plain = |slot: &Slot| slot.is_like(&first) && slot.pinned == 0;
            if first.budget.is_some() || !vm.vcpus().iter().all(is_plain) {
                return None;
            }
            let count = vm.vcpus().len();
            let evaluator = blocks.evaluator();
            let allocated =
                cache_aware_vm::allocate(evaluator, vm.tasks(), count, colors, first.period)?;
            let mut masks: Vec<Mask> = allocated.iter().map(|tasks| mask(tasks)).collect();
            masks.resize(count, 0);
            Some(masks.into_iter().map(|mask| blocks.block(mask, 0)).collect())
        };
        self.vms.iter_mut().map(allocate).collect()
    }

    /// Splits the tasks of pairs of VCPUs again until that helps no more. Returns the sum of all
    /// needs, and the VCPUs.
    fn improve(&mut self, start: State, colors: usize, effort: Effort) -> (u64, State) {
        let mut state = start;
        let settled = self.settle(&state, colors, NEVER, effort);
        let mut total = settled.map_or(NEVER, |(total, _)| total);
        for _ in 0..ROUNDS_MAX {
            let before = total;
            for vm in 0..state.len() {
                for first in 0..state[vm].len() {
                    for second in first + 1..state[vm].len() {
                        let vcpus = [first, second];
                        total = self.split_anew(&mut state, vm, vcpus, colors, total, effort);
                    }
                }
            }
            if total >= before {
                break;
            }
        }
        (total, state)
    }

    /// Splits the tasks of two VCPUs in the best way, if that is better than `total`. Then what
    /// all VCPUs need.
    fn split_anew(
        &mut self,
        state: &mut State,
        vm: usize,
        vcpus: [usize; 2],
        colors: usize,
        total: u64,
        effort: Effort,
    ) -> u64 {
        let pair = vcpus.map(|vcpu| state[vm][vcpu]);
        for _ in 0..SPLITS_MAX {
            let others = self.others(state, vm, vcpus, colors);
            let blocks = &mut self.vms[vm];
            let better = split::best(blocks, vcpus, pair, &others, total, effort);
            let Some(blocks) = better else { return total };
            for (vcpu, block) in vcpus.into_iter().zip(blocks) {
                state[vm][vcpu] = block;
            }
            if let Some((total, _)) = self.settle(state, colors, total, effort) {
                return total;
            }
            // More about the others is known now.
            for (vcpu, block) in vcpus.into_iter().zip(pair) {
                state[vm][vcpu] = block;
            }
        }
        total
    }

    /// Returns the least sum of the needs of all VCPUs, and the colours of each VM and VCPU for
    /// that sum; `None` if it is not below `limit`. Computes only what is necessary.
    fn settle(
        &mut self,
        state: &State,
        colors: usize,
        limit: u64,
        effort: Effort,
    ) -> Option<(u64, Vec<SharedOut>)> {
        loop {
            let (total, shared_out) = self.share_out(state, colors)?;
            let slack = limit.checked_sub(total).filter(|slack| *slack > 0)?;
            let mut complete = true;
            for ((blocks, vcpus), colors) in self.vms.iter_mut().zip(state).zip(&shared_out) {
                for (&block, &colors) in vcpus.iter().zip(&colors.of_vcpus) {
                    if !blocks.is_settled(block, colors, effort) {
                        complete = false;
                        blocks.settle_below(block, colors, slack);
                    }
                }
            }
            if complete {
                return Some((total, shared_out));
            }
        }
    }

    /// Returns the least sum as far as it is known, and the colours for that.
    fn share_out(&self, state: &State, colors: usize) -> Option<(u64, Vec<SharedOut>)> {
        // From the last VM to the first: what it and those behind it need at least.
        let mut behind = vec![vec![0; colors + 1]];
        let mut curves = Vec::with_capacity(state.len());
        for (vm, vcpus) in state.iter().enumerate().rev() {
            let curve = self.curve(vm, vcpus, colors);
            behind.push(add(&curve, &behind[behind.len() - 1]));
            curves.push(curve);
        }
        let total = behind.pop()?[colors];
        let mut left = colors;
        let mut shared_out = Vec::with_capacity(state.len());
        for (vm, vcpus) in state.iter().enumerate() {
            let (curve, rest) = (curves.pop()?, behind.pop()?);
            let own = (0..=left).min_by_key(|&own| curve[own] + rest[left - own])?;
            left -= own;
            shared_out.push(SharedOut { of_vm: own, of_vcpus: self.of_vcpus(vm, vcpus, own)? });
        }
        Some((total, shared_out))
    }

    /// Returns the colours of the VCPUs of a VM that has this number of colours.
    fn of_vcpus(&self, vm: usize, vcpus: &[Block], colors: usize) -> Option<Vec<usize>> {
        let blocks = &self.vms[vm];
        if *blocks.vm().coloring() == Coloring::Shared {
            return Some(vec![colors; vcpus.len()]);
        }
        let mut behind = vec![vec![0; colors + 1]];
        for &block in vcpus.iter().rev() {
            behind.push(add(blocks.shares(block), &behind[behind.len() - 1]));
        }
        behind.pop();
        let mut left = colors;
        let each = vcpus.iter().map(|&block| {
            let (shares, rest) = (blocks.shares(block), behind.pop()?);
            let own = (0..=left).min_by_key(|&own| shares[own] + rest[left - own])?;
            left -= own;
            Some(own)
        });
        each.collect()
    }

    /// Returns the needs of all VCPUs but two of a VM, by the number of colours of these two.
    fn others(&self, state: &State, vm: usize, pair: [usize; 2], colors: usize) -> Vec<u64> {
        let other_vms = (0..state.len()).filter(|other| *other != vm);
        let elsewhere = other_vms
            .map(|other| self.curve(other, &state[other], colors))
            .fold(vec![0; colors + 1], |sum, curve| add(&curve, &sum));
        // By the colours that the VCPUs of this VM use: it may have to have more.
        let described = self.vms[vm].vm();
        let mut elsewhere: Vec<u64> = (0..=colors)
            .map(|own| if described.allows(own) { elsewhere[colors - own] } else { NEVER })
            .collect();
        for own in (0..colors).rev() {
            elsewhere[own] = elsewhere[own].min(elsewhere[own + 1]);
        }
        let siblings = (0..state[vm].len()).filter(|vcpu| !pair.contains(vcpu));
        let siblings: Vec<Block> = siblings.map(|vcpu| state[vm][vcpu]).collect();
        let siblings = self.sum(vm, &siblings, colors);
        let with_pair = |own: usize| match described.coloring() {
            Coloring::Shared => siblings[own] + elsewhere[own],
            Coloring::Own | Coloring::Fixed(_) => {
                let all = (own..=colors).map(|used| siblings[used - own] + elsewhere[used]);
                all.min().unwrap_or(NEVER)
            }
        };
        (0..=colors).map(with_pair).collect()
    }

    /// Returns the needs of a VM with exactly these numbers of colours.
    fn curve(&self, vm: usize, vcpus: &[Block], colors: usize) -> Vec<u64> {
        let described = self.vms[vm].vm();
        let sum = self.sum(vm, vcpus, colors).into_iter().enumerate();
        sum.map(|(own, sum)| if described.allows(own) { sum } else { NEVER }).collect()
    }

    /// Returns the needs of VCPUs of a VM with up to this number of colours.
    fn sum(&self, vm: usize, vcpus: &[Block], colors: usize) -> Vec<u64> {
        let blocks = &self.vms[vm];
        let mut sum = vec![0; colors + 1];
        for &block in vcpus {
            let shares = blocks.shares(block);
            match blocks.vm().coloring() {
                Coloring::Shared => sum.iter_mut().zip(shares).for_each(|(sum, own)| *sum += own),
                Coloring::Own | Coloring::Fixed(_) => sum = add(shares, &sum),
            }
        }
        sum
    }
}

/// Returns a VCPU with these tasks and colours, about which everything is known; none without
/// tasks.
fn planned_vcpu(blocks: &mut Blocks<'_>, block: Block, colors: usize) -> Option<Planned> {
    let point = blocks.known_point(block, colors)?.clone();
    let tasks = indices(blocks.mask(block));
    Some(Planned { tasks, colors, point: blocks.polish(block, colors, point) })
}

/// Returns the needs of two VCPUs that share no colour, by number of colours.
fn add(one: &[u64], other: &[u64]) -> Vec<u64> {
    let least = |k: usize| (0..=k).map(|own| one[own] + other[k - own]).min();
    (0..other.len()).map(|k| least(k).unwrap_or(u64::MAX)).collect()
}

impl Design {
    /// Returns the demands of the VCPUs with tasks, VM by VM.
    pub fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.vms.iter().flatten().flatten().map(|vcpu| &vcpu.demand)
    }
}
