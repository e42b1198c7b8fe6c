//! Plans none of which is better than another one in everything: processor time against slack, and
//! against memory accesses where limits are open.

use system::description::System;

use super::cost::{Scale, Values};
use super::memory::Limits;
use super::nearby::Walk;
use super::objective::{Objective, Weights};
use super::rounds::Rounds;
use super::toward::toward;
use super::whole::improve;
use super::whole::judge::Judge;
use super::whole::longer::{grown, slack_of, with_times_of};
use super::whole::open::Open;
use super::whole::{Missed, Request, TO_IMPROVE, TO_PLAN, finish, is_plan};
use super::{Options, Outcome, Refusal, attempt, explain, margin, slack, verdict};
use crate::report::Report;

/// Steps between no slack and the most.
const STEPS: u64 = 8;
/// The same where limits are open, too.
const STEPS_WITH_LIMITS: u64 = 4;
/// Limits that are tried: the largest, and each a quarter of the one before.
const LIMITS: usize = 5;

/// Millionths of a PCPU, or of execution times, that make no difference.
const ALIKE: u64 = 5_000;

/// A plan of the front.
#[derive(Clone, Debug)]
pub struct Point {
    /// The complete description.
    pub system: System,
    /// Processor time of all VCPUs, in millionths of a PCPU: less is better.
    pub total_ppm: u64,
    /// The part by which all execution times can grow, in millionths: more is better.
    pub slack_ppm: u64,
    /// Memory accesses that open limits allow in a second, all or those of a VM: more is better.
    pub accesses: Option<u128>,
}

/// Returns plans that all hold, of which none is better than another one in everything, by
/// processor time. Accesses are those of `vm`, or of all open limits.
///
/// # Errors
///
/// There is no plan at all.
pub fn front(
    system: &System,
    vm: Option<usize>,
    options: &Options<'_>,
) -> Result<(Vec<Point>, Outcome), Refusal> {
    if let Some(vm) = vm {
        let objective = Objective::MostBandwidth(vm);
        objective.for_system(system).map_err(|it| Refusal::Input((*it).into()))?;
    }
    let grown = margin::with_margin(system);
    options.searching(&grown, |rounds| {
        let mut points = all(&grown, vm, rounds)?;
        for point in &mut points {
            let planned = std::mem::replace(&mut point.system, system.clone());
            point.system = margin::without_margin(planned, system);
        }
        Ok(points)
    })
}

/// Returns the points of all rounds.
fn all(system: &System, vm: Option<usize>, rounds: &Rounds<'_>) -> Result<Vec<Point>, Refusal> {
    let (open, first) = rounds.first(system, Objective::MostSlack)?;
    let rounds = rounds.with_plan(&first);
    let mut most = (open.clone(), first.clone());
    let mut least = most.clone();
    if system.vms.iter().any(|vm| vm.vcpus_open.is_some()) {
        // How many VCPUs there are depends on the objective.
        least = rounds.first(system, Objective::LeastTime)?;
    }
    let mut points = Vec::new();
    rounds.repeat(|request| {
        let mut front = Front::new(&open, vm, request, std::mem::take(&mut points));
        front.add(first.clone());
        for (objective, (open, end)) in
            [(Objective::LeastTime, &mut least), (Objective::MostSlack, &mut most)]
        {
            let mut scale = Scale::new(open, objective, request);
            *end = toward(open, end.clone(), &mut scale, request);
            front.add(end.clone());
        }
        front.pass(&first, &most.1);
        points = front.points;
        front.is_new
    });
    if points.is_empty() {
        let candidates = rounds.request.candidates.get();
        let missed = Missed { candidates, best: Some(Box::new(first)) };
        return Err(Refusal::NoPlan(explain::miss(&open, &missed).into()));
    }
    Ok(thinned(points))
}

/// Leaves out points that differ by next to nothing from another one; both ends stay.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    let last = points.len().saturating_sub(1);
    for (index, point) in points.into_iter().enumerate() {
        let is_alike = kept.last().is_some_and(|before| {
            point.total_ppm.abs_diff(before.total_ppm) <= ALIKE
                && point.slack_ppm.abs_diff(before.slack_ppm) <= ALIKE
                && point.accesses == before.accesses
        });
        if is_alike && index == last && kept.len() > 1 {
            kept.pop();
        }
        if !is_alike || index == last {
            kept.push(point);
        }
    }
    kept
}

struct Front<'a> {
    points: Vec<Point>,
    vm: Option<usize>,
    system: &'a System,
    limits: Option<Limits>,
    request: &'a Request<'a>,
    /// True if a plan was added.
    is_new: bool,
}

impl<'a> Front<'a> {
    fn new(
        system: &'a System,
        vm: Option<usize>,
        request: &'a Request<'a>,
        points: Vec<Point>,
    ) -> Self {
        let limits = Open::of(system).limits.then(|| Limits::of(system));
        Self { points, vm, system, limits, request, is_new: false }
    }

