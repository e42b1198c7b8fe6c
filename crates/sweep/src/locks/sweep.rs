//! Sweeps over systems with locks.

use analysis::Duration;
use serde::{Deserialize, Serialize};
use taskgen::vmpcp::{Parameters, TABLE_1};

use super::{Analysis, Evaluator, Scheme, draw};
use crate::kind::{Population, Worker, not_negative, range, within};
use crate::table::{Cell, Column, Summarize};
use crate::{Error, Scalar};

/// Longest times, in microseconds: a day.
const LONGEST_US: u64 = 86_400_000_000;

/// `[locks]` of an experiment. What is not given is as in vMPCP, Table I.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pcpus: usize,
    vcpus_per_pcpu: usize,
    tasks_per_vcpu: usize,
    utilization: f64,
    period_us: [u64; 2],
    sections_per_task: usize,
    lockers: usize,
    section_us: u64,
    vcpu_period_us: u64,
    schemes: Vec<Scheme>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pcpus: TABLE_1.pcpus,
            vcpus_per_pcpu: TABLE_1.vcpus_per_pcpu,
            tasks_per_vcpu: TABLE_1.tasks_per_vcpu,
            utilization: TABLE_1.utilization,
            period_us: TABLE_1.period_us,
            sections_per_task: TABLE_1.sections_per_task,
            lockers: TABLE_1.lockers,
            section_us: TABLE_1.section.0 / 1_000,
            vcpu_period_us: 5_000,
            schemes: Vec::new(),
        }
    }
}

/// Returns the name of its column.
fn name(scheme: &Scheme) -> String {
    let overrun = if scheme.overrun { "_overrun" } else { "" };
    let analysis = match scheme.analysis {
        Analysis::Published => "published",
        Analysis::Sound => "sound",
    };
    let budgets = scheme.budgets.map(|kind| format!("_budgets_of_{}", kind.name()));
    let budgets = budgets.unwrap_or_default();
    format!("{}{overrun}_{analysis}{budgets}", scheme.server.name())
}

impl Settings {
    /// Parameters that a grid can have.
    pub const PARAMETERS: &[&str] = &[
        "pcpus",
        "vcpus_per_pcpu",
        "tasks_per_vcpu",
        "utilization",
        "sections_per_task",
        "lockers",
        "section_us",
        "vcpu_period_us",
    ];
}

impl Population for Settings {
    fn parameters(&self) -> &'static [&'static str] {
        Self::PARAMETERS
    }

    fn set(&mut self, parameter: &str, value: &Scalar) -> Result<(), String> {
        match parameter {
            "pcpus" => self.pcpus = value.whole()?,
            "vcpus_per_pcpu" => self.vcpus_per_pcpu = value.whole()?,
            "tasks_per_vcpu" => self.tasks_per_vcpu = value.whole()?,
            "utilization" => self.utilization = value.real()?,
            "sections_per_task" => self.sections_per_task = value.whole()?,
            "lockers" => self.lockers = value.whole()?,
            "section_us" => self.section_us = value.whole()?,
            _ => self.vcpu_period_us = value.whole()?,
        }
        Ok(())
    }

    fn columns(&self) -> Vec<Column> {
        let of = |scheme: &Scheme| {
            let name = name(scheme);
            let ok = Column::new(format!("{name}_ok"), Summarize::Share);
            [ok, Column::new(format!("{name}_budget_ns"), Summarize::Mean)]
        };
        self.schemes.iter().flat_map(of).collect()
    }

    fn worker(&self) -> Result<Box<dyn Worker>, Error> {
        within("pcpus", self.pcpus as u64, 1, 64)?;
        within("vcpus_per_pcpu", self.vcpus_per_pcpu as u64, 1, 16)?;
        within("tasks_per_vcpu", self.tasks_per_vcpu as u64, 1, 64)?;
        not_negative("utilization", self.utilization)?;
        range("period_us", self.period_us, 10, LONGEST_US)?;
        within("sections_per_task", self.sections_per_task as u64, 0, 32)?;
        within("section_us", self.section_us, 1, LONGEST_US)?;
        within("vcpu_period_us", self.vcpu_period_us, 1, LONGEST_US)?;
        if self.schemes.is_empty() {
            let one = "{ server = \"deferrable\", overrun = true, analysis = \"sound\" }";
            return Err(Error::Parameters(format!("`schemes` is missing: a list such as [{one}]")));
        }
        let parameters = Parameters {
            pcpus: self.pcpus,
            vcpus_per_pcpu: self.vcpus_per_pcpu,
            tasks_per_vcpu: self.tasks_per_vcpu,
            utilization: self.utilization,
            period_us: self.period_us,
            sections_per_task: self.sections_per_task,
            lockers: self.lockers,
            section: policy::time::Duration(self.section_us * 1_000),
        };
        let vcpu_period = Duration(self.vcpu_period_us * 1_000);
        Ok(Box::new(Judge {
            parameters,
            vcpu_period,
            schemes: self.schemes.clone(),
            evaluator: Evaluator::new(),
        }))
    }
}

/// Judges systems by all schemes.
pub(crate) struct Judge {
    parameters: Parameters,
    vcpu_period: Duration,
    schemes: Vec<Scheme>,
    evaluator: Evaluator,
}

impl Worker for Judge {
    fn draws(&mut self, seed: u64, stream: u64) -> Result<(), Error> {
        draw(&self.parameters, seed, stream).map(drop)
    }

    fn row(&mut self, seed: u64, stream: u64) -> Result<Vec<Cell>, Error> {
        let system = draw(&self.parameters, seed, stream)?;
        let mut row = Vec::new();
        for &scheme in &self.schemes {
            let outcome = self.evaluator.evaluate(&system, scheme, self.vcpu_period)?;
            let budget = Cell::int(outcome.budget.map(|budget| budget.0));
            row.extend([Cell::Bool(outcome.schedulable), budget]);
        }
        Ok(row)
    }
}
