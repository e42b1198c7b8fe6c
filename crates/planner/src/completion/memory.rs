//! Limits of memory accesses, and the budgets of processor time that they need.
//!
//! Accesses of other VCPUs delay a task, so the larger their limits are, the larger the budget that
//! its VCPU needs. Limits are worth more than processor time that a VCPU could leave unused. So
//! open budgets are first made as large as fits, then the limits as large as deadlines allow, and
//! then the budgets as small as the limits allow.
//!
//! All open limits first get the same rate, the largest that is found. Then each limit, in the
//! order of the description, gets what is possible beyond that. A limit delays not only others: the
//! tasks of its own VCPU wait for it, so a larger limit is not always worse. Therefore rates are
//! tried from the largest down, in steps of a quarter, before the last step is searched.

use analysis::Duration;
use system::description::{Amount, Bandwidth, System};
use system::diagnostic::Errors;
use system::plan::{BandwidthCounter, Budget};
use verdict::{TaskVerdict, VcpuVerdict};

use super::least::least;
use super::pcpus::{At, in_time, judge, order};
use super::problem::grain;
use super::{Obstacle, can_be_planned, cannot_plan, set_class, verdict};

/// Steps between the least budget of a VCPU and its period, when budgets are made larger.
const STRETCH: u64 = 32;

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;

/// Returns true if memory accesses of others delay tasks.
pub(super) fn matters(system: &System) -> bool {
    let mut tasks = system.vms.iter().flat_map(|vm| &vm.tasks);
    system.counts_accesses() || tasks.any(|task| task.accesses.is_some())
}

/// Decides the open limits, and then these budgets again, which are sufficient without accesses of
/// others.
pub(super) fn limit(system: &mut System, budgets: &[At]) -> Result<(), Obstacle> {
    let mut wide = system.clone();
    stretch(&mut wide, budgets);
    if wide.limits_open() {
        let limits = Limits::of(&wide);
        let least = limits.least(&wide);
        can_be_planned(&least).map_err(Obstacle::Input)?;
        wide =
            limits.largest(&wide, &schedulable).ok_or_else(|| Obstacle::Memory(Box::new(least)))?;
    }
    if schedulable(&wide) {
        shrink(&mut wide, budgets);
    }
    *system = wide;
    Ok(())
}

fn schedulable(system: &System) -> bool {
    verdict(system).is_some_and(|verdict| verdict.schedulable)
}

/// Explains why even the least limits, those of `least`, are too large.
pub(super) fn explain(system: &System, least: &System) -> Errors {
    let place = system.limits().find(|limit| limit.is_open()).map(|limit| &limit.amount.place);
    let mut mistake = cannot_plan("no limit of memory accesses is low enough");
    if let Some(place) = place {
        mistake = mistake.at(place, "this one, with the others");
    }
    let Some(verdict) = verdict(least) else { return mistake.into() };
    let vcpus = verdict.pcpus.iter().flat_map(|pcpu| &pcpu.vcpus);
    let mut late = vcpus.flat_map(|vcpu| vcpu.tasks.iter().map(move |task| (vcpu, task)));
    let Some((vcpu, task)) = late.find(|(_, task)| !task.ok) else { return mistake.into() };
    mistake.message = format!(
        "no limit of memory accesses is low enough for task `{}` of VM `{}`: {}",
        task.task,
        vcpu.vm,
        lateness(task)
    );
    mistake.help(advice(system, vcpu, task)).into()
}

/// Describes how late a task is with the least limits.
fn lateness(task: &TaskVerdict) -> String {
    match task.wcrt_ns {
        Some(wcrt) => {
            let late = wcrt.saturating_sub(task.deadline_ns);
            format!("with one access in each period it is late by {}", Duration(late))
        }
        None => "with one access in each period there is no bound for it".into(),
    }
}

/// Proposes a change for a task that is late with the least limits.
fn advice(system: &System, vcpu: &VcpuVerdict, task: &TaskVerdict) -> String {
    let others = vcpu.unlimited_neighbours.iter().map(|vm| format!("`{vm}`"));
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        let they = if others.len() == 1 { "has" } else { "have" };
        return format!(
            "{} on other PCPUs {they} no limit: give `bandwidth = \"planned\"` there, too",
            others.join(", ")
        );
    }
    let tasks = || system.vms.iter().filter(|vm| vm.name.value == vcpu.vm).flat_map(|vm| &vm.tasks);
    let described = tasks().find(|it| it.name.value == task.task);
    match (task.wcrt_ns, described.is_some_and(|task| task.accesses.is_none())) {
        (_, true) => "say in `accesses` how many one of its jobs makes at most".into(),
        (Some(wcrt), _) => {
            let budget = vcpu.budget_ns.map_or("", |_| ", or with a larger budget of its VCPU");
            format!("it fits with a deadline of {}{budget}", Duration(wcrt))
        }
        (None, _) => "give its VCPU more processor time".into(),
    }
}

