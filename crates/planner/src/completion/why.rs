//! The reasons for the decisions of a plan: for each decision the effect of another one, which was tried and
//! judged.

use std::cell::Cell;

use analysis::Duration;
use policy::server::kind::Kind;
use serde::Serialize;
use system::description::{Amount, Located, System};
use system::plan::{Budget, Class, Locks};
use verdict::{ChainVerdict, Verdict};

use super::change::exact;
use super::decision::{self, Decision, limit};
use super::least::least;
use super::nearby::{limit_mut, room};
use super::pcpus::{At, all, given, vcpu};
use super::percent::{exactly, tenths, tenths_up};
use super::priorities;
use super::problem::grain;
use super::whole::judge::Judge;
use super::whole::longer::slack_of;
use super::whole::open::Open;
use super::whole::{Request, finish};
use super::{margin, numbers, set_class, verdict};

/// The reason for a decision.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Reason {
    /// The decision: ``the budget of VCPU 0 of `linux` ``.
    pub decision: String,
    /// The decided value: `4.36 ms in 5 ms`.
    pub value: String,
    /// The other values that were tried.
    pub trials: Vec<Trial>,
}

/// Another decision, with all others as they are.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Trial {
    /// The other decision: `with 2 us less`.
    pub tried: String,
    /// The effect of the other decision: ``task `slow` of `control` is late by 392 ns``.
    pub effect: String,
    /// True if all deadlines are still met.
    pub holds: bool,
}

/// `with 2 us less task `slow` of `control` is late by 392 ns`.
impl std::fmt::Display for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.tried, self.effect)
    }
}

/// Returns the reasons for all decisions that were open, in the order of the description; none if
/// the plan does not hold. What is tried is judged with the margin of the description.
pub fn reasons(open: &System, planned: &System) -> Vec<Reason> {
    let choices = decision::choices(open, &numbers::with_those_of(open, planned));
    let open = &numbers::as_planned(open, planned);
    let planned = margin::with_margin(planned);
    let candidates = Cell::new(0);
    let request = Request::new(u64::MAX, &candidates, &|| false).with_plan(&planned);
    let judge = Judge::new(&request);
    let slack = slack_of(&planned, &request);
    let why = Why { open, planned: &planned, judge, request: &request, slack };
    if !why.judge.holds(&planned) {
        return Vec::new();
    }
    let reason = |decision: Decision| Reason {
        decision: decision.words(open),
        value: decision.value(&planned),
        trials: why.trials(decision),
    };
    // The order of periods needs no reason.
    let is_other = |it: &Decision| {
        matches!(it, Decision::Order(pcpu)
        if !priorities::decided_on(&planned, &Open::of(open), *pcpu).is_empty())
    };
    let orders = decision::orders(open).into_iter().filter(is_other);
    choices.into_iter().chain(decision::open(open)).chain(orders).map(reason).collect()
}

struct Why<'a> {
    open: &'a System,
    planned: &'a System,
    judge: Judge<'a>,
    request: &'a Request<'a>,
    /// The part by which all execution times can grow, in millionths.
    slack: u64,
}

