//! The best plan of a small system, by trying all of them: VCPUs of tasks, PCPUs, periods from a
//! list, numbers of colours, and the least budgets.
//!
//! Budgets are decided from the highest priority down: the budget of a VCPU does not change what
//! VCPUs above get, and the less it is, the more is left for those below. Therefore the least
//! budgets are those with the least sum, and if these do not fit, none do.

use analysis::Duration;
use policy::color::Color;
use system::address::Pcpu;
use system::description::{Located, System};
use system::plan::{self, Budget, Entries};
use verdict::{PcpuVerdict, scale};

use crate::small::PERIODS_US;

/// Budgets are whole multiples of this, in nanoseconds.
const GRAIN: u64 = 1_000;
/// Factors of execution times are found this exactly.
const FACTOR_STEP: f64 = 0.000_5;

type At = (usize, usize);

/// Everything but PCPUs and budgets is decided.
struct Way {
    system: System,
    vcpus: Vec<At>,
}

/// Returns the least sum of budget / period of all VCPUs; `None` if there is no plan.
pub fn least_utilization(system: &System) -> Option<f64> {
    let mut best = f64::INFINITY;
    for way in ways(system) {
        if way.needs(1.0) >= best {
            continue;
        }
        let costs: Vec<[Option<f64>; 2]> = (0..1 << way.vcpus.len())
            .map(|set| [false, true].map(|console| way.utilization(set, console)))
            .collect();
        for set in 0..costs.len() {
            let total = way.on_both(set, |set, console| costs[set][usize::from(console)]);
            best = total.map_or(best, |total| best.min(total));
        }
    }
    best.is_finite().then_some(best)
}

/// Returns the largest factor by which all execution times can grow; `None` if there is no plan.
pub fn largest_factor(system: &System) -> Option<f64> {
    let mut best = None;
    for way in ways(system) {
        for set in 0..1 << way.vcpus.len() {
            let fits = |factor: f64| {
                if way.needs(factor) > 2.0 {
                    return false;
                }
                let grown = way.grown(factor);
                grown.on_both(set, |set, console| grown.utilization(set, console)).is_some()
            };
            let mut yes = best.map_or(1.0, |best| best + FACTOR_STEP);
            if !fits(yes) {
                continue;
            }
            let mut no = 2.0 * yes;
            while fits(no) {
                (yes, no) = (no, 2.0 * no);
            }
            while no - yes > FACTOR_STEP {
                let middle = f64::midpoint(yes, no);
                if fits(middle) { yes = middle } else { no = middle }
            }
            best = Some(yes);
        }
    }
    best
}

/// Returns the sum of budget / period of all VCPUs in a plan.
pub fn utilization(system: &System) -> f64 {
    let vcpus = system.vms.iter().flat_map(|vm| &vm.vcpus);
    let budgets = vcpus.filter_map(|vcpu| vcpu.server.as_ref()?.class.value.budget());
    budgets.map(share).sum()
}

/// Returns the largest factor by which all execution times can grow in a plan.
pub fn factor(system: &System) -> f64 {
    let passes = |factor: f64| crate::judge::passes(&grown(system, factor));
    let (mut yes, mut no) = (1.0, 2.0);
    while passes(no) {
        (yes, no) = (no, 2.0 * no);
    }
    while no - yes > FACTOR_STEP {
        let middle = f64::midpoint(yes, no);
        if passes(middle) { yes = middle } else { no = middle }
    }
    yes
}

fn share(budget: Budget) -> f64 {
    budget.budget.0 as f64 / budget.period.0 as f64
}

/// Returns all ways to decide colours, periods, and VCPUs of tasks. The VCPUs of a VM are alike, so
/// its first task is on the first.
fn ways(system: &System) -> Vec<Way> {
    let mut all = colors(system);
    for vm in 0..system.vms.len() {
        all = all.iter().flat_map(|system| periods(system, vm)).collect();
        all = all.iter().flat_map(|system| tasks(system, vm)).collect();
    }
    let vcpus = |system: &System| {
        (0..system.vms.len())
            .flat_map(|vm| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu)))
            .collect()
    };
    all.into_iter().map(|system| Way { vcpus: vcpus(&system), system }).collect()
}