/// The owner of a limit: a VM, and one of its VCPUs or all of them.
type Owner = (usize, Option<usize>);

/// The limits that are open.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    owners: Vec<Owner>,
    /// The most accesses that each can have: more limit nothing, or cannot be counted.
    most: Vec<u64>,
    periods: Vec<Duration>,
}

impl Limits {
    /// Returns the limits of a description that are open.
    pub fn of(system: &System) -> Self {
        let owners = (0..system.vms.len()).flat_map(|vm| {
            let vcpus = (0..system.vms[vm].vcpus.len()).map(Some);
            std::iter::once(None).chain(vcpus).map(move |vcpu| (vm, vcpu))
        });
        let is_open = |&owner: &Owner| given(system, owner).is_some_and(Bandwidth::is_open);
        let owners: Vec<Owner> = owners.filter(is_open).collect();
        let period =
            |&owner: &Owner| given(system, owner).map_or(Duration(1), |limit| limit.period.value);
        let periods: Vec<Duration> = owners.iter().map(period).collect();
        let most = owners.iter().zip(&periods).map(|(owner, period)| most(system, *owner, *period));
        Self { most: most.collect(), periods, owners }
    }

    /// Returns the system with these numbers of accesses.
    fn with(&self, system: &System, accesses: &[u64]) -> System {
        let mut system = system.clone();
        for (&owner, &accesses) in self.owners.iter().zip(accesses) {
            if let Some(limit) = given_mut(&mut system, owner) {
                limit.amount.value = Amount::Accesses(accesses);
            }
        }
        system
    }

    /// One access in each period.
    fn least(&self, system: &System) -> System {
        self.with(system, &vec![1; self.owners.len()])
    }

    /// Returns the limits that allow this number of accesses in each second, as far as possible.
    fn at_rate(&self, rate: u64) -> Vec<u64> {
        let each = self.periods.iter().zip(&self.most).map(|(period, most)| {
            let accesses = u128::from(rate) * u128::from(period.0) / SECOND;
            u64::try_from(accesses).unwrap_or(u64::MAX).clamp(1, *most)
        });
        each.collect()
    }

    /// Returns the largest rate that limits something, in accesses of a second.
    fn highest(&self) -> Option<u64> {
        let rates = self.periods.iter().zip(&self.most).map(|(period, most)| {
            let rate = (u128::from(*most) * SECOND).div_ceil(u128::from(period.0.max(1)));
            u64::try_from(rate).unwrap_or(u64::MAX)
        });
        rates.max()
    }

    /// Returns common rates, each half of the one before, down to one access in each period.
    pub fn rates(&self) -> Vec<u64> {
        let mut rates: Vec<u64> = self.highest().into_iter().collect();
        while let Some(&last) = rates.last()
            && self.at_rate(last).iter().any(|accesses| *accesses > 1)
        {
            rates.push(last / 2);
        }
        rates
    }

    /// Returns the system with limits of this common rate, as far as possible.
    pub fn with_rate(&self, system: &System, rate: u64) -> System {
        self.with(system, &self.at_rate(rate))
    }

    /// Returns the accesses of each limit.
    pub fn accesses(&self, system: &System) -> Vec<u64> {
        let each = self.owners.iter().map(|&owner| match given(system, owner)?.amount.value {
            Amount::Accesses(accesses) => Some(accesses),
            _ => None,
        });
        each.map(|accesses| accesses.unwrap_or(1)).collect()
    }

    /// Returns the system with the limits of another one.
    pub fn of_other(&self, system: &System, other: &System) -> System {
        self.with(system, &self.accesses(other))
    }

    /// Returns the system with limits that are no more than they can be.
    pub fn capped(&self, system: &System) -> System {
        let accesses = self.accesses(system).into_iter().zip(&self.most);
        self.with(system, &accesses.map(|(it, most)| it.clamp(1, *most)).collect::<Vec<_>>())
    }

