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
use crate::{Demand, Mask, Point, Setting, Slot, Task, Vm, indices, mask};
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
    /// For each VM, its VCPUs in their order; none for those without tasks.
    pub vms: Vec<Vec<Option<Planned>>>,
    /// Sum of the parts of a processor that they need.
    pub total: Share,
}

/// A VCPU of a plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Planned {
    /// Indices of its tasks, ascending.
    pub tasks: Vec<usize>,
    /// Its colours; its tasks may leave some of them unused.
    pub colors: usize,
    /// Its budget, and the colours of its tasks, numbered from 0.
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
        let design = self.describe(&state, colors);
        let demands: Vec<&Demand> = design.demands().collect();
        let allocation = cache_to_vm(&demands, colors).pop()??;
        let mut own = allocation.colors.into_iter();
        let mut total = Share(0);
        let mut vms = Vec::with_capacity(state.len());
        for ((vm, blocks), design) in state.iter().zip(&mut self.vms).zip(design.vms) {
            let mut vcpus = Vec::with_capacity(vm.len());
            for ((&block, vcpu), slot) in vm.iter().zip(design).zip(blocks.vm().vcpus()) {
                let Some(Vcpu { tasks, demand }) = vcpu else {
                    total = total + slot.budget.map_or(Share(0), |it| Share::up(it, slot.period));
                    vcpus.push(None);
                    continue;
                };
                let colors = own.next()?;
                let point = blocks.polish(block, colors, demand.point(colors)?.clone());
                total = total + Share::up(point.budget, slot.period);
                vcpus.push(Some(Planned { tasks, colors, point }));
            }
            vms.push(vcpus);
        }
        Some(Plan { vms, total })
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
    /// alike.
    fn published(&mut self, colors: usize) -> Option<State> {
        let allocate = |blocks: &mut Blocks<'_>| {
            let vm = blocks.vm();
            let first = *vm.vcpus().first()?;
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
        let mut total = self.others(&state, None, colors)[colors];
        for _ in 0..ROUNDS_MAX {
            let before = total;
            for vm in 0..state.len() {
                for first in 0..state[vm].len() {
                    for second in first + 1..state[vm].len() {
                        let vcpus = [first, second];
                        let pair = vcpus.map(|vcpu| state[vm][vcpu]);
                        let others = self.others(&state, Some((vm, vcpus)), colors);
                        let blocks = &mut self.vms[vm];
                        if let Some(better) = split::best(blocks, vcpus, pair, &others, total) {
                            [state[vm][first], state[vm][second]] = better.blocks;
                            self.know(&state, colors);
                            total = self.others(&state, None, colors)[colors];
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

    /// By number of colours, the least sum of what all VCPUs need but for two of a VM.
    fn others(&self, state: &State, but: Option<(usize, [usize; 2])>, colors: usize) -> Vec<u64> {
        let mut sums = vec![0; colors + 1];
        for (vm, vcpus) in state.iter().enumerate() {
            for (vcpu, &block) in vcpus.iter().enumerate() {
                if but.is_some_and(|but| but.0 == vm && but.1.contains(&vcpu)) {
                    continue;
                }
                let shares = self.vms[vm].shares(block);
                for k in (0..=colors).rev() {
                    let sum = |own: usize| sums[k - own] + shares[own];
                    sums[k] = (0..=k).map(sum).min().unwrap_or(u64::MAX);
                }
            }
        }
        sums
    }
}

impl Design {
    /// What the VCPUs with tasks need, VM by VM.
    pub fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.vms.iter().flatten().flatten().map(|vcpu| &vcpu.demand)
    }
}