fn colors(system: &System) -> Vec<System> {
    let [one, other] = &system.vms[..] else { panic!("small systems have two VMs") };
    let (Some(one), Some(other)) = (&one.colors_open, &other.colors_open) else {
        return vec![system.clone()];
    };
    let count = system.platform.value.colors().map_or(0, |geometry| geometry.colors());
    let all: Vec<Color> = policy::color::ColorSet::first(count).iter().collect();
    let with = |split: usize| {
        let mut system = system.clone();
        for (vm, place, own) in [(0, one, &all[..split]), (1, other, &all[split..])] {
            let own = own.iter().copied().collect();
            system.vms[vm].colors = Some(Located::new(own, place));
            system.vms[vm].colors_open = None;
        }
        system
    };
    (1..all.len()).map(with).collect()
}

fn periods(system: &System, vm: usize) -> Vec<System> {
    let open = |vcpu: &system::description::Vcpu| {
        vcpu.server.as_ref().is_some_and(|server| server.period_open)
    };
    if !system.vms[vm].vcpus.iter().any(open) {
        return vec![system.clone()];
    }
    let with = |period: u64| {
        let mut system = system.clone();
        let period = Duration(period * 1_000);
        for server in system.vms[vm].vcpus.iter_mut().filter_map(|vcpu| vcpu.server.as_mut()) {
            server.class.value = server.class.value.with_budget(Budget { budget: period, period });
            server.period_open = false;
        }
        system
    };
    PERIODS_US.into_iter().map(with).collect()
}

fn tasks(system: &System, vm: usize) -> Vec<System> {
    let (vcpus, tasks) = (system.vms[vm].vcpus.len(), system.vms[vm].tasks.len());
    let with = |number: usize| {
        let mut system = system.clone();
        let mut rest = number;
        for task in system.vms[vm].tasks.iter_mut().skip(1) {
            (task.vcpu, rest) = (rest % vcpus, rest / vcpus);
        }
        system.vms[vm].tasks[0].vcpu = 0;
        system.vms[vm].tasks.iter_mut().for_each(|task| task.vcpu_open = false);
        system
    };
    (0..vcpus.pow(tasks as u32 - 1)).map(with).collect()
}

fn grown(system: &System, factor: f64) -> System {
    let mut system = system.clone();
    let ppm = ((factor - 1.0) * 1e6) as u64;
    system.vms.iter_mut().flat_map(|vm| &mut vm.tasks).for_each(|task| scale(&mut task.wcet, ppm));
    system
}

impl Way {
    fn grown(&self, factor: f64) -> Self {
        Self { system: grown(&self.system, factor), vcpus: self.vcpus.clone() }
    }

    /// Returns the utilisation of all tasks if they take longer by this factor: no budgets are
    /// less.
    fn needs(&self, factor: f64) -> f64 {
        let tasks = self.system.vms.iter().flat_map(|vm| vm.tasks.iter().map(move |it| (vm, it)));
        let part = tasks.map(|(vm, task)| {
            let colors = vm.colors.as_ref().map(|colors| u64::from(colors.value.len()));
            let wcet = colors.map_or(task.wcet.longest(), |colors| task.wcet.with_colors(colors));
            wcet.0 as f64 / task.period.0 as f64
        });
        factor * part.sum::<f64>()
    }

    /// Returns the sum for the two PCPUs if the first one has this set of VCPUs. A PCPU without
    /// VCPUs serves the console, or else the last.
    fn on_both(&self, set: usize, of: impl Fn(usize, bool) -> Option<f64>) -> Option<f64> {
        let rest = !set & ((1 << self.vcpus.len()) - 1);
        Some(of(set, false)? + of(rest, set != 0 && rest != 0)?)
    }

