//! The least budgets of the VCPUs of a PCPU, where nothing on a PCPU delays others.
//!
//! The budget of a VCPU changes nothing for VCPUs above, and the less it is, the more is left for
//! those below. So the least budgets are found from the highest priority down, and if these do not
//! fit, none do: where VCPUs of tasks, PCPUs, periods and colours are decided, budgets need no
//! search.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use analysis::{Duration, Server};
use system::address::Pcpu;
use system::description::System;
use system::plan::{self, Budget, Class, Entries};
use verdict::PcpuVerdict;

use super::super::budgets::without_tasks;
use super::super::change::percent_less;
use super::super::pcpus::{At, all, given, late, order, priorities_fit, vcpu};
use super::super::problem::grain;
use super::super::{priorities, set_class};
use super::judge::{Judge, WHOLE, is_separable};
use super::open::{Kinds, Open};
use super::utilization::utilization;
use crate::vcpus_to_pcpus::budgets_fit;
use key::key;

mod key;
#[cfg(test)]
mod tests;

/// Parts of a PCPU in which costs are counted: millionths of millionths.
pub const PARTS: u128 = Budget::WHOLE / 1_000_000;

/// Rough budgets are exact to this part of the period.
const ROUGH: u64 = 128;
/// Percentages by which execution times are shorter, to see by how much a whole PCPU is too little.
const EXCESS: [u64; 6] = [1, 3, 6, 12, 25, 50];
/// Nanoseconds.
const TENTH: u64 = 100;

/// Least budgets, which are not computed twice.
pub struct Patterns<'j, 'a> {
    judge: &'j Judge<'a>,
    /// The description without tasks, but for those of the VCPU that is judged.
    bare: RefCell<System>,
    grain: u64,
    /// The longest time for which the hypervisor serves no interrupt.
    late: Duration,
    /// The open parts, if VCPUs may have another order than that of their periods.
    pub orders: RefCell<Option<Open>>,
    /// True if budgets may be larger than the least, by a small part of the period: that is quick.
    pub is_rough: Cell<bool>,
    known: RefCell<HashMap<Vec<u64>, Option<u64>>>,
    /// The results of [`Patterns::excess`].
    excesses: RefCell<HashMap<Vec<u64>, u64>>,
}

/// The need of VCPUs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Need {
    /// The part that is wanting, in millionths of a PCPU; 0 if all tasks are in time.
    pub lack: u64,
    /// The sum of budget / period, in parts of [`PARTS`].
    pub cost: u64,
    /// The least budgets of those that are open.
    pub budgets: Vec<(At, Budget)>,
    /// PCPUs where the order of VCPUs is another one than in the description, and this order.
    pub orders: Vec<(usize, Vec<At>)>,
    /// The PCPUs that have too little.
    pub short: Vec<usize>,
}

impl Need {
    /// Returns a key that is less for a better plan.
    pub fn key(&self) -> (u64, u64) {
        (self.lack, self.cost)
    }

    /// Returns true if all tasks are in time with these budgets.
    pub fn holds(&self) -> bool {
        self.lack == 0
    }

    fn add(&mut self, other: Self) {
        self.lack = self.lack.saturating_add(other.lack);
        self.cost = self.cost.saturating_add(other.cost);
        self.budgets.extend(other.budgets);
        self.orders.extend(other.orders);
        self.short.extend(other.short);
    }
}

/// A VCPU above the one that is judged.
type Above = (At, Class);

impl<'j, 'a> Patterns<'j, 'a> {
    /// Returns the patterns of a description; `None` if PCPUs affect each other, tasks run in the
    /// background, or kinds of servers are open.
    pub fn new(judge: &'j Judge<'a>, system: &System) -> Option<Self> {
        let is_background = |(vm, index): At| {
            let server = vcpu(system, (vm, index)).server.as_ref();
            server.is_some_and(|it| it.class.value == Class::Background)
        };
        let runs = |(vm, index): At| system.vms[vm].tasks.iter().any(|task| task.vcpu == index);
        if !is_separable(system)
            || !Kinds::of(system).is_empty()
            || all(system).into_iter().any(|at| is_background(at) && runs(at))
        {
            return None;
        }
        let mut bare = system.clone();
        bare.vms.iter_mut().for_each(|vm| vm.tasks.clear());
        let grain = fine(system);
        let late = late(system);
        Some(Self {
            judge,
            bare: RefCell::new(bare),
            grain,
            late,
            orders: RefCell::default(),
            is_rough: Cell::new(false),
            known: RefCell::default(),
            excesses: RefCell::default(),
        })
    }

    /// Returns the judge that counts the effort.
    pub fn judge(&self) -> &'j Judge<'a> {
        self.judge
    }

