//! Decides the open parts of a description: budgets, periods and kinds of VCPUs and their numbers,
//! the VCPUs of tasks, colours, PCPUs.
//!
//! - A VCPU with a `server` and a `period`, but no `budget`, gets the least budget with which
//!   its tasks meet their deadlines; a hundredth of the period if it has none.
//! - One without `period`, too, gets a period with which its VM needs little.
//! - Tasks without `vcpu` go to VCPUs such that all VCPUs together need little.
//! - VMs with `colors = "planned"` get colours that no one else has. With `vllc` the tasks of
//!   such a VM get colours of their own; otherwise all have all that the VM has. VMs without
//!   tasks share what is left.
//! - VMs and VCPUs with `bandwidth = "planned"` get the largest limits of memory accesses with
//!   which all tasks are in time.
//! - VCPUs with a server, but no `pcpu`, go to PCPUs where all get their budgets, and all tasks
//!   that can be are in time.
//!
//! - Kinds of servers, overrun and the protocol of locks are decided such that all of this holds and
//!   budgets are small; likewise the number of VCPUs of a VM.
//!
//! This is decided step by step at first. Where the steps lead to no plan, or to one with late
//! tasks, one search decides everything together, with the analysis as its only judge.
//!
//! VCPUs of a PCPU without priorities have the order of their periods; another one is looked for where
//! that leads to no plan.
//!
//! With a margin all of this is decided for longer execution times and more accesses.
//!
//! Given parts are kept. VMs of which nothing is open are not looked at before that: the analysis
//! says whether their tasks meet their deadlines, as for all others in the end.

pub mod advice;
mod apart;
mod budgets;
mod change;
mod coarse;
mod colors;
mod cost;
mod decision;
mod explain;
mod front;
mod harder;
mod least;
mod margin;
mod memory;
mod nearby;
mod need;
mod numbers;
mod objective;
mod old;
mod overheads;
mod part;
mod pcpus;
mod percent;
mod periods;
mod priorities;
mod problem;
mod rounds;
mod section;
mod slack;
mod stages;
mod together;
mod toward;
mod whole;
mod why;

use std::cell::{Cell, RefCell};

use system::description::{System, Vm};
use system::diagnostic::{Diagnostic, Errors};
use system::plan::{self, Class};
use verdict::Verdict;

use crate::Setting;
use advice::trials::Help;
pub use decision::Changed;
pub use front::{Point, front};
pub use nearby::{Improved, complete_from};
pub use objective::{Objective, Weights};
use serde::Serialize;
use stages::staged;
use whole::certificate::{Certificate, certificate};
use whole::{Missed, Request, kinds, longer};
pub use why::{Reason, Trial, reasons};

/// The reason why a description was not completed.
#[derive(Debug)]
pub enum Refusal {
    /// The description asks for something that cannot be planned.
    Input(Errors),
    /// No plan was found; the messages name the obstacle, and the smallest change that was
    /// found to help.
    NoPlan(Errors),
}

/// Most tasks of a system that is also planned with longer execution times, and of which single
/// decisions are tried for the least time.
const HEAVIER_MAX: usize = 100;
/// Parts by which these execution times are longer, in millionths.
const HEAVIER: [u64; 3] = [100_000, 300_000, 1_000_000];

/// The obstacle at which planning ended.
enum Obstacle {
    /// Planning did not begin, because of mistakes.
    Input(Errors),
    /// No decisions make a plan that holds.
    Certain(Certificate),
    /// There are no budgets, VCPUs of tasks and colours with which all tasks are in time.
    Tasks,
    /// A task is late whatever the limits of memory accesses are.
    Memory(Box<System>),
    /// A task is late because of the overheads of VCPUs that share PCPUs.
    Overheads(Box<System>),
    /// VCPUs do not fit onto PCPUs: their needs, and the number of PCPUs for them.
    Pcpus(Box<pcpus::Crowd>),
    /// No candidate of the search holds.
    Missed(Missed),
}

