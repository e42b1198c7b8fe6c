//! Sweeps over allocations.

use planner::Vm;
use serde::{Deserialize, Serialize};
use taskgen::vcache::TABLE_3;

use super::{Scheme, Solver, Systems};
use crate::kind::{Population, Worker, not_negative, range, within};
use crate::table::{Cell, Column, Summarize};
use crate::{Error, Scalar};

/// `[allocation]` of an experiment. What is not given is as in vCache, Table 3.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    vms: usize,
    tasks: [u64; 2],
    utilization: f64,
    vcpus: usize,
    colors: usize,
    available: Option<usize>,
    deadline_percent: u64,
    reload_us: u64,
    schemes: Vec<Scheme>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            vms: TABLE_3.vms,
            tasks: TABLE_3.tasks,
            utilization: TABLE_3.utilization,
            vcpus: 4,
            colors: TABLE_3.colors,
            available: None,
            deadline_percent: 100,
            reload_us: 207,
            schemes: Vec::new(),
        }
    }
}

impl Settings {
    /// Parameters that a grid can have.
    pub const PARAMETERS: &[&str] = &[
        "vms",
        "tasks",
        "utilization",
        "vcpus",
        "colors",
        "available",
        "deadline_percent",
        "reload_us",
    ];
}

impl Population for Settings {
    fn parameters(&self) -> &'static [&'static str] {
        Self::PARAMETERS
    }

    fn set(&mut self, parameter: &str, value: &Scalar) -> Result<(), String> {
        match parameter {
            "vms" => self.vms = value.whole()?,
            "tasks" => self.tasks = [value.whole()?; 2],
            "utilization" => self.utilization = value.real()?,
            "vcpus" => self.vcpus = value.whole()?,
            "colors" => self.colors = value.whole()?,
            "available" => self.available = Some(value.whole()?),
            "deadline_percent" => self.deadline_percent = value.whole()?,
            _ => self.reload_us = value.whole()?,
        }
        Ok(())
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::new("comparable", Summarize::Share)];
        for scheme in &self.schemes {
            let name = scheme.to_string().replace('-', "_");
            columns.push(Column::new(format!("{name}_ok"), Summarize::Share));
            columns.push(Column::new(format!("{name}_ppb"), Summarize::MeanWhere(0)));
        }
        columns
    }

    fn worker(&self) -> Result<Box<dyn Worker>, Error> {
        within("vms", self.vms as u64, 1, 16)?;
        within("vcpus", self.vcpus as u64, 1, 64)?;
        range("tasks", self.tasks, 1, planner::TASKS_MAX as u64)?;
        not_negative("utilization", self.utilization)?;
        within("deadline_percent", self.deadline_percent, 1, 100)?;
        let available = self.available.unwrap_or(self.colors);
        within("available", available as u64, 1, self.colors as u64)?;
        if self.schemes.is_empty() {
            let names = "\"planner\", \"cavm\", \"bound\"";
            return Err(Error::Parameters(format!(
                "`schemes` is missing: a list such as [{names}]"
            )));
        }
        let solver = Solver::new(Systems {
            vms: self.vms,
            tasks: self.tasks,
            utilization: self.utilization,
            vcpus: self.vcpus,
            colors: self.colors,
            deadline_percent: self.deadline_percent,
            reload_us: self.reload_us,
        })?;
        Ok(Box::new(Allocator { solver, schemes: self.schemes.clone(), available }))
    }
}

/// Allocates systems by all schemes.
pub(crate) struct Allocator {
    solver: Solver,
    schemes: Vec<Scheme>,
    available: usize,
}

impl Worker for Allocator {
    fn draws(&mut self, seed: u64, stream: u64) -> Result<(), Error> {
        self.solver.draw(seed, stream).map(drop)
    }

    fn row(&mut self, seed: u64, stream: u64) -> Result<Vec<Cell>, Error> {
        let vms: Vec<Vm> = self.solver.draw(seed, stream)?;
        let total = |&scheme: &Scheme| {
            let total = self.solver.totals(scheme, &vms, &[self.available]).pop().flatten();
            // In 10^-9 of a processor, rounded up.
            total.map(|share| share.0.div_ceil(1_000_000_000))
        };
        let totals: Vec<_> = self.schemes.iter().map(total).collect();
        let mut row = vec![Cell::Bool(totals.iter().all(Option::is_some))];
        for total in totals {
            row.extend([Cell::Bool(total.is_some()), Cell::int(total)]);
        }
        Ok(row)
    }
}