    /// Returns the sum of the least budgets / periods of the VCPUs of a set that has a PCPU; `None`
    /// if they do not fit.
    fn utilization(&self, set: usize, console: bool) -> Option<f64> {
        let members = (0..self.vcpus.len()).filter(|index| set >> index & 1 == 1);
        let mut members: Vec<(At, Budget)> =
            members.map(|index| (self.vcpus[index], self.budget(self.vcpus[index]))).collect();
        members.sort_by_key(|(at, budget)| (budget.period, *at));
        // VCPUs without tasks get a hundredth; others nothing so far.
        for (at, budget) in &mut members {
            budget.budget = match self.has_tasks(*at) {
                true => Budget::SHORTEST,
                false => Duration((budget.period.0 / 100).max(Budget::SHORTEST.0)),
            };
        }
        for place in 0..members.len() {
            if self.has_tasks(members[place].0) {
                let least = self.least(&mut members.clone(), place, console)?;
                members[place].1.budget = least;
            }
        }
        let all = self.enough(&members, members.len(), console);
        all.then(|| members.iter().map(|(_, budget)| share(*budget)).sum())
    }

    /// Returns the least budget of the VCPU in this place.
    fn least(&self, members: &mut [(At, Budget)], place: usize, console: bool) -> Option<Duration> {
        let period = members[place].1.period.0;
        let above: f64 = members[..place].iter().map(|(_, budget)| share(*budget)).sum();
        let all = ((1.0 - above) * period as f64) as u64 / GRAIN;
        let mut judge = |grains: u64| {
            members[place].1.budget = Duration(grains * GRAIN);
            let verdict = self.verdict(members, console);
            let it = &verdict.vcpus[place];
            (it.ok, it.ok && it.tasks.iter().all(|task| task.ok))
        };
        // The largest budget that the VCPU gets: not always all that is left, because those above
        // can come at a bad time.
        let (mut yes, mut late) = (0, all + 1);
        if all > 0 && judge(all).0 {
            yes = all;
        }
        while yes < all && late - yes > 1 {
            let middle = u64::midpoint(yes, late);
            if judge(middle).0 { yes = middle } else { late = middle }
        }
        let mut fits = |grains: u64| judge(grains).1;
        let mut no = 0;
        if yes == 0 || !fits(yes) {
            return None;
        }
        while yes - no > 1 {
            let middle = u64::midpoint(no, yes);
            if fits(middle) { yes = middle } else { no = middle }
        }
        Some(Duration(yes * GRAIN))
    }

    /// Returns true if the first VCPUs get their budgets, and their tasks are in time.
    fn enough(&self, members: &[(At, Budget)], first: usize, console: bool) -> bool {
        if members.is_empty() {
            return true;
        }
        let verdict = self.verdict(members, console);
        verdict.vcpus.iter().take(first).all(|it| it.ok && it.tasks.iter().all(|task| task.ok))
    }

    fn verdict(&self, members: &[(At, Budget)], console: bool) -> PcpuVerdict {
        let ranks = (1..=members.len() as u32).rev();
        let vcpus = members.iter().zip(ranks).map(|(&((vm, index), budget), priority)| {
            let class = self.class((vm, index)).with_budget(budget);
            let server = Some(plan::Server { class, priority, overrun: Duration(0) });
            let (hold, entries) = (Duration(0), Entries::default());
            let vcpu = plan::Vcpu { pcpu: Pcpu(0), server, memory_budget: None, hold, entries };
            (vm, index, vcpu)
        });
        PcpuVerdict::of(&self.system, &vcpus.collect::<Vec<_>>(), console)
    }

    fn has_tasks(&self, (vm, vcpu): At) -> bool {
        self.system.vms[vm].tasks.iter().any(|task| task.vcpu == vcpu)
    }

    fn class(&self, (vm, vcpu): At) -> plan::Class {
        let server = self.system.vms[vm].vcpus[vcpu].server.as_ref();
        server.expect("all VCPUs of small systems have servers").class.value
    }

    fn budget(&self, at: At) -> Budget {
        self.class(at).budget().expect("none is of the background")
    }
}