/// Options of the search for a plan.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The objective of the plan.
    pub objective: Objective,
    /// The seed of random numbers: the same one leads to the same plan.
    pub seed: u64,
    /// Time for which the search goes on with the best plan so far, after the fixed number of candidates that it
    /// tries without this.
    pub time: Option<std::time::Duration>,
    /// Called after each candidate with the number of candidates so far; true ends the search with
    /// the best plan so far.
    pub stops: &'a dyn Fn(u64) -> bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { objective: Objective::default(), seed: 1, time: None, stops: &|_| false }
    }
}

/// The outcome of a search.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Outcome {
    /// Candidates that were judged.
    pub candidates: u64,
    /// True if time or [`Options::stops`] ended the search.
    pub cut: bool,
    /// The part by which all execution times can grow, in millionths, if that was the objective.
    pub slack_ppm: Option<u64>,
}

/// Decides everything that is open. Nothing changes if nothing is.
///
/// # Errors
///
/// Nothing is changed then.
pub fn complete(system: &mut System) -> Result<(), Refusal> {
    complete_with(system, &Options::default()).map(drop)
}

/// Completes like [`complete`], with an objective, for some time.
///
/// # Errors
///
/// Nothing is changed then.
pub fn complete_with(system: &mut System, options: &Options<'_>) -> Result<Outcome, Refusal> {
    if !system.is_open() {
        return Ok(Outcome::default());
    }
    let objective =
        options.objective.for_system(system).map_err(|it| Refusal::Input((*it).into()))?;
    let grown = margin::with_margin(system);
    let ((planned, slack_ppm), outcome) =
        options.searching(&grown, |rounds| rounds.best(&grown, objective))?;
    *system = margin::without_margin(planned, system);
    Ok(Outcome { slack_ppm, ..outcome })
}

/// Returns the refusal for an obstacle.
fn refusal(system: &System, obstacle: Obstacle, help: &Help<'_>) -> Refusal {
    if let Some(mistake) = need::starved(system)
        && !matches!(obstacle, Obstacle::Input(_))
    {
        return Refusal::NoPlan(mistake.into());
    }
    match obstacle {
        Obstacle::Input(errors) => Refusal::Input(errors),
        Obstacle::Certain(certificate) => {
            Refusal::NoPlan(explain::certain(system, &certificate, help).into())
        }
        Obstacle::Tasks => Refusal::NoPlan(explain::tasks(system, help)),
        Obstacle::Memory(least) => Refusal::NoPlan(memory::explain(system, &least)),
        Obstacle::Overheads(best) => Refusal::NoPlan(overheads::explain(&best)),
        Obstacle::Pcpus(crowd) => Refusal::NoPlan(explain::pcpus(system, &crowd, help).into()),
        Obstacle::Missed(missed) => Refusal::NoPlan(explain::missed(system, &missed, help)),
    }
}

/// Returns the system with everything decided: stage by stage if that leads to a plan that holds,
/// or else by a search over everything together.
fn attempt(system: &System, request: &Request<'_>) -> Result<System, Obstacle> {
    let decided = RefCell::default();
    let staged = staged(system, &decided);
    match &staged {
        Err(Obstacle::Input(_)) => return staged,
        Ok(planned) if verdict(planned).is_some_and(|it| it.schedulable) => {
            return staged.map(|planned| kinds::improved(system, planned, request));
        }
        _ => {}
    }
    let certain = certificate(system);
    let missed = match certain {
        Some(_) => Missed { candidates: 0, best: None },
        None => {
            let decided = decided.into_inner();
            let harder = || harder::plan(system, request);
            let heavier = heavier(system, request);
            let found = whole::search_or(system, &decided, heavier, request, Some(&harder));
            match found.or_else(|missed| lenient(system, &decided, request).ok_or(missed)) {
                Ok(planned) => return Ok(planned),
                Err(missed) => missed,
            }
        }
    };
    if let (Ok(planned), None) = (&staged, &missed.best)
        && let Err(mistakes) = can_be_planned(planned)
    {
        return Err(Obstacle::Input(mistakes));
    }
    match (staged, certain) {
        (Ok(planned), _) if only_given_are_late(system, &planned) => Ok(planned),
        (Ok(_) | Err(Obstacle::Overheads(_)), Some(certificate)) => {
            Err(Obstacle::Certain(certificate))
        }
        (Ok(_), None) => Err(Obstacle::Missed(missed)),
        (other, _) => other,
    }
}

