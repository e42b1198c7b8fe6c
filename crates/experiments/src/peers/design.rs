//! The methods, and what each decides.

use analysis::{Duration, Kind};
use planner::published::cache_aware_vm::cache_aware_vm;
use planner::{Evaluator, Setting, Test};
use sweep::Error;

use super::drawn::Drawn;
use super::packing::{Fit, onto_pcpus, onto_vcpus};
use super::plan::{Plan, Vcpu};
use super::{periodic_resource, written};
use crate::experiment::Peer;

/// Colours for CAVM, which needs at least one for each VCPU; execution times do not depend on them.
const COLORS: usize = 8;

impl Peer {
    /// Returns the plan of this method; `None` if it finds none, and for the solver, which is
    /// another program.
    pub fn plan(self, drawn: &Drawn) -> Result<Option<Plan>, Error> {
        Ok(match self {
            Self::Planner => return written::planned(drawn),
            Self::Carts => carts(drawn),
            Self::Cavm => cavm(drawn)?,
            Self::FirstFit => partitioned(drawn, Fit::First)?,
            Self::BestFit => partitioned(drawn, Fit::Best)?,
            Self::WorstFit => partitioned(drawn, Fit::Worst)?,
            Self::CpSat => None,
        })
    }
}

fn carts(drawn: &Drawn) -> Option<Plan> {
    let least = |tasks: &[&planner::Task]| periodic_resource::least_budget(tasks, drawn.period);
    let mut vcpus = Vec::new();
    for (vm, tasks) in drawn.vms.iter().enumerate() {
        let fits = |on: &[&planner::Task]| least(on).is_some();
        for own in onto_vcpus(tasks, drawn.vcpus, Fit::Best, fits)? {
            let members: Vec<_> = own.iter().map(|&task| &tasks[task]).collect();
            vcpus.push(Vcpu { vm, budget_ns: least(&members)?.0, tasks: own, pcpu: 0 });
        }
    }
    onto_pcpus(drawn, vcpus, Fit::Best)
}

fn cavm(drawn: &Drawn) -> Result<Option<Plan>, Error> {
    let mut setting = Setting::new(COLORS, Duration(0))?;
    setting.kind = Kind::Periodic;
    let mut evaluator = Evaluator::new(setting);
    let mut vcpus = Vec::new();
    for (vm, tasks) in drawn.vms.iter().enumerate() {
        let (count, period) = (drawn.vcpus, drawn.period);
        let Some(found) = cache_aware_vm(&mut evaluator, tasks, count, COLORS, period) else {
            return Ok(None);
        };
        for vcpu in found {
            let Some(point) = vcpu.demand.point(1) else { return Ok(None) };
            let budget_ns = point.budget.0;
            vcpus.push(Vcpu { vm, budget_ns, tasks: vcpu.tasks, pcpu: 0 });
        }
    }
    Ok(onto_pcpus(drawn, vcpus, Fit::Best))
}

fn partitioned(drawn: &Drawn, fit: Fit) -> Result<Option<Plan>, Error> {
    let mut setting = Setting::new(1, Duration(0))?;
    (setting.kind, setting.test) = (Kind::Periodic, Test::Supply);
    let evaluator = std::cell::RefCell::new(Evaluator::new(setting));
    let least = |tasks: &[&planner::Task]| {
        let sets = vec![policy::color::ColorSet::first(1); tasks.len()];
        let bounds = [Duration(0), drawn.period];
        evaluator.borrow_mut().least_budget(tasks, &sets, drawn.period, bounds)
    };
    let mut vcpus = Vec::new();
    for (vm, tasks) in drawn.vms.iter().enumerate() {
        let fits = |on: &[&planner::Task]| least(on).is_some();
        let Some(spread) = onto_vcpus(tasks, drawn.vcpus, fit, fits) else { return Ok(None) };
        for own in spread {
            let members: Vec<_> = own.iter().map(|&task| &tasks[task]).collect();
            let Some(budget) = least(&members) else { return Ok(None) };
            vcpus.push(Vcpu { vm, budget_ns: budget.0, tasks: own, pcpu: 0 });
        }
    }
    Ok(onto_pcpus(drawn, vcpus, fit))
}
