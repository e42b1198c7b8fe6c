//! The methods, and what each decides.

use analysis::{Duration, Kind};
use planner::published::cache_aware_vm::cache_aware_vm;
use planner::{Evaluator, Setting, Test};
use serde::{Deserialize, Serialize};
use sweep::Error;

use super::drawn::Drawn;
use super::packing::{Fit, onto_pcpus, onto_vcpus};
use super::{periodic_resource, written};

/// Colours for CAVM, which needs at least one for each VCPU; execution times do not depend on them.
const COLORS: usize = 8;

/// A way to plan.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// The planner of this project.
    Planner,
    /// CARTS and RT-Xen: VCPUs are periodic resources (Shin and Lee, RTSS 2003), with the least
    /// budget for their tasks under fixed priorities; best fit decreasing for both levels.
    Carts,
    /// `CacheAwareVM` of vCache; VCPUs go to PCPUs by best fit decreasing.
    Cavm,
    /// First fit decreasing by utilisation for both levels, as in schedcat, with the exact response
    /// times of this project.
    FirstFit,
    /// The same with best fit.
    BestFit,
    /// The same with worst fit.
    WorstFit,
    /// A generic model for the CP-SAT solver of OR-tools.
    CpSat,
}

/// What a method decides.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// The VCPUs with tasks.
    pub vcpus: Vec<Vcpu>,
}

/// A VCPU of a plan.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Vcpu {
    /// Index of its VM.
    pub vm: usize,
    /// Indices of its tasks, ascending.
    pub tasks: Vec<usize>,
    /// Its budget in nanoseconds.
    pub budget_ns: u64,
    /// Its PCPU.
    pub pcpu: usize,
}

impl Peer {
    /// Returns the name, as in `experiment.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Carts => "carts",
            Self::Cavm => "cavm",
            Self::FirstFit => "first-fit",
            Self::BestFit => "best-fit",
            Self::WorstFit => "worst-fit",
            Self::CpSat => "cp-sat",
        }
    }

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