    /// Returns the need of the VCPUs of a description in which all but budgets is decided.
    pub fn need(&self, system: &System) -> Need {
        let count = system.platform.value.cpus.len();
        let mut on = vec![Vec::new(); count];
        let vcpus = all(system);
        self.judge.spend(vcpus.len() as u64 / 4);
        for at in vcpus {
            if let Some(on) = given(system, at).and_then(|pcpu| on.get_mut(pcpu)) {
                on.push(at);
            }
        }
        let console = plan::console(count, |pcpu| !on[pcpu as usize].is_empty()) as usize;
        let mut sum = Need::default();
        for (pcpu, here) in on.iter().enumerate() {
            let mut need = self.of(system, here, console == pcpu);
            if need.lack > 0
                && let Some(open) = &*self.orders.borrow()
            {
                need = self.reordered(system, open, pcpu, here, (need, console == pcpu));
            }
            if need.lack > 0 {
                need.short.push(pcpu);
            }
            sum.add(need);
        }
        sum
    }

    /// Returns the need of these VCPUs if they have a PCPU.
    pub fn of(&self, system: &System, here: &[At], console: bool) -> Need {
        let (mut mine, others) = with_budget(system, here);
        mine.sort_by_key(|&at| order(system, at));
        self.in_order(system, (&mine, &others), console)
    }

    /// Returns the same in the best order that is found: that of the description, or of the most
    /// urgent tasks, with neighbours exchanged as long as less is wanting.
    fn reordered(
        &self,
        system: &System,
        open: &Open,
        pcpu: usize,
        here: &[At],
        (need, console): (Need, bool),
    ) -> Need {
        let (mut mine, others) = with_budget(system, here);
        mine.sort_by_key(|&at| order(system, at));
        if !priorities::are_open(open, &mine) {
            return need;
        }
        let of = |order: &[At]| self.in_order(system, (order, &others), console);
        let urgent = priorities::by_urgency(system, &mine);
        let mut best = (need, mine.clone());
        for start in [mine, urgent] {
            let mut now = (of(&start), start);
            loop {
                if now.0.key() < best.0.key() {
                    best = now.clone();
                }
                if best.0.holds() || self.judge.is_done() {
                    break;
                }
                let next = priorities::exchanges(system, &now.1).into_iter().map(|place| {
                    let mut order = now.1.clone();
                    order.swap(place, place + 1);
                    (of(&order), order)
                });
                let Some(next) = next.min_by_key(|(need, _)| need.key()) else { break };
                if next.0.key() >= now.0.key() {
                    break;
                }
                now = next;
            }
            if best.0.holds() {
                break;
            }
        }
        let (mut need, order) = best;
        need.orders.push((pcpu, order));
        need
    }

    /// Returns the need of VCPUs with budgets, in this order, and others if they have a PCPU.
    fn in_order(&self, system: &System, (mine, others): (&[At], &[At]), console: bool) -> Need {
        let mut need = Need::default();
        if !priorities_fit(system, mine) {
            need.lack = WHOLE;
        }
        // Without a server, it has all of its PCPU.
        for &at in others.iter().filter(|&&at| vcpu(system, at).server.is_none()) {
            let fits = self.fits(system, at, None, (&[], mine), console);
            if !fits || mine.len() + others.len() > 1 {
                need.lack += WHOLE;
            }
        }
        let mut above: Vec<Above> = Vec::new();
        let mut taken = 0u128;
        for (place, &at) in mine.iter().enumerate() {
            let server = vcpu(system, at).server.as_ref();
            let Some((class, open)) = server.map(|it| (it.class.value, it.open)) else { continue };
            let Some(Budget { budget, period }) = class.budget() else { continue };
            let given = (!open).then_some(budget);
            let below: Vec<At> = mine[place + 1..].iter().chain(others).copied().collect();
            let left = Budget::WHOLE.saturating_sub(taken);
            let most = left * u128::from(period.0) / Budget::WHOLE;
            let found = self.least(system, at, given, (&above, &below), most as u64, console);
            let found = match found {
                Some(found) => found,
                None => {
                    // How much is wanting, and what there would be for those below.
                    let alone = self.least(system, at, None, (&[], &[]), period.0, false);
                    let wanted = u128::from(self.alone(system, at, period));
                    let there = left * u128::from(WHOLE) / Budget::WHOLE;
                    need.lack += wanted.saturating_sub(there).max(u128::from(WHOLE / 100)) as u64;
                    (alone.unwrap_or(period.0) / 2).min(most as u64).max(1)
                }
            };
            let budget = Budget { budget: Duration(found), period };
            taken += budget.share();
            need.cost += (budget.share() / (Budget::WHOLE / PARTS)) as u64;
            above.push((at, class.with_budget(budget)));
            if open {
                need.budgets.push((at, budget));
            }
        }
        need
    }