    /// Changes one of the limits by one of four factors.
    pub fn change(&self, system: &mut System, which: usize, how: usize) {
        const FACTORS: [(u64, u64); 4] = [(1, 2), (3, 4), (4, 3), (2, 1)];
        let mut accesses = self.accesses(system);
        let which = which % accesses.len().max(1);
        let (up, down) = FACTORS[how % FACTORS.len()];
        if let Some(it) = accesses.get_mut(which) {
            *it = (it.saturating_mul(up) / down).clamp(1, self.most[which]);
        }
        *system = self.with(system, &accesses);
    }

    /// Returns the system with the largest limits that are found; none if none are low enough.
    pub fn largest(&self, system: &System, fits: &dyn Fn(&System) -> bool) -> Option<System> {
        let ok = |rate: u64| fits(&self.with_rate(system, rate));
        let mut above = self.highest()?;
        let mut rate = above;
        let common = loop {
            if ok(rate) {
                break largest_between(rate, above, ok);
            }
            if self.at_rate(rate).iter().all(|accesses| *accesses == 1) {
                return None;
            }
            (above, rate) = (rate, rate - rate.div_ceil(4));
        };
        Some(self.grown(&self.with_rate(system, common), fits))
    }

    /// Returns the system, which fits, with each limit as large as possible, one after the other.
    pub fn grown(&self, system: &System, fits: &dyn Fn(&System) -> bool) -> System {
        self.grown_in(system, &(0..self.owners.len()).collect::<Vec<_>>(), fits)
    }

    /// The same, with those of one VM only.
    pub fn grown_first(
        &self,
        system: &System,
        vm: usize,
        fits: &dyn Fn(&System) -> bool,
    ) -> System {
        let own = (0..self.owners.len()).filter(|&index| self.owners[index].0 == vm);
        self.grown_in(system, &own.collect::<Vec<_>>(), fits)
    }

    /// Returns the system with this part of the limits of all other VMs.
    pub fn lower(&self, system: &System, vm: usize, part: u64) -> System {
        let accesses = self
            .accesses(system)
            .into_iter()
            .zip(&self.owners)
            .map(|(it, owner)| if owner.0 == vm { it } else { (it / part.max(1)).max(1) });
        self.with(system, &accesses.collect::<Vec<_>>())
    }

    /// Returns how much a VM is allowed: accesses of a second.
    pub fn of_vm(&self, system: &System, vm: usize) -> u128 {
        let all = self.accesses(system).into_iter().zip(&self.periods).zip(&self.owners);
        let own = all.filter(|(_, owner)| owner.0 == vm).map(|(it, _)| it);
        own.map(|(it, period)| u128::from(it) * SECOND / u128::from(period.0.max(1))).sum()
    }

    /// The same, in this order.
    fn grown_in(&self, system: &System, order: &[usize], fits: &dyn Fn(&System) -> bool) -> System {
        let mut accesses = self.accesses(system);
        for &index in order {
            let with = |count: u64| {
                let mut accesses = accesses.clone();
                accesses[index] = count;
                self.with(system, &accesses)
            };
            let more = largest_between(accesses[index], self.most[index].saturating_add(1), |it| {
                it <= self.most[index] && fits(&with(it))
            });
            accesses[index] = more;
        }
        self.with(system, &accesses)
    }

    /// Returns how much is allowed in all: accesses of a second.
    pub fn sum(&self, system: &System) -> u128 {
        let pairs = self.accesses(system).into_iter().zip(&self.periods);
        pairs.map(|(it, period)| u128::from(it) * SECOND / u128::from(period.0.max(1))).sum()
    }
}

/// A number that fits, unlike the one after it: between one that does and one that does not.
fn largest_between(yes: u64, no: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut yes, mut no) = (yes, no);
    while no.saturating_sub(yes) > 1 {
        let middle = yes + (no - yes) / 2;
        if fits(middle) { yes = middle } else { no = middle }
    }
    yes
}

fn given(system: &System, (vm, vcpu): Owner) -> Option<&Bandwidth> {
    let vm = &system.vms[vm];
    match vcpu {
        Some(vcpu) => vm.vcpus[vcpu].bandwidth.as_ref(),
        None => vm.bandwidth.as_ref(),
    }
}

fn given_mut(system: &mut System, (vm, vcpu): Owner) -> Option<&mut Bandwidth> {
    let vm = &mut system.vms[vm];
    match vcpu {
        Some(vcpu) => vm.vcpus[vcpu].bandwidth.as_mut(),
        None => vm.bandwidth.as_mut(),
    }
}