impl Why<'_> {
    fn trials(&self, decision: Decision) -> Vec<Trial> {
        match decision {
            Decision::Server(at) => self.server(at),
            Decision::Pcpu(at) => self.pcpus(at),
            Decision::Order(pcpu) => self.order(pcpu),
            Decision::Task(at) => self.tasks(at),
            Decision::Colors(vm) => self.colors(vm),
            Decision::Limit(vm, vcpu) => self.limit(vm, vcpu),
            // Another number is another description.
            Decision::Number(_) => Vec::new(),
            Decision::Kind(at) => self.kinds(at),
            Decision::Overrun(at) => self.overrun(at),
            Decision::Locks => self.locks(),
        }
    }

    fn kinds(&self, at: At) -> Vec<Trial> {
        let class = |system: &System| vcpu(system, at).server.as_ref().map(|it| it.class.value);
        let Some(Class::Reserved(now, budget)) = class(self.planned) else { return Vec::new() };
        let others = Kind::ALL.into_iter().filter(|kind| *kind != now);
        let trial = |kind: Kind| {
            let mut system = self.planned.clone();
            set_class(&mut system, at, |_| Class::Reserved(kind, budget));
            self.trial(format!("with a {} server", kind.name()), &system)
        };
        others.map(trial).collect()
    }

    fn overrun(&self, (vm, index): At) -> Vec<Trial> {
        let mut system = self.planned.clone();
        let place = system.vms[vm].name.place.clone();
        let Some(server) = system.vms[vm].vcpus[index].server.as_mut() else { return Vec::new() };
        let without = server.overrun.is_some();
        server.overrun = (!without).then_some(place);
        vec![self.trial(if without { "without" } else { "with overrun" }.into(), &system)]
    }

    fn locks(&self) -> Vec<Trial> {
        let others = Locks::ALL.into_iter().filter(|it| *it != self.planned.locks);
        let trial = |locks: Locks| {
            let system = System { locks, ..self.planned.clone() };
            self.trial(format!("with `{}`", locks.as_str()), &system)
        };
        others.map(trial).collect()
    }

    /// Judges the system with another decision.
    fn trial(&self, tried: String, system: &System) -> Trial {
        if let Some((pcpu, share)) = overfull(system) {
            let effect = format!("PCPU {pcpu} would have to give {share} of its time");
            return Trial { tried, effect, holds: false };
        }
        match verdict(system) {
            None => Trial { tried, effect: "there is no such plan".into(), holds: false },
            Some(verdict) if verdict.schedulable => {
                Trial { tried, effect: self.still(system), holds: true }
            }
            Some(verdict) => Trial { tried, effect: missed(&verdict), holds: false },
        }
    }

    /// Returns the effect if all deadlines are still met.
    fn still(&self, system: &System) -> String {
        let slack = slack_of(system, self.request);
        let met = "all deadlines are still met";
        match slack == self.slack {
            true => met.into(),
            false => {
                let grow = format!("{met}, and execution times can grow by");
                match (tenths(slack), tenths(self.slack)) {
                    (now, before) if now != before => format!("{grow} {now} instead of {before}"),
                    _ => format!("{grow} {} instead of {}", exactly(slack), exactly(self.slack)),
                }
            }
        }
    }

    fn server(&self, at: At) -> Vec<Trial> {
        let Some(now) = budget(self.planned, at) else { return Vec::new() };
        let mut trials = Vec::new();
        let step = grain(self.planned).0.0.max(1);
        let with = |budget: u64| {
            let mut system = self.planned.clone();
            let budget = Duration(budget);
            set_class(&mut system, at, |class| class.with_budget(Budget { budget, ..now }));
            system
        };
        // The least budget with which all deadlines are met.
        let most = now.budget.0.saturating_sub(Budget::SHORTEST.0) / step;
        let budget_of = |steps: u64| now.budget.0 - (most - steps) * step;
        let enough = match self.judge.holds(&with(budget_of(0))) {
            true => 0,
            false => least(most, |steps| self.judge.holds(&with(budget_of(steps))), |_| true)
                .unwrap_or(most),
        };
        let less = |steps: u64| with(budget_of(steps.saturating_sub(1)));
        let step_less = format!("with {} less", exact(Duration(step)));
        match (enough == most, enough) {
            (_, 0) if most == 0 => {}
            (true, _) => trials.push(self.trial(step_less, &less(enough))),
            (false, 0) => {
                let least = exact(Duration(budget_of(0)));
                trials.push(
                    self.trial(
                        format!("with {least}, the least that there is"),
                        &with(budget_of(0)),
                    ),
                );
            }
            (false, _) => {
                let enough_budget = exact(Duration(budget_of(enough)));
                trials.push(self.trial(format!("with {enough_budget}"), &with(budget_of(enough))));
                let below = exact(Duration(budget_of(enough) - step));
                trials.push(self.trial(format!("with {below}"), &less(enough)));
            }
        }
        let more = now.budget.0 + step;
        if more <= now.period.0 && room(self.planned, at) < step {
            trials.push(self.trial(format!("with {} more", exact(Duration(step))), &with(more)));
        }
        if vcpu(self.open, at).server.as_ref().is_some_and(|server| server.period_open) {
            trials.extend(self.periods(at, now, budget_of(enough)));
        }
        trials
    }

    /// Half and twice the period, with the least budget that is enough then.
    fn periods(&self, at: At, now: Budget, enough: u64) -> Vec<Trial> {
        let share = |budget: u64, period: u64| {
            let ppm = (u128::from(budget) * 1_000_000).div_ceil(u128::from(period.max(1)));
            tenths_up(u64::try_from(ppm).unwrap_or(u64::MAX))
        };
        let needed = share(enough, now.period.0);
        let other = [now.period.0 / 2, now.period.0.saturating_mul(2)];
        let other = other.map(|period| super::periods::whole(self.planned, period));
        let fits = |period: &Duration| {
            (Budget::SHORTEST..=Budget::LONGEST_PERIOD).contains(period) && *period != now.period
        };
        let tried = other.into_iter().filter(fits).map(|period| {
            let grain = grain(self.planned).0.0.max(1);
            let with = |share_of: u64| {
                let scaled =
                    u128::from(share_of) * u128::from(period.0) / u128::from(now.period.0.max(1));
                let scaled = (scaled as u64).next_multiple_of(grain);
                let budget = Duration(scaled.max(Budget::SHORTEST.0)).min(period);
                let mut system = self.planned.clone();
                set_class(&mut system, at, |class| class.with_budget(Budget { budget, period }));
                system
            };
            let words = format!("with a period of {}", exact(period));
            let most = now.budget.0 + room(self.planned, at);
            let tried = (4..=8).map(|part| enough.max(1) / 4 * part).filter(|it| *it < most);
            let tried = tried.chain([now.budget.0, most]);
            let Some(found) = tried.map(with).find(|system| self.judge.holds(system)) else {
                return self.trial(format!("{words} and the same share"), &with(now.budget.0));
            };
            let only = Open { budgets: vec![at], ..Open::default() };
            let small = finish::shrink(&self.judge, &only, found);
            let least = self::budget(&small, at).map_or(0, |it| it.budget.0);
            let needs = share(least, period.0);
            let effect = format!("it needs {needs} of a PCPU instead of {needed}");
            Trial { tried: words, effect, holds: true }
        });
        tried.collect()
    }

    fn pcpus(&self, at: At) -> Vec<Trial> {
        let own = vcpu(self.planned, at).server.is_none();
        let count = self.planned.platform.value.cpus.len();
        let others = (0..count).filter(|pcpu| given(self.planned, at) != Some(*pcpu));
        let tried = others.map(|pcpu| {
            let words = format!("on PCPU {pcpu}");
            let here =
                all(self.planned).into_iter().filter(|&it| given(self.planned, it) == Some(pcpu));
            let here: Vec<At> = here.collect();
            let alone = here.iter().find(|&&it| vcpu(self.planned, it).server.is_none());
            let needs_all = here.first().filter(|_| own);
            if let Some(&other) = alone.or(needs_all) {
                let other = name(self.planned, other);
                let effect = match own {
                    true => format!("that PCPU is not free, because {other} is there"),
                    false => format!("{other} has that PCPU for itself"),
                };
                return Trial { tried: words, effect, holds: false };
            }
            let mut system = self.planned.clone();
            let place = system.vms[at.0].name.place.clone();
            // The orders of both PCPUs would be decided again.
            for pcpu in given(self.planned, at).into_iter().chain([pcpu]) {
                priorities::clear_pcpu(&mut system, &Open::of(self.open), pcpu);
            }
            system.vms[at.0].vcpus[at.1].pcpu = Some(Located::new(pcpu as u64, &place));
            self.trial(words, &system)
        });
        tried.collect()
    }

    fn order(&self, pcpu: usize) -> Vec<Trial> {
        let mut system = self.planned.clone();
        priorities::clear_pcpu(&mut system, &Open::of(self.open), pcpu);
        vec![self.trial("by period".into(), &system)]
    }

    fn tasks(&self, (vm, task): At) -> Vec<Trial> {
        let here = self.planned.vms[vm].tasks[task].vcpu;
        let others = (0..self.planned.vms[vm].vcpus.len()).filter(|vcpu| *vcpu != here);
        let tried = others.map(|vcpu| {
            let mut system = self.planned.clone();
            system.vms[vm].tasks[task].vcpu = vcpu;
            self.trial(format!("on VCPU {vcpu}"), &system)
        });
        tried.collect()
    }

    fn colors(&self, vm: usize) -> Vec<Trial> {
        let Some(colors) = &self.planned.vms[vm].colors else { return Vec::new() };
        let last = |set: policy::color::ColorSet| {
            let all: Vec<_> = set.iter().collect();
            let (_, rest) = all.split_last()?;
            (!rest.is_empty()).then(|| rest.iter().copied().collect::<policy::color::ColorSet>())
        };
        let tasks = &self.planned.vms[vm].tasks;
        if tasks.iter().all(|task| task.colors.is_none()) {
            let Some(fewer) = last(colors.value) else { return Vec::new() };
            let mut system = self.planned.clone();
            system.vms[vm].colors.iter_mut().for_each(|it| it.value = fewer);
            // A virtual cache cannot have every number of them.
            system.vms[vm].vllc = false;
            return vec![self.trial("with one colour less".into(), &system)];
        }
        let own = tasks.iter().enumerate().filter_map(|(index, task)| {
            let fewer = last(task.colors.as_ref()?.value)?;
            let mut system = self.planned.clone();
            system.vms[vm].tasks[index].colors.iter_mut().for_each(|it| it.value = fewer);
            Some(
                self.trial(format!("with one colour less for task `{}`", task.name.value), &system),
            )
        });
        own.collect()
    }

    fn limit(&self, vm: usize, vcpu: Option<usize>) -> Vec<Trial> {
        let accesses = limit(self.planned, vm, vcpu).map(|it| it.amount.value);
        let Some(Amount::Accesses(now)) = accesses else { return Vec::new() };
        let with = |accesses: u64| {
            let mut system = self.planned.clone();
            if let Some(limit) = limit_mut(&mut system, vm, vcpu) {
                limit.amount.value = Amount::Accesses(accesses);
            }
            system
        };
        let mut trials =
            vec![self.trial("with one access more".into(), &with(now.saturating_add(1)))];
        if trials[0].holds {
            // Doubled until a task is late, and then as far as that.
            let mut no = now.saturating_mul(2);
            while no < now.saturating_mul(1 << 12) && self.judge.holds(&with(no)) {
                no = no.saturating_mul(2);
            }
            let steps = least(no - now, |steps| !self.judge.holds(&with(now + steps)), |_| true);
            match steps {
                Some(steps) => {
                    let most = now + steps - 1;
                    trials = vec![
                        self.trial(format!("with {most} accesses"), &with(most)),
                        self.trial(format!("with {}", most + 1), &with(most + 1)),
                    ];
                }
                None => trials = vec![self.trial(format!("with {no} accesses"), &with(no))],
            }
        }
        trials
    }
}

