//! The search from an old plan to a better one, or to one that holds, by few changed decisions.
//!
//! All plans that one change makes of the old one are judged, then all that one more change makes
//! of the best of these, and so on. Budget and period of a VCPU are one decision. A plan says
//! nothing of tasks: the VCPUs of tasks that are open are planned for the old budgets first.

mod moves;

use system::description::{Bandwidth, System};
use system::diagnostic::Errors;
use system::plan::{self, Budget, Plan};

use super::cost::{Scale, Values, is_better};
use super::decision::{self, Changed, Decision};
use super::old;
use super::pcpus::{At, all, given, vcpu};
use super::whole::judge::{Judge, Lateness, WHOLE};
use super::whole::longer::grown;
use super::whole::open::Open;
use super::whole::{Request, TO_PLAN, is_plan, search};
use super::{
    Missed, Objective, Options, Outcome, Refusal, attempt, budgets, cannot_plan, explain, margin,
    slack, verdict,
};

/// Most changes where no number is given.
const CHANGES: usize = 8;
/// Plans that are changed further.
const BEAM: usize = 3;
/// Thousandths by which each change has to be better, where no number of changes is given.
const WORTH: i128 = 10;

/// A plan that was improved.
#[derive(Clone, Debug)]
pub struct Improved {
    /// The outcome of the search.
    pub outcome: Outcome,
    /// The differences from the old plan.
    pub changes: Vec<Changed>,
}

/// A plan on the way.
#[derive(Clone)]
struct State {
    system: System,
    /// `None`: it holds.
    lateness: Option<Lateness>,
    cost: Vec<i128>,
}

/// Decides what is open as in an old plan, but for at most this number of decisions, so that the
/// plan holds and is better.
///
/// # Errors
///
/// The old plan is of another system, or no plan holds with so few changes. Nothing is changed
/// then.
pub fn complete_from(
    system: &mut System,
    old: &Plan,
    changes: Option<usize>,
    options: &Options<'_>,
) -> Result<Improved, Refusal> {
    let objective =
        options.objective.for_system(system).map_err(|it| Refusal::Input((*it).into()))?;
    let chosen = old::with_choices(system, old);
    old::is_of(&chosen, old).map_err(Refusal::Input)?;
    let grown = margin::with_margin(&chosen);
    options
        .searching(&grown, |rounds| {
            let start = start(&grown, old, &rounds.request)?;
            let effort = if rounds.more { u64::MAX } else { rounds.request.effort };
            let request = &Request { effort, ..rounds.request.with_plan(&start) };
            let walk = Walk::new(&grown, &start, objective, changes, request);
            let found = walk.run().map_err(|missed| missed_by(&grown, &start, &missed, changes))?;
            let changes = decision::changed(&grown, &start, &found);
            *system = margin::without_margin(found, system);
            Ok(changes)
        })
        .map(|(changes, outcome)| Improved { outcome, changes })
}

fn missed_by(system: &System, start: &System, missed: &Missed, changes: Option<usize>) -> Refusal {
    let mut mistake = explain::miss_from(system, start, missed);
    mistake.message = match changes {
        Some(1) => format!("with one change of the old plan {}", mistake.message),
        Some(number) => format!("with {number} changes of the old plan {}", mistake.message),
        None => format!("near the old plan {}", mistake.message),
    };
    Refusal::NoPlan(mistake.help("allow more `--changes`, or plan without `--from`").into())
}

/// Returns the description with the decisions of the old plan, complete.
fn start(system: &System, old: &Plan, request: &Request<'_>) -> Result<System, Refusal> {
    let decided = old::decided(system, old);
    let holds = |system: &System| verdict(system).is_some_and(|it| it.schedulable);
    // Tasks are where they are in a new plan, if that was what the old one was for.
    let quick = Request { effort: request.effort.min(TO_PLAN), ..*request };
    if let Ok(least) = attempt(system, &quick) {
        let with = |fresh: &System| old::with_colors(old::with_tasks_of(&decided, fresh), old);
        let first = with(&least);
        if decision::open(&first).is_empty() && holds(&first) {
            return Ok(first);
        }
        let second = with(&slack::most_slack(system, least, &quick).0);
        if decision::open(&second).is_empty() && holds(&second) {
            return Ok(second);
        }
    }
    if let Ok(found) = attempt(&decided, &Request { effort: 0, ..*request })
        && holds(&found)
    {
        return Ok(old::with_colors(found, old));
    }
    let part =
        Request { small: false, enough: 1, effort: request.effort.min(TO_PLAN) / 4, ..*request };
    let start = match search(&decided, &[], Vec::new(), &part) {
        Ok(found) => found,
        Err(Missed { best: Some(best), .. }) => *best,
        Err(_) => {
            let errors = plan::make(&decided).err().map(Errors::into_vec).unwrap_or_default();
            let reason = errors.first().map_or(String::new(), |it| format!(": {}", it.message));
            let message = format!("the old plan does not fit this description{reason}");
            return Err(Refusal::Input(cannot_plan(message).help("plan without `--from`").into()));
        }
    };
    Ok(old::with_colors(start, old))
}

pub(super) struct Walk<'a> {
    start: &'a System,
    decisions: Vec<Decision>,
    parts: Open,
    scale: Scale<'a>,
    judge: Judge<'a>,
    most: usize,
    worth: i128,
    request: &'a Request<'a>,
}

