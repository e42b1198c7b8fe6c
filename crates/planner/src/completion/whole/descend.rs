//! Local search where PCPUs do not affect each other: VCPUs of tasks, PCPUs, periods and numbers of
//! colours change, and budgets are the least for these.

use analysis::Duration;
use policy::color::{Color, ColorSet};
use system::description::{Located, System, Vm};
use system::plan::Budget;

use super::super::pcpus::{At, all, given, vcpu};
use super::super::{priorities, set_class};
use super::choices::Choices;
use super::judge::Judge;
use super::patterns::{Need, Patterns};
use super::random::Random;

/// Changes without effect, for each that is possible, before a search goes elsewhere.
const IDLE: usize = 2;
/// Changes that lead elsewhere.
const KICK: usize = 3;

/// A local search.
pub struct Descent<'s, 'j, 'a> {
    /// The needs of VCPUs.
    pub patterns: &'s Patterns<'j, 'a>,
    /// The choices that may change.
    pub choices: &'s Choices,
    /// Says when to end.
    pub judge: &'s Judge<'a>,
}

impl Descent<'_, '_, '_> {
    /// Returns the best description that is found from `start` in `rounds` rounds. `stop` ends the
    /// search with the first for which it is true.
    pub fn best(
        &self,
        start: System,
        random: &mut Random,
        rounds: usize,
        stop: impl Fn(&Need) -> bool,
    ) -> (System, Need) {
        let need = self.patterns.need(&start);
        let mut best = (start, need);
        if stop(&best.1) {
            return best;
        }
        best = self.descend(best, random, &stop);
        for _ in 0..rounds {
            if stop(&best.1) || self.judge.is_done() {
                break;
            }
            let mut next = best.0.clone();
            for _ in 0..KICK {
                self.change(&mut next, &best.1, random);
            }
            let need = self.patterns.need(&next);
            let next = self.descend((next, need), random, &stop);
            if next.1.key() < best.1.key() {
                best = next;
            }
        }
        best
    }

    fn descend(
        &self,
        (mut system, mut best): (System, Need),
        random: &mut Random,
        stop: &impl Fn(&Need) -> bool,
    ) -> (System, Need) {
        let most = IDLE * self.neighbours(&system);
        let mut idle = 0;
        while idle < most && !stop(&best) && !self.judge.is_done() {
            idle += 1;
            let Some(change) = self.change(&mut system, &best, random) else { continue };
            let need = self.patterns.need(&system);
            if need.key() < best.key() {
                (best, idle) = (need, 0);
            } else {
                change.take_back(&mut system);
            }
        }
        (system, best)
    }

    /// Returns about the number of possible changes.
    fn neighbours(&self, system: &System) -> usize {
        let open = &self.choices.open;
        let pcpus = system.platform.value.cpus.len();
        let slots = self.choices.slots.iter().map(Vec::len).max().unwrap_or(1);
        let periods = self.choices.periods.iter().map(Vec::len).sum::<usize>();
        let colors = self.choices.colors.len();
        let tasks = open.tasks.len() * (slots - slots.min(1));
        open.pcpus.len() * (pcpus + open.pcpus.len())
            + 2 * tasks
            + 2 * periods
            + colors * colors
            + 8
    }

    /// Makes one random change, on a PCPU that has too little if there is one.
    fn change(&self, system: &mut System, need: &Need, random: &mut Random) -> Option<Change> {
        let pcpu = random.of(&need.short).copied();
        let mine = |at: &At| pcpu.is_none_or(|pcpu| given(system, *at) == Some(pcpu));
        let here: Vec<At> = all(system).into_iter().filter(mine).collect();
        let open = &self.choices.open;
        for _ in 0..8 {
            let changed = match random.below(6) {
                0 if !open.pcpus.is_empty() => self.move_vcpu(system, &here, random),
                1 if !open.pcpus.is_empty() => self.swap_vcpus(system, &here, random),
                2 if !open.tasks.is_empty() => self.move_task(system, &here, random, false),
                3 if !open.tasks.is_empty() => self.move_task(system, &here, random, true),
                4 if !open.periods.is_empty() => self.period(system, &here, random),
                5 if self.choices.colors.len() > 1 => self.color(system, random),
                _ => None,
            };
            if changed.is_some() {
                return changed;
            }
        }
        None
    }

    fn movable(&self, here: &[At], random: &mut Random) -> Option<At> {
        let open = &self.choices.open.pcpus;
        let movable: Vec<At> = here.iter().copied().filter(|at| open.contains(at)).collect();
        random.of(&movable).copied()
    }

    /// The PCPUs that VCPUs can share.
    fn shared(&self, system: &System) -> Vec<usize> {
        let alone = |pcpu: usize| {
            let on = |at: &At| given(system, *at) == Some(pcpu);
            all(system).into_iter().filter(on).any(|at| vcpu(system, at).server.is_none())
        };
        let used = |pcpu: usize| all(system).iter().any(|&at| given(system, at) == Some(pcpu));
        let packs = self.choices.open.packs;
        (0..system.platform.value.cpus.len())
            .filter(|&pcpu| !alone(pcpu) && (!packs || used(pcpu)))
            .collect()
    }

    fn move_vcpu(&self, system: &mut System, here: &[At], random: &mut Random) -> Option<Change> {
        let moved = self.movable(here, random)?;
        let to = *random.of(&self.shared(system))?;
        (given(system, moved) != Some(to)).then(|| {
            let change = self.leave_orders(system, &[moved], to);
            set_pcpu(system, moved, to);
            change
        })
    }

    fn swap_vcpus(&self, system: &mut System, here: &[At], random: &mut Random) -> Option<Change> {
        let one = self.movable(here, random)?;
        let other = *random.of(&self.choices.open.pcpus)?;
        let (from, to) = (given(system, one)?, given(system, other)?);
        (from != to).then(|| {
            let change = self.leave_orders(system, &[one, other], to);
            set_pcpu(system, one, to);
            set_pcpu(system, other, from);
            change
        })
    }

    /// Begins a change of the PCPUs of some VCPUs. An order that was decided on one of these PCPUs
    /// does not hold any more.
    fn leave_orders(&self, system: &mut System, moved: &[At], to: usize) -> Change {
        let open = &self.choices.open;
        let from = moved.iter().filter_map(|&at| given(system, at));
        let pcpus: Vec<usize> = from.chain([to]).collect();
        let decided: Vec<At> =
            pcpus.iter().flat_map(|&pcpu| priorities::decided_on(system, open, pcpu)).collect();
        let vms: Vec<usize> = moved.iter().chain(&decided).map(|at| at.0).collect();
        let change = Change::of(system, &vms);
        priorities::clear(system, &decided);
        change
    }

    /// A task to another VCPU of its VM, and if it `swaps` one from there back.
    fn move_task(
        &self,
        system: &mut System,
        here: &[At],
        random: &mut Random,
        swaps: bool,
    ) -> Option<Change> {
        let tasks = &self.choices.open.tasks;
        let is_here = |&&(vm, task): &&At| here.contains(&(vm, system.vms[vm].tasks[task].vcpu));
        let mine: Vec<At> = tasks.iter().filter(is_here).copied().collect();
        let (vm, task) = *random.of(&mine)?;
        let of_vm = &system.vms[vm];
        let from = of_vm.tasks[task].vcpu;
        let to = *random.of(&self.choices.slots[vm])?;
        if to == from {
            return None;
        }
        let there = |at: &&At| at.0 == vm && of_vm.tasks[at.1].vcpu == to;
        let there: Vec<At> = tasks.iter().filter(there).copied().collect();
        let back = if swaps { Some(*random.of(&there)?) } else { None };
        let own = self.choices.open.colors.contains(&vm) && of_vm.vllc;
        // Colours of tasks stay apart by VCPU.
        let colors = |task: usize, to: usize| match own && of_vm.tasks[task].colors.is_some() {
            true => Some(of_vm.tasks.iter().find(|it| it.vcpu == to)?.colors.clone()),
            false => Some(of_vm.tasks[task].colors.clone()),
        };
        let mut moves = vec![(task, to, colors(task, to)?)];
        if let Some((_, back)) = back {
            moves.push((back, from, colors(back, from)?));
        }
        let change = Change::of(system, &[vm]);
        for (task, to, colors) in moves {
            let task = &mut system.vms[vm].tasks[task];
            (task.vcpu, task.colors) = (to, colors);
        }
        Some(change)
    }

    /// Another period for a VCPU, or for all of its VM.
    fn period(&self, system: &mut System, here: &[At], random: &mut Random) -> Option<Change> {
        let open = &self.choices.open.periods;
        let mine: Vec<At> = open.iter().filter(|at| here.contains(at)).copied().collect();
        let at = *random.of(&mine)?;
        let period = *random.of(&self.choices.periods[at.0])?;
        let of = match random.below(2) {
            0 => vec![at],
            _ => self.choices.open_periods(at.0),
        };
        let change = Change::of(system, &[at.0]);
        of.into_iter().for_each(|at| set_period(system, at, period));
        change.is_one(system).then_some(change)
    }

    /// A colour from one VM to another one.
    fn color(&self, system: &mut System, random: &mut Random) -> Option<Change> {
        let &(from, least) = random.of(&self.choices.colors)?;
        let &(to, _) = random.of(&self.choices.colors)?;
        let own: Vec<Color> = system.vms[from].colors.as_ref()?.value.iter().collect();
        if from == to || own.len() <= least {
            return None;
        }
        let (last, rest) = own.split_last()?;
        let with = system.vms[to].colors.as_ref()?.value | (*last).into();
        let change = Change::of(system, &[from, to]);
        set_colors(system, from, rest.iter().copied().collect());
        set_colors(system, to, with);
        Some(change)
    }
}