fn budget(system: &System, at: At) -> Option<Budget> {
    vcpu(system, at).server.as_ref()?.class.value.budget()
}

/// Returns a PCPU whose VCPUs have more than all of its time, and the share that they have.
fn overfull(system: &System) -> Option<(usize, String)> {
    (0..system.platform.value.cpus.len()).find_map(|pcpu| {
        let here = all(system).into_iter().filter(|&at| given(system, at) == Some(pcpu));
        let shares = here.filter_map(|at| Some(budget(system, at)?.share()));
        let sum = shares.fold(0, u128::saturating_add);
        let ppm = u64::try_from(sum.div_ceil(Budget::WHOLE / 1_000_000)).unwrap_or(u64::MAX);
        (sum > Budget::WHOLE).then(|| (pcpu, tenths_up(ppm)))
    })
}

fn name(system: &System, (vm, vcpu): At) -> String {
    format!("VCPU {vcpu} of `{}`", system.vms[vm].name.value)
}

/// Says what a verdict is about: a VCPU that does not get its budget, or the task that is latest
/// for its deadline, or a chain that is late.
fn missed(verdict: &Verdict) -> String {
    let late = verdict.tasks().filter(|(_, task)| !task.ok);
    let over = |wcrt: Option<u64>, deadline: u64| {
        wcrt.map_or(u128::MAX, |wcrt| u128::from(wcrt) * 100_000 / u128::from(deadline.max(1)))
    };
    let latest = late.max_by_key(|(_, task)| over(task.wcrt_ns, task.deadline_ns));
    let unserved = verdict
        .pcpus
        .iter()
        .find_map(|pcpu| pcpu.vcpus.iter().find(|vcpu| !vcpu.ok).map(|vcpu| (pcpu.pcpu, vcpu)));
    // Where others leave a VCPU without tasks too little, that may be as in the plan.
    let unserved = unserved.filter(|(_, vcpu)| latest.is_none() || !vcpu.tasks.is_empty());
    match (unserved, latest) {
        (Some((pcpu, vcpu)), _) => {
            format!("VCPU {} of `{}` does not get its budget on PCPU {pcpu}", vcpu.vcpu, vcpu.vm)
        }
        (None, Some((vcpu, task))) => match task.wcrt_ns {
            Some(wcrt) => {
                let late = exact(Duration(wcrt.saturating_sub(task.deadline_ns)));
                format!("task `{}` of `{}` is late by {late}", task.task, vcpu.vm)
            }
            None => {
                let why = vcpu.why_no_bound(task);
                format!("task `{}` of `{}` has no bound: {why}", task.task, vcpu.vm)
            }
        },
        (None, None) => {
            let late = verdict.latest_chain().and_then(ChainVerdict::why);
            late.unwrap_or_else(|| "not all deadlines are met".into())
        }
    }
}
