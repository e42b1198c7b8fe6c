//! The planner of this project: tasks to VCPUs, colours to tasks and VCPUs, budgets.
//!
//! It looks for the least sum of `C^v / T^v` of all VCPUs with a given number of colours:
//!
//! - colours of a VCPU go to its tasks so that the utilisation is least
//!   ([`crate::least_utilization`]), and in the end from there on in small steps as long as
//!   the budget gets smaller;
//! - colours of the machine go to VCPUs exactly ([`crate::exact::cache_to_vm`]);
//! - tasks go to the VCPUs of their VM by local search: the tasks of two VCPUs at a time
//!   are split anew in the best of all ways, with all other VCPUs in view. It starts from
//!   tasks that are spread evenly, and from what CAVM ([`crate::published`]) does.
//!
//! The least utilisation of a VCPU is a lower bound of what it needs, and takes little time
//! to compute: a split is looked at only as far as its bound is below the best one so far.
//! Everything is deterministic.

mod blocks;
mod split;

use std::cmp::Reverse;

use analysis::utilization::Share;

use crate::demand::Vcpu;
use crate::exact::cache_to_vm;
use crate::least_utilization::NEVER;
use crate::published::cache_aware_vm;
use crate::{Coloring, Demand, Mask, Point, Setting, Slot, Task, Vm, indices, mask};
use blocks::{Block, Blocks};

/// Rounds over all pairs of VCPUs; a local optimum is usually reached after two or three.
const ROUNDS_MAX: usize = 20;

/// Plans one system for several numbers of colours: what it finds out for one helps the
/// next.
#[derive(Debug)]
pub struct Planner<'a> {
    setting: Setting,
    vms: Vec<Blocks<'a>>,
}

/// VCPUs with tasks, and what they need.
#[derive(Clone, Debug)]
pub struct Design {
    /// For each VM, its VCPUs in their order; none for those without tasks.
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
    /// Its budget, and the colours of its tasks: numbered from 0, in each VCPU anew, unless
    /// they are fixed.
    pub point: Point,
}

/// The VCPUs of all VMs: of each VM as many blocks as it has VCPUs.
type State = Vec<Vec<Block>>;

impl<'a> Planner<'a> {
    /// For these VMs.
    pub fn new(vms: &'a [Vm], setting: &Setting) -> Self {
        Self { setting: *setting, vms: vms.iter().map(|vm| Blocks::new(vm, setting)).collect() }
    }

    /// What needs little with `colors` colours in all (at most those of the setting). None
    /// if deadlines are missed in all ways that were found.
    pub fn plan(&mut self, colors: usize) -> Option<Plan> {
        let colors = colors.min(self.setting.colors());
        let state = self.search(colors)?;
        // From the last VM to the first: what it and those behind it need at least.
        let mut behind = vec![vec![0; colors + 1]];
        for (vm, vcpus) in state.iter().enumerate().rev() {
            behind.push(add(&self.curve(vm, vcpus, colors), &behind[behind.len() - 1]));
        }
        let (mut left, mut total) = (colors, Share(0));
        let mut vms = Vec::with_capacity(state.len());
        for (vm, vcpus) in state.iter().enumerate() {
            behind.pop();
            let curve = self.curve(vm, vcpus, colors);
            let rest = behind.last()?;
            let own = (0..=left).min_by_key(|&own| curve[own] + rest[left - own])?;
            left -= own;
            let planned = self.plan_vm(vm, vcpus, own)?;
            for (vcpu, slot) in planned.vcpus.iter().zip(self.vms[vm].vm().vcpus()) {
                let budget = vcpu.as_ref().map(|vcpu| vcpu.point.budget).or(slot.budget);
                total = total + budget.map_or(Share(0), |budget| Share::up(budget, slot.period));
            }
            vms.push(planned);
        }
        Some(Plan { vms, total })
    }