/// The VMs that a change concerns, with their indices, as they were before. A copy of the whole description takes longer
/// than its judgement.
struct Change(Vec<(usize, Vm)>);

impl Change {
    /// Keeps these VMs, of which one may be named twice.
    fn of(system: &System, vms: &[usize]) -> Self {
        Self(vms.iter().map(|&vm| (vm, system.vms[vm].clone())).collect())
    }

    /// Returns true if something is not as it was.
    fn is_one(&self, system: &System) -> bool {
        self.0.iter().any(|(vm, before)| system.vms[*vm] != *before)
    }

    fn take_back(self, system: &mut System) {
        self.0.into_iter().for_each(|(vm, before)| system.vms[vm] = before);
    }
}

/// Puts a VCPU onto a PCPU, wherever it was before.
pub fn set_pcpu(system: &mut System, (vm, vcpu): At, pcpu: usize) {
    let place = system.vms[vm].name.place.clone();
    system.vms[vm].vcpus[vcpu].pcpu = Some(Located::new(pcpu as u64, &place));
}

/// Gives a VCPU a period, and all of it as a budget so far.
pub fn set_period(system: &mut System, at: At, period: Duration) {
    set_class(system, at, |class| class.with_budget(Budget { budget: period, period }));
}

fn set_colors(system: &mut System, vm: usize, colors: ColorSet) {
    if let Some(own) = system.vms[vm].colors.as_mut() {
        own.value = colors;
    }
}