    /// Adds plans for all levels of slack, and of limits if these are open, from a plan and from
    /// the one with most slack.
    fn pass(&mut self, first: &System, most: &System) {
        let half = self.request.at_most(TO_PLAN) / 2;
        let Some(limits) = self.limits.clone() else {
            let part = Request { effort: half, ..*self.request };
            return self.levels(self.system, most, STEPS, &part);
        };
        let part = Request { effort: half / (1 + LIMITS as u64), ..*self.request };
        // The largest that hold are rarely among those with a common rate.
        let closed = limits.of_other(self.system, first);
        self.ends(&closed, first.clone(), &part);
        for rate in limits.rates().into_iter().step_by(2).take(LIMITS) {
            let closed = limits.with_rate(self.system, rate);
            if (part.stops)() {
                return;
            }
            if let Ok(other) = attempt(&closed, &part) {
                self.ends(&closed, other, &part);
            }
        }
    }

    /// Adds the plans with the least time and with the most slack, and those between; limits are
    /// closed.
    fn ends(&mut self, closed: &System, first: System, request: &Request<'_>) {
        let enough = Request { effort: request.at_most(TO_IMPROVE), ..*request };
        self.add(improve::least_time(closed, first.clone(), &enough));
        if !(request.stops)() {
            let (most, _) = slack::most_slack(closed, first, request);
            self.levels(closed, &most, STEPS_WITH_LIMITS, request);
            self.add(most);
        }
    }

    /// Adds plans with less and less slack than one that has the most; limits are closed.
    fn levels(&mut self, closed: &System, most: &System, steps: u64, request: &Request<'_>) {
        let slack = slack_of(most, request);
        let part = Request { effort: request.effort / (4 * steps), ..*request };
        let open = Open::of(closed);
        for step in (1..=steps).rev() {
            if (request.stops)() {
                return;
            }
            let target = slack / 1_000 * step / steps * 1_000;
            let longer = grown(closed, target);
            // The plan with most slack with smaller budgets, and another plan.
            let small = finish::shrink(&Judge::new(request), &open, grown(most, target));
            self.add(with_times_of(small, self.system));
            if let Ok(other) = attempt(&longer, &part) {
                let less = improve::least_time(&longer, other, &part);
                self.add(with_times_of(less, self.system));
            }
        }
    }

    /// Adds a plan, unless it does not hold or another one is better; those that are worse go.
    fn add(&mut self, plan: System) {
        let Some(verdict) = verdict(&plan).filter(|it| it.schedulable && is_plan(&plan)) else {
            return;
        };
        let accesses = self.limits.as_ref().map(|limits| match self.vm {
            Some(vm) => limits.of_vm(&plan, vm),
            None => limits.sum(&plan),
        });
        let point = Point {
            total_ppm: Report::new(&verdict, Some(&plan)).total_ppm,
            slack_ppm: slack_of(&plan, self.request),
            accesses,
            system: plan,
        };
        if self.points.iter().any(|other| other.is_as_good_as(&point)) {
            return;
        }
        self.points.retain(|other| !point.is_as_good_as(other));
        self.points.push(point);
        self.is_new = true;
        self.points.sort_by_key(|it| (it.total_ppm, it.slack_ppm, it.accesses));
    }
}

impl Point {
    /// Returns true if a plan is worse than this one in nothing.
    fn is_as_good_as(&self, other: &Self) -> bool {
        self.total_ppm <= other.total_ppm
            && self.slack_ppm >= other.slack_ppm
            && self.accesses >= other.accesses
    }
}

/// Returns the plan with the least mean of how many times worse it is than the best by each
/// objective, from this plan.
pub(super) fn weighted(
    system: &System,
    planned: System,
    weights: &Weights,
    scale: &mut Scale<'_>,
    request: &Request<'_>,
) -> System {
    let part = Request { effort: request.effort / 4, ..*request };
    let better = |objective| {
        let is_over = (request.stops)();
        let mut scale = Scale::new(system, objective, request);
        (!is_over).then(|| toward(system, planned.clone(), &mut scale, request))
    };
    let most = better(Objective::MostSlack);
    let mut plans: Vec<System> = most.iter().cloned().chain([planned.clone()]).collect();
    plans.extend(better(Objective::LeastTime));
    if weights.pcpus > 0 {
        plans.extend(better(Objective::FewestPcpus));
    }
    let vm = weights.bandwidth.map(|(vm, _)| vm);
    plans.extend(vm.and_then(|vm| better(Objective::MostBandwidth(vm))));
    if let Some(most) = most {
        let mut front = Front::new(system, vm, &part, Vec::new());
        front.pass(&planned, &most);
        plans.extend(front.points.into_iter().map(|point| point.system));
    }
    let unit = scale
        .unit
        .unwrap_or_else(|| Values::best(plans.iter().map(|it| scale.values(it, weights))));
    scale.unit = Some(unit);
    let least = plans.iter().min_by_key(|plan| scale.cost(plan)).cloned();
    let best = least.unwrap_or(planned);
    // From there in small steps.
    Walk::new(system, &best, scale.objective, None, &part).with_unit(unit).run().unwrap_or(best)
}