    /// A VM with these blocks and so many colours.
    fn plan_vm(&mut self, vm: usize, vcpus: &[Block], colors: usize) -> Option<PlannedVm> {
        let apart = match self.vms[vm].vm().coloring() {
            Coloring::Own => {
                let used = vcpus.iter().filter(|block| self.vms[vm].mask(**block) != 0);
                let demands: Vec<Demand> =
                    used.map(|&block| self.vms[vm].demand(block, colors)).collect();
                let demands: Vec<&Demand> = demands.iter().collect();
                Some(cache_to_vm(&demands, colors).pop()??.colors)
            }
            Coloring::Shared | Coloring::Fixed(_) => None,
        };
        let mut apart = apart.map(Vec::into_iter);
        let blocks = &mut self.vms[vm];
        let mut planned = Vec::with_capacity(vcpus.len());
        for &block in vcpus {
            let tasks = indices(blocks.mask(block));
            if tasks.is_empty() {
                planned.push(None);
                continue;
            }
            let colors = match &mut apart {
                Some(apart) => apart.next()?,
                None => colors,
            };
            let point = blocks.known_point(block, colors)?.clone();
            let point = blocks.polish(block, colors, point);
            planned.push(Some(Planned { tasks, colors, point }));
        }
        Some(PlannedVm { colors, vcpus: planned })
    }

    /// The VCPUs of a plan for `colors`, with what they need with any number of colours up
    /// to that. None as with [`Planner::plan`].
    pub fn design(&mut self, colors: usize) -> Option<Design> {
        let colors = colors.min(self.setting.colors());
        let state = self.search(colors)?;
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

    /// The best state from all starts.
    fn search(&mut self, colors: usize) -> Option<State> {
        let mut starts = vec![self.spread(colors)];
        starts.extend(self.published(colors));
        let found = starts.into_iter().map(|start| self.improve(start, colors));
        let best = found.min_by_key(|(total, _)| *total)?;
        (best.0 < NEVER).then_some(best.1)
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

    /// Splits the tasks of pairs of VCPUs anew until that is of no more use. The sum of what
    /// all need, and the VCPUs, about which everything is then known.
    fn improve(&mut self, start: State, colors: usize) -> (u64, State) {
        let mut state = start;
        self.know(&state, colors);
        let mut total = self.total(&state, colors);
        for _ in 0..ROUNDS_MAX {
            let before = total;
            for vm in 0..state.len() {
                for first in 0..state[vm].len() {
                    for second in first + 1..state[vm].len() {
                        let vcpus = [first, second];
                        let pair = vcpus.map(|vcpu| state[vm][vcpu]);
                        let others = self.others(&state, vm, vcpus, colors);
                        let blocks = &mut self.vms[vm];
                        if let Some(better) = split::best(blocks, vcpus, pair, &others, total) {
                            [state[vm][first], state[vm][second]] = better.blocks;
                            self.know(&state, colors);
                            total = self.total(&state, colors);
                        }
                    }
                }
            }
            if total >= before {
                break;
            }
        }
        (total, state)
    }

    fn know(&mut self, state: &State, colors: usize) {
        for (blocks, state) in self.vms.iter_mut().zip(state) {
            state.iter().for_each(|&block| blocks.evaluate_up_to(block, colors));
        }
    }

    /// The least sum of what all VCPUs need.
    fn total(&self, state: &State, colors: usize) -> u64 {
        let curves = state.iter().enumerate().map(|(vm, vcpus)| self.curve(vm, vcpus, colors));
        curves.fold(vec![0; colors + 1], |sum, curve| add(&curve, &sum))[colors]
    }

    /// What all VCPUs need but for two of a VM, by the number of colours of these two.
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

    /// What a VM needs with exactly so many colours.
    fn curve(&self, vm: usize, vcpus: &[Block], colors: usize) -> Vec<u64> {
        let described = self.vms[vm].vm();
        let sum = self.sum(vm, vcpus, colors).into_iter().enumerate();
        sum.map(|(own, sum)| if described.allows(own) { sum } else { NEVER }).collect()
    }

    /// What VCPUs of a VM need with up to so many colours.
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

/// By number of colours, what two need together that have no colour in common.
fn add(one: &[u64], other: &[u64]) -> Vec<u64> {
    let least = |k: usize| (0..=k).map(|own| one[own] + other[k - own]).min();
    (0..other.len()).map(|k| least(k).unwrap_or(u64::MAX)).collect()
}

impl Design {
    /// What the VCPUs with tasks need, VM by VM.
    pub fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.vms.iter().flatten().flatten().map(|vcpu| &vcpu.demand)
    }
}