    /// Returns the part of a PCPU that a VCPU with this period needs if it is alone there, in
    /// millionths: more than all of it if that is not enough for its tasks.
    pub fn alone(&self, system: &System, at: At, period: Duration) -> u64 {
        match self.least(system, at, None, (&[], &[]), period.0, false) {
            Some(found) => {
                let share = u128::from(found) * u128::from(WHOLE) / u128::from(period.0.max(1));
                u64::try_from(share).unwrap_or(WHOLE)
            }
            None => WHOLE + self.excess(system, at, period),
        }
    }

    /// Returns about the time that a VCPU lacks with a whole PCPU, in millionths of a PCPU.
    fn excess(&self, system: &System, at: At, period: Duration) -> u64 {
        let key = key(system, at, None, (&[], &[]), false);
        if let Some(known) = self.excesses.borrow().get(&key) {
            return *known;
        }
        let fits = |percent: &u64| {
            let shorter = percent_less(system, &[at.0], *percent);
            self.fits(&shorter, at, Some(period), (&[], &[]), false)
        };
        let needs: u64 = tasks_of(system, at).map(|task| utilization(system, (at.0, task))).sum();
        let excess = EXCESS.iter().find(|it| fits(it)).map_or(WHOLE, |it| it * (WHOLE / 100));
        let excess = excess.max(needs.saturating_sub(WHOLE));
        self.excesses.borrow_mut().insert(key, excess);
        excess
    }

    /// Returns the least budget of a VCPU, or its given one if that is enough, in nanoseconds.
    fn least(
        &self,
        system: &System,
        at: At,
        given: Option<Duration>,
        around: (&[Above], &[At]),
        most: u64,
        console: bool,
    ) -> Option<u64> {
        let mut key = key(system, at, given, around, console);
        key.push(u64::from(self.is_rough.get()));
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let found = self.search(system, at, given, around, most, console);
        self.known.borrow_mut().insert(key, found);
        found
    }

    fn search(
        &self,
        system: &System,
        at: At,
        given: Option<Duration>,
        around: (&[Above], &[At]),
        most: u64,
        console: bool,
    ) -> Option<u64> {
        let fits = |time: u64| self.fits(system, at, Some(Duration(time)), around, console);
        if let Some(given) = given {
            return (given.0 <= most && fits(given.0)).then_some(given.0);
        }
        let period = vcpu(system, at).server.as_ref()?.class.value.budget()?.period.0;
        let grain = self.grain;
        let shortest = Budget::SHORTEST.0.next_multiple_of(grain);
        let mut tasks = tasks_of(system, at).peekable();
        if tasks.peek().is_none() {
            let least = match self.judge.is_lenient() {
                true => shortest.min(period),
                false => without_tasks(Duration(period)).0.next_multiple_of(grain).min(period),
            };
            return (least <= most && fits(least)).then_some(least);
        }
        let needs: u64 = tasks.map(|task| utilization(system, (at.0, task))).sum();
        // In steps from none; a whole PCPU is a budget, too.
        let floor = u128::from(period) * u128::from(needs) / u128::from(WHOLE);
        let mut floor = u64::try_from(floor).unwrap_or(u64::MAX);
        // Beside others it needs no less than alone.
        if !around.0.is_empty() || !around.1.is_empty() || console {
            let alone = self.least(system, at, None, (&[], &[]), period, false)?;
            let rough = if self.is_rough.get() { period.div_ceil(ROUGH) + grain } else { 0 };
            floor = floor.max(alone.saturating_sub(rough));
        }
        let time = |steps: u64| (steps * grain).min(period);
        let most = if most >= period { period.div_ceil(grain) } else { most / grain };
        let most = self.served(system, at, around.0, most, time)?;
        let (mut no, mut yes) = ((shortest / grain).max(floor / grain).saturating_sub(1), most);
        if yes <= no || !fits(time(yes)) {
            return None;
        }
        let near = if self.is_rough.get() { (period / grain / ROUGH).max(1) } else { 1 };
        let bisect = |mut no: u64, mut yes: u64| {
            while yes - no > near {
                let middle = no + (yes - no) / 2;
                if fits(time(middle)) { yes = middle } else { no = middle }
            }
            yes
        };
        // The need is closer to the least than to the most.
        let (least, mut step) = (no, (period / grain / 64).max(1));
        while no + step < yes {
            if fits(time(no + step)) {
                yes = no + step;
                break;
            }
            (no, step) = (no + step, step * 2);
        }
        let found = bisect(no, yes);
        // Close to the most, a larger budget is not always enough where a smaller one is.
        let found = if yes == most && no > least { found.min(bisect(least, most)) } else { found };
        Some(time(found))
    }

