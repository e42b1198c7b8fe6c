//! A random system, and what servers and analyses make of it.

use analysis::vmpcp::budget::{Common, largest};
use analysis::vmpcp::{self, Analyzer, Host, Protocol, Section, System, Variant};
use analysis::{Duration, Kind, Server};
use serde::{Deserialize, Serialize};
use taskgen::Random;
use taskgen::vmpcp::Parameters;

use crate::{Error, server_kind};

/// From one budget that is tried to the next (vMPCP, section V.A).
const STEP: Duration = Duration(10_000);

/// The servers of VCPUs, and the analysis that judges the system.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Servers of all VCPUs.
    #[serde(with = "server_kind::overrunning")]
    pub server: Kind,
    /// True if VCPUs may overrun their budgets in critical sections.
    pub overrun: bool,
    /// The analysis.
    pub analysis: Analysis,
    /// The kind of servers that determines the budgets; the default is the servers' own kind, with
    /// the largest budgets that Eq. 5 allows.
    #[serde(default, with = "server_kind::overrunning_or_none")]
    pub budgets: Option<Kind>,
}

/// The analysis that judges a system.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Analysis {
    /// The analysis as published.
    Published,
    /// The sound variant of the analysis.
    Sound,
}

/// The result for a system.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// The budget of each VCPU; none: there is none that Eq. 5 allows.
    pub budget: Option<Duration>,
    /// True if the analysis guarantees that all tasks meet their deadlines.
    pub schedulable: bool,
}

/// Returns a random system: a stream of a seed.
///
/// # Errors
///
/// There is nothing to draw, the tasks cannot be divided among mutexes, or the times cannot be
/// analysed.
pub fn draw(parameters: &Parameters, seed: u64, stream: u64) -> Result<System, Error> {
    let drawn = parameters.sample(&mut Random::new(seed, stream))?;
    let length = Duration(parameters.section.0);
    let task = |task: &taskgen::vmpcp::Task| -> Result<vmpcp::Task, Error> {
        let base = analysis::Task::new(Duration(task.wcet.0), Duration(task.period.0))?;
        let section = |&resource: &usize| Section { resource, length, inter_vm: false };
        let sections = task.mutexes.iter().map(section);
        Ok(vmpcp::Task { task: base, sections: sections.collect() })
    };
    let vcpu = |vcpu: &taskgen::vmpcp::Vcpu| -> Result<vmpcp::Vcpu, Error> {
        let tasks = vcpu.tasks.iter().map(task).collect::<Result<_, _>>()?;
        Ok(vmpcp::Vcpu { priority: vcpu.priority, tasks })
    };
    let pcpus = drawn.iter().map(|pcpu| pcpu.iter().map(vcpu).collect::<Result<Vec<_>, _>>());
    let pcpus = pcpus.collect::<Result<Vec<_>, _>>()?;
    System::new(&pcpus).map_err(|error| Error::Parameters(error.to_string()))
}

/// Judges systems, without allocating memory for each.
#[derive(Debug)]
pub struct Evaluator {
    published: Analyzer,
    sound: Analyzer,
    hosts: Vec<Host>,
}

impl Default for Evaluator {
    fn default() -> Self {
        Self::new()
    }
}

impl Evaluator {
    /// Returns an evaluator for any systems.
    pub fn new() -> Self {
        let analyzer = |variant| Analyzer::new(variant, Protocol::Vmpcp);
        let (published, sound) = (analyzer(Variant::Published), analyzer(Variant::Sound));
        Self { published, sound, hosts: Vec::new() }
    }

    /// Returns true if a system is schedulable with a scheme and VCPUs of this period.
    ///
    /// # Errors
    ///
    /// The period cannot be analysed.
    pub fn evaluate(
        &mut self,
        system: &System,
        scheme: Scheme,
        vcpu_period: Duration,
    ) -> Result<Outcome, Error> {
        // Eq. 5 as published gives the budgets for both analyses.
        let kind = scheme.budgets.unwrap_or(scheme.server);
        let common = Common { kind, overrun: scheme.overrun, period: vcpu_period, step: STEP };
        let budget = largest(&mut self.published, system, &common, &mut self.hosts);
        if let (Some(budget), Some(_)) = (budget, scheme.budgets) {
            let server = Server::new(scheme.server, budget, common.period)?;
            self.hosts.fill(Host::new(server, scheme.overrun));
        }
        let analyzer = match scheme.analysis {
            Analysis::Published => &mut self.published,
            Analysis::Sound => &mut self.sound,
        };
        let schedulable = budget.is_some() && analyzer.schedulable(system, &self.hosts).is_ok();
        Ok(Outcome { budget, schedulable })
    }
}