impl<'a> Walk<'a> {
    pub fn new(
        open: &'a System,
        start: &'a System,
        objective: Objective,
        changes: Option<usize>,
        request: &'a Request<'a>,
    ) -> Self {
        let parts = Open::of(open);
        let mut scale = Scale::new(open, objective, request);
        if let Objective::Weighted(weights) = objective {
            scale.unit = Some(scale.values(start, &weights));
        }
        Self {
            start,
            decisions: decision::open(open).into_iter().chain(decision::orders(open)).collect(),
            parts,
            scale,
            judge: Judge::new(request),
            most: changes.unwrap_or(CHANGES),
            worth: if changes.is_some() { 0 } else { WORTH },
            request,
        }
    }

    /// Returns it with other values that count as 1 where objectives have weights.
    pub fn with_unit(mut self, unit: Values) -> Self {
        self.scale.unit = Some(unit);
        self
    }

    /// Returns the best plan that was found and holds.
    pub fn run(&self) -> Result<System, Missed> {
        let start =
            self.state(self.start.clone(), None).ok_or(Missed { candidates: 0, best: None })?;
        let mut best = start.clone();
        let mut beam = vec![start];
        for _ in 0..self.most {
            let mut next: Vec<State> = Vec::new();
            for from in &beam {
                for system in self.moves(from) {
                    if self.judge.is_done() {
                        break;
                    }
                    if self.distance(&system) <= self.most
                        && let Some(state) = self.state(system, Some(&best))
                    {
                        next.push(state);
                    }
                }
            }
            next.sort_by(State::order);
            next.dedup_by(|one, other| one.system == other.system);
            next.truncate(BEAM);
            let Some(first) = next.first() else { break };
            let was_late = best.lateness.is_some();
            let is_better = match (&first.lateness, &best.lateness) {
                (Some(new), Some(old)) => new < old,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => is_better(&first.cost, &best.cost, self.worth),
            };
            if is_better {
                best = first.clone();
            }
            // Few changes that make it hold are enough.
            if was_late && best.lateness.is_none() || self.judge.is_done() {
                break;
            }
            beam = next;
        }
        match best.lateness {
            None => Ok(best.system),
            Some(_) => Err(Missed {
                candidates: self.request.candidates.get(),
                best: Some(Box::new(best.system)),
            }),
        }
    }

    /// Judges a plan; `None` if it is none, or certainly no better than another one.
    fn state(&self, mut system: System, than: Option<&State>) -> Option<State> {
        budgets::raise(&mut system, &self.parts.budgets);
        let judgement = self.judge.judge(&system)?;
        if !judgement.holds() {
            return Some(State { lateness: Some(judgement.lateness()), system, cost: Vec::new() });
        }
        if !is_plan(&system) {
            return None;
        }
        // The factor by which execution times can grow takes many judgements.
        let by_slack = matches!(self.scale.objective, Objective::MostSlack | Objective::Described);
        if let Some(than) =
            than.filter(|it| it.lateness.is_none() && by_slack && !self.parts.limits)
        {
            let slack = u64::try_from(-than.cost[0] - i128::from(WHOLE)).unwrap_or(0);
            let grows = |ppm: u64| Judge::new(self.request).holds(&grown(&system, ppm));
            if !grows(slack) {
                return None;
            }
            if !grows(slack + 1_000) {
                let mut cost = vec![than.cost[0]];
                cost.extend(self.scale.beside_slack(&system));
                return Some(State { lateness: None, system, cost });
            }
        }
        let cost = self.scale.cost(&system);
        Some(State { lateness: None, system, cost })
    }

    /// Returns the number of decisions that differ from the old plan.
    fn distance(&self, system: &System) -> usize {
        let differs = |it: &&Decision| it.value(self.start) != it.value(system);
        self.decisions.iter().filter(differs).count()
    }
}

impl State {
    /// States that hold come first, the best of them before the others.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let lateness = |it: &Self| it.lateness.map_or((0, 0), |it| (it.sum + 1, it.worst));
        lateness(self).cmp(&lateness(other)).then_with(|| self.cost.cmp(&other.cost))
    }
}

/// Returns the limit of memory accesses of a VM, or of one of its VCPUs.
pub(super) fn limit_mut(
    system: &mut System,
    vm: usize,
    vcpu: Option<usize>,
) -> Option<&mut Bandwidth> {
    let vm = &mut system.vms[vm];
    match vcpu {
        Some(vcpu) => vm.vcpus[vcpu].bandwidth.as_mut(),
        None => vm.bandwidth.as_mut(),
    }
}

fn budget(system: &System, at: At) -> Option<Budget> {
    vcpu(system, at).server.as_ref()?.class.value.budget()
}

/// Returns the time that a budget could have more, for what the others on its PCPU have.
pub(super) fn room(system: &System, at: At) -> u64 {
    let Some(own) = budget(system, at) else { return 0 };
    let here = all(system).into_iter().filter(|&it| given(system, it) == given(system, at));
    let used = here.filter_map(|it| Some(budget(system, it)?.share()));
    let used: u128 = used.fold(0, u128::saturating_add);
    let free = Budget::WHOLE.saturating_sub(used);
    let room = u128::from(own.period.0) * (free / 1_000_000) / (Budget::WHOLE / 1_000_000);
    u64::try_from(room).unwrap_or(u64::MAX).min(own.period.0 - own.budget.0.min(own.period.0))
}
