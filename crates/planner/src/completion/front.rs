//! Plans none of which is better than another one in everything: processor time against slack, and
//! against memory accesses where limits are open.

use system::description::System;

use super::cost::{Scale, Values};
use super::memory::Limits;
use super::nearby::Walk;
use super::objective::{Objective, Weights};
use super::whole::improve::{self, grown, pcpus, slack_of, with_times_of};
use super::whole::judge::Judge;
use super::whole::open::Open;
use super::whole::{Missed, Request, TO_IMPROVE, TO_PLAN, finish, is_plan};
use super::{Options, Outcome, Refusal, attempt, explain, margin, slack};

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
    /// By how much all execution times can grow, in millionths: more is better.
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
    options.searching(&grown, |request| {
        let mut points = points(&grown, vm, request)?;
        for point in &mut points {
            let planned = std::mem::replace(&mut point.system, system.clone());
            point.system = margin::without_margin(planned, system);
        }
        Ok(points)
    })
}

fn points(
    system: &System,
    vm: Option<usize>,
    request: &Request<'_>,
) -> Result<Vec<Point>, Refusal> {
    let (system, first) = super::first(system, Objective::MostSlack, request)?;
    let system = &system;
    let limits = Open::of(system).limits.then(|| Limits::of(system));
    // Each level searches for itself.
    let levels = if limits.is_some() { 1 + LIMITS as u64 } else { 1 };
    let mut points = Vec::new();
    // With time for it, again and again with other random numbers, and longer.
    for round in 0..u64::MAX {
        let effort = (request.effort.min(TO_PLAN) / (2 * levels)) << round.min(6);
        let part = Request { effort, seed: request.seed.wrapping_add(round), ..*request };
        let mut front = Front { points, vm, system, request: &part };
        front.pass(limits.as_ref(), &first);
        points = front.points;
        if request.effort != u64::MAX || (request.stops)() {
            break;
        }
    }
    if points.is_empty() {
        let candidates = request.candidates.get();
        let missed = Missed { candidates, best: Some(Box::new(first)) };
        return Err(Refusal::NoPlan(explain::miss(system, &missed).into()));
    }
    Ok(thinned(points))
}

/// Leaves out points that differ from the one before by next to nothing.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        let is_new = kept.last().is_none_or(|last| {
            point.total_ppm.abs_diff(last.total_ppm) > ALIKE
                || point.slack_ppm.abs_diff(last.slack_ppm) > ALIKE
                || point.accesses != last.accesses
        });
        if is_new {
            kept.push(point);
        }
    }
    kept
}

struct Front<'a> {
    points: Vec<Point>,
    vm: Option<usize>,
    system: &'a System,
    request: &'a Request<'a>,
}

impl Front<'_> {
    /// Adds plans for all levels of slack, and of limits if these are open.
    fn pass(&mut self, limits: Option<&Limits>, first: &System) {
        self.add(first.clone());
        let Some(limits) = limits else {
            return self.level(self.system, first.clone(), STEPS);
        };
        // The largest that hold are rarely among those with a common rate.
        let closed = limits.of_other(self.system, first);
        self.level(&closed, first.clone(), STEPS_WITH_LIMITS);
        for rate in limits.rates().into_iter().step_by(2).take(LIMITS) {
            let closed = limits.with_rate(self.system, rate);
            if (self.request.stops)() {
                return;
            }
            if let Ok(other) = attempt(&closed, self.request) {
                self.level(&closed, other, STEPS_WITH_LIMITS);
            }
        }
    }

    /// Adds plans with more and more slack; limits are closed.
    fn level(&mut self, closed: &System, first: System, steps: u64) {
        let stops = self.request.stops;
        let part = Request { effort: self.request.effort / (4 * steps), ..*self.request };
        let enough = Request { effort: TO_IMPROVE, ..part };
        self.add(improve::least_time(closed, first.clone(), &enough));
        if stops() {
            return;
        }
        let (most, slack) = slack::most_slack(closed, first, self.request);
        self.add(most.clone());
        let open = Open::of(closed);
        for step in (1..=steps).rev() {
            if stops() {
                return;
            }
            let target = slack / 1_000 * step / steps * 1_000;
            let longer = grown(closed, target);
            // The plan with most slack with smaller budgets, and another plan.
            let small = finish::shrink(&Judge::new(self.request), &open, grown(&most, target));
            self.add(with_times_of(small, self.system));
            if let Ok(other) = attempt(&longer, &part) {
                let less = improve::least_time(&longer, other, &part);
                self.add(with_times_of(less, self.system));
            }
        }
    }

    /// Adds a plan, unless it does not hold or another one is better; those that are worse go.
    fn add(&mut self, plan: System) {
        if !is_plan(&plan) || !Judge::new(self.request).holds(&plan) {
            return;
        }
        let limits = Open::of(self.system).limits.then(|| Limits::of(self.system));
        let accesses = limits.map(|limits| match self.vm {
            Some(vm) => limits.of_vm(&plan, vm),
            None => limits.sum(&plan),
        });
        let point = Point {
            total_ppm: finish::share(&plan),
            slack_ppm: slack_of(&plan, self.request),
            accesses,
            system: plan,
        };
        if self.points.iter().any(|other| other.is_as_good_as(&point)) {
            return;
        }
        self.points.retain(|other| !point.is_as_good_as(other));
        self.points.push(point);
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

/// Returns the plan with the least mean of what it is worse than the best in each objective.
pub(super) fn weighted(
    system: &System,
    planned: System,
    weights: &Weights,
    request: &Request<'_>,
) -> System {
    let limits = Open::of(system).limits.then(|| Limits::of(system));
    let objective = Objective::Weighted(*weights);
    let unit = Values { share: 1, pcpus: 1, accesses: 1, slack: 0 };
    let mut scale = Scale { objective, limits, request, unit };
    let part = Request { effort: request.effort / 4, ..*request };
    let mut plans = vec![planned.clone()];
    if weights.pcpus > 0 && !(request.stops)() {
        plans.push(improve::fewest_pcpus(system, planned.clone(), &part));
    }
    if let Some((vm, _)) = weights.bandwidth
        && !(request.stops)()
    {
        plans.push(improve::most_bandwidth(system, planned, vm, &part));
    }
    let vm = weights.bandwidth.map(|(vm, _)| vm);
    let points = points(system, vm, &part).unwrap_or_default();
    plans.extend(points.into_iter().map(|point| point.system));
    let all: Vec<Values> = plans.iter().map(|plan| scale.values(plan, weights)).collect();
    scale.unit = Values {
        share: all.iter().map(|it| it.share).min().unwrap_or(1),
        slack: all.iter().map(|it| it.slack).max().unwrap_or(0),
        pcpus: plans.iter().map(|it| pcpus(it) as u64).min().unwrap_or(1),
        accesses: all.iter().map(|it| it.accesses).max().unwrap_or(1),
    };
    let least = plans.iter().min_by_key(|plan| scale.cost(plan)).cloned();
    let Some(best) = least else { return system.clone() };
    // From there in small steps.
    Walk::new(system, &best, objective, None, &part).with_unit(scale.unit).run().unwrap_or(best)
}