/// Reports mistakes in a complete description beside its deadlines.
fn can_be_planned(system: &System) -> Result<(), Errors> {
    match system.platform.value.boot.is_ok() {
        true => plan::make(system).map(drop),
        false => plan::assign(system).map(drop),
    }
}

/// Returns a plan in which some VCPUs without tasks do not get their budgets in each period.
fn lenient(system: &System, decided: &[System], request: &Request<'_>) -> Option<System> {
    let has_none = |vm: &Vm, vcpu: usize| {
        vm.tasks.iter().all(|task| task.vcpu_open || task.vcpu != vcpu)
            && vm.vcpus[vcpu].server.is_some()
    };
    let can_have_none = |vm: &Vm| (0..vm.vcpus.len()).any(|vcpu| has_none(vm, vcpu));
    let lenient = Request { lenient: true, ..*request };
    match system.vms.iter().any(can_have_none) {
        true => whole::search(system, decided, Vec::new(), &lenient).ok(),
        false => None,
    }
}

/// Returns plans of the same system with longer execution times: a plan that holds for these holds.
fn heavier(system: &System, request: &Request<'_>) -> Vec<System> {
    let tasks: usize = system.vms.iter().map(|vm| vm.tasks.len()).sum();
    if request.effort < whole::TO_PLAN || tasks > HEAVIER_MAX {
        return Vec::new();
    }
    let planned = HEAVIER.iter().filter_map(|ppm| {
        let planned = staged(&longer::grown(system, *ppm), &RefCell::default()).ok()?;
        Some(longer::with_times_of(planned, system))
    });
    planned.collect()
}

/// Returns true if all tasks that are late in a plan, and all tasks of chains that are, are in VMs
/// of which nothing was open, and on PCPUs on which nothing else is: no decision can help them.
fn only_given_are_late(system: &System, planned: &System) -> bool {
    let is_given =
        |name: &str| system.vms.iter().any(|vm| vm.name.value == name && !vm.processor_open());
    verdict(planned).is_some_and(|it| {
        let mut chains = it.chains.iter().filter(|chain| !chain.ok).flat_map(|chain| &chain.steps);
        it.pcpus.iter().all(|pcpu| {
            let mut tasks = pcpu.vcpus.iter().flat_map(|vcpu| &vcpu.tasks);
            tasks.all(|task| task.ok) || pcpu.vcpus.iter().all(|vcpu| is_given(&vcpu.vm))
        }) && chains.all(|step| is_given(&step.vm))
    })
}

/// Changes the server of a VCPU that has one.
fn set_class(system: &mut System, (vm, vcpu): (usize, usize), change: impl Fn(Class) -> Class) {
    if let Some(server) = system.vms[vm].vcpus[vcpu].server.as_mut() {
        server.class.value = change(server.class.value);
    }
}

/// Returns the verdict of the analysis on a description in which nothing is open; `None` if it has
/// no plan.
fn verdict(system: &System) -> Option<Verdict> {
    match system.platform.value.boot.is_ok() {
        true => Some(Verdict::of_plan(&plan::make(system).ok()?, Some(system))),
        false => Some(Verdict::of_description(system, &plan::assign(system).ok()?)),
    }
}

/// Returns true if a description can be completed such that all deadlines are met. `stops` ends the
/// search for that.
fn holds(system: &System, stops: &dyn Fn() -> bool) -> bool {
    let candidates = Cell::new(0);
    let request = Request::new(whole::TO_ADVISE, &candidates, stops);
    attempt(system, &request)
        .ok()
        .and_then(|planned| verdict(&planned))
        .is_some_and(|it| it.schedulable)
}

/// Returns a setting for this number of colours.
fn setting(problem: &Setting, colors: usize) -> Setting {
    problem.with_colors(colors.max(1)).unwrap_or(*problem)
}

/// Returns a mistake of this kind.
fn cannot_plan(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new("cannot-plan", message)
}