/// Returns the most accesses of a limit that is one: as many as the memory serves in a period, and
/// as its counter can wait for.
fn most(system: &System, (vm, vcpu): Owner, period: Duration) -> u64 {
    let Some(counter) = &system.platform.value.bandwidth else { return 1 };
    let served = counter.latency.map_or(u64::MAX, |latency| period.0 / latency.0.max(1));
    let credits = system.vms[vm].compensation.as_ref().filter(|_| vcpu.is_none());
    let factor = credits.map_or(1, |it| u64::from(it.value.periods)).max(1);
    served.min(BandwidthCounter::largest_budget(counter.bits) / factor).max(1)
}

/// Amounts that are tried where no other is enough for all.
const PARTS: u64 = 32;

/// Makes these budgets larger, those of a PCPU alike, as far as all on it still get theirs and no
/// more of its tasks are late.
pub(super) fn stretch(system: &mut System, open: &[At]) {
    for members in by_pcpu(system, open) {
        let first: Vec<Option<Budget>> = members.iter().map(|&at| budget(system, at)).collect();
        let with = |steps: u64| {
            let mut changed = system.clone();
            for (at, given) in members.iter().zip(&first) {
                let Some(given) = given.filter(|_| open.contains(at)) else { continue };
                let room = u128::from(given.period.0.saturating_sub(given.budget.0));
                let step = grain(system).0.0.max(1);
                let more = room * u128::from(steps) / u128::from(STRETCH) / u128::from(step);
                let budget = Duration(given.budget.0 + more as u64 * step);
                let budget = Budget { budget, ..given };
                set_class(&mut changed, *at, |class| class.with_budget(budget));
            }
            changed
        };
        // Each gets its budget, and its tasks are in time.
        let enough = |system: &System| {
            judge(system, &members).iter().flat_map(|it| [it.ok, in_time(it)]).collect::<Vec<_>>()
        };
        let before = enough(system);
        let fits = |steps: u64| {
            let changed = with(steps);
            let shares = members.iter().filter_map(|&at| Some(budget(&changed, at)?.share()));
            shares.fold(0u128, u128::saturating_add) <= Budget::WHOLE
                && enough(&changed).iter().zip(&before).all(|(after, before)| *after || !before)
        };
        let steps = largest_between(0, STRETCH + 1, |steps| steps <= STRETCH && fits(steps));
        // A little more for those above can be too much for one below, and much more for all enough.
        let holds = |steps: &u64| fits(*steps) && enough(&with(*steps)).iter().all(|it| *it);
        let all = match holds(&steps) {
            true => None,
            false => (1..=PARTS).rev().map(|part| STRETCH * part / PARTS).find(holds),
        };
        *system = with(all.unwrap_or(steps));
    }
}

/// Makes these budgets as small as deadlines allow, one after the other, those with the highest
/// priorities first.
fn shrink(system: &mut System, open: &[At]) {
    for members in by_pcpu(system, open) {
        for &at in members.iter().filter(|at| open.contains(at)) {
            let Some(given) = budget(system, at) else { continue };
            let step = grain(system).0.0.max(1);
            let most = given.budget.0.saturating_sub(Budget::SHORTEST.0) / step;
            let with = |steps: u64| {
                let budget = Duration(given.budget.0 - (most - steps) * step);
                let mut changed = system.clone();
                set_class(&mut changed, at, |class| class.with_budget(Budget { budget, ..given }));
                changed
            };
            if let Some(steps) = least(most, |steps| schedulable(&with(steps)), |_| true) {
                *system = with(steps);
            }
        }
    }
}

/// Returns the VCPUs of each PCPU that has some of these, the highest priority first.
fn by_pcpu(system: &System, open: &[At]) -> Vec<Vec<At>> {
    let pcpu = |&(vm, vcpu): &At| system.vms[vm].vcpus[vcpu].pcpu.as_ref().map(|it| it.value);
    let mut pcpus: Vec<u64> = open.iter().filter_map(pcpu).collect();
    pcpus.sort_unstable();
    pcpus.dedup();
    let all = (0..system.vms.len())
        .flat_map(|vm| (0..system.vms[vm].vcpus.len()).map(move |vcpu| (vm, vcpu)));
    let all: Vec<At> = all.filter(|&at| budget(system, at).is_some()).collect();
    let on = |wanted: u64| {
        let mut members: Vec<At> =
            all.iter().copied().filter(|at| pcpu(at) == Some(wanted)).collect();
        members.sort_by_key(|&at| order(system, at));
        members
    };
    pcpus.into_iter().map(on).collect()
}

fn budget(system: &System, (vm, vcpu): At) -> Option<Budget> {
    system.vms[vm].vcpus[vcpu].server.as_ref()?.class.value.budget()
}