    /// Returns the largest number of steps for which the VCPU gets its budget: not always all that
    /// is left, because those above can come at a bad time.
    fn served(
        &self,
        system: &System,
        at: At,
        above: &[Above],
        most: u64,
        time: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let server = |class: Class| match class {
            Class::Reserved(kind, it) => Server::new(kind, it.budget, it.period).ok(),
            Class::Background => None,
        };
        let class = vcpu(system, at).server.as_ref()?.class.value;
        let period = class.budget()?.period;
        let above: Option<Vec<Server>> = above.iter().map(|(_, class)| server(*class)).collect();
        let mut all = above?;
        let on: Vec<usize> = (0..=all.len()).collect();
        let mut gets = |steps: u64| {
            let budget = Budget { budget: Duration(time(steps)), period };
            let Some(own) = server(class.with_budget(budget)) else { return false };
            all.push(own);
            let fits = budgets_fit(&all, &on, self.late);
            all.pop();
            fits
        };
        if most == 0 || gets(most) {
            return Some(most);
        }
        let (mut yes, mut no) = (0, most);
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            if gets(middle) { yes = middle } else { no = middle }
        }
        Some(yes)
    }

    /// Returns true if a VCPU gets this budget, and its tasks are in time.
    fn fits(
        &self,
        system: &System,
        at: At,
        budget: Option<Duration>,
        (above, below): (&[Above], &[At]),
        console: bool,
    ) -> bool {
        let count = above.len() as u32 + 1;
        let class = budget.and_then(|budget| {
            let class = vcpu(system, at).server.as_ref()?.class.value;
            Some(class.with_budget(Budget { budget, ..class.budget()? }))
        });
        let make = |(vm, index): At, class: Option<Class>, priority: u32| {
            let server = class.map(|class| plan::Server { class, priority, overrun: Duration(0) });
            let (hold, entries) = (Duration(0), Entries::default());
            let vcpu = plan::Vcpu { pcpu: Pcpu(0), server, memory_budget: None, hold, entries };
            (vm, index, vcpu)
        };
        let mut vcpus = Vec::with_capacity(above.len() + below.len() + 1);
        for (number, &(at, class)) in (0..).zip(above) {
            vcpus.push(make(at, Some(class), 2 * count - number));
        }
        vcpus.push(make(at, class, count));
        for &at in below {
            vcpus.push(make(at, Some(Class::Background), 0));
        }
        let mut bare = self.bare.borrow_mut();
        let of_vm = &system.vms[at.0];
        let tasks = of_vm.tasks.iter().filter(|task| task.vcpu == at.1).cloned();
        bare.vms[at.0].tasks = tasks.collect();
        bare.vms[at.0].colors.clone_from(&of_vm.colors);
        self.judge.spend(bare.vms[at.0].tasks.len() as u64);
        let verdict = PcpuVerdict::of(&bare, &vcpus, console);
        bare.vms[at.0].tasks.clear();
        let own =
            verdict.vcpus.iter().find(|it| it.vcpu == at.1 && system.vms[at.0].name.value == it.vm);
        own.is_some_and(|it| self.judge.is_served(it) && it.tasks.iter().all(|task| task.ok))
    }
}

/// Returns the VCPUs with budgets, and the others.
fn with_budget(system: &System, here: &[At]) -> (Vec<At>, Vec<At>) {
    here.iter().partition(|&&at| {
        let server = vcpu(system, at).server.as_ref();
        server.is_some_and(|it| it.class.value.budget().is_some())
    })
}

/// Returns the tasks of a VCPU, by their indices in the VM.
fn tasks_of(system: &System, (vm, index): At) -> impl Iterator<Item = usize> + use<'_> {
    let tasks = system.vms[vm].tasks.iter().enumerate();
    tasks.filter(move |(_, task)| task.vcpu == index).map(|(number, _)| number)
}

/// Returns the grain of least budgets: whole ticks, in tenths of a microsecond if that is possible.
fn fine(system: &System) -> u64 {
    let ticks = system.platform.value.counter.map_or(1, |counter| counter.common_period().0);
    let tenths = (TENTH..=10 * TENTH).step_by(TENTH as usize).find(|it| it.is_multiple_of(ticks));
    tenths.unwrap_or_else(|| grain(system).0.0.max(1))
}

/// Returns a description in which everything is decided, with its budgets open again.
pub fn reopened(mut system: System, open: &Open) -> System {
    for &(vm, index) in &open.budgets {
        if let Some(server) = system.vms[vm].vcpus[index].server.as_mut() {
            server.open = true;
        }
    }
    system
}

/// Returns the description with these budgets and orders.
pub fn with_budgets(mut system: System, need: &Need) -> System {
    for &(at, budget) in &need.budgets {
        set_class(&mut system, at, |class| class.with_budget(budget));
    }
    for (pcpu, order) in &need.orders {
        priorities::set(&mut system, *pcpu, order);
    }
    super::close(&mut system);
    system
}
