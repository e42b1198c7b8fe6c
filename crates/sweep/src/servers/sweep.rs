//! Sweeps over PCPUs.

use analysis::{Duration, Kind};
use serde::{Deserialize, Serialize};
use taskgen::Random;

use super::{Parameters, evaluate};
use crate::kind::{Population, Worker, not_negative, range, within};
use crate::table::{Cell, Column, Summarize};
use crate::{Error, Scalar, server_kind};

/// Longest period, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;
/// Longest simulation of a system, in milliseconds: a day.
const LONGEST_MS: u64 = 86_400_000;

/// `[servers]` of an experiment.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    vcpus: usize,
    tasks_per_vcpu: usize,
    utilization: f64,
    period_us: [u64; 2],
    vcpu_period_us: [u64; 2],
    #[serde(with = "server_kind")]
    server: Kind,
    grain_us: u64,
    simulate_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            vcpus: 3,
            tasks_per_vcpu: 3,
            utilization: 0.5,
            period_us: [10_000, 100_000],
            vcpu_period_us: [1_000, 10_000],
            server: Kind::Deferrable,
            grain_us: 1,
            simulate_ms: 1_000,
        }
    }
}

impl Settings {
    /// Parameters that a grid can have.
    pub const PARAMETERS: &[&str] =
        &["vcpus", "tasks_per_vcpu", "utilization", "vcpu_period_us", "server", "grain_us"];
}

impl Population for Settings {
    fn parameters(&self) -> &'static [&'static str] {
        Self::PARAMETERS
    }

    fn set(&mut self, parameter: &str, value: &Scalar) -> Result<(), String> {
        match parameter {
            "vcpus" => self.vcpus = value.whole()?,
            "tasks_per_vcpu" => self.tasks_per_vcpu = value.whole()?,
            "utilization" => self.utilization = value.real()?,
            "vcpu_period_us" => self.vcpu_period_us = [value.whole()?; 2],
            "server" => {
                let named = match value {
                    Scalar::Text(text) => Kind::named(text),
                    _ => None,
                };
                self.server = named.ok_or_else(|| {
                    let [first, second, third] = Kind::ALL.map(Kind::name);
                    format!("expected \"{first}\", \"{second}\" or \"{third}\", not {value}")
                })?;
            }
            _ => self.grain_us = value.whole()?,
        }
        Ok(())
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![
            Column::new("planned_ok", Summarize::Share),
            Column::new("schedulable_ok", Summarize::Share),
            Column::new("budgets_ppb", Summarize::Mean),
        ];
        if self.simulate_ms > 0 {
            columns.extend([
                Column::new("jobs", Summarize::Mean),
                Column::new("misses", Summarize::Mean),
                Column::new("closest_ppm", Summarize::Max),
                Column::new("exceeded", Summarize::Zero),
            ]);
        }
        columns
    }

    fn worker(&self) -> Result<Box<dyn Worker>, Error> {
        within("vcpus", self.vcpus as u64, 1, 64)?;
        within("tasks_per_vcpu", self.tasks_per_vcpu as u64, 1, policy::task::TASKS_MAX as u64)?;
        not_negative("utilization", self.utilization)?;
        range("period_us", self.period_us, 1, LONGEST_US)?;
        range("vcpu_period_us", self.vcpu_period_us, 1, LONGEST_US)?;
        within("grain_us", self.grain_us, 1, LONGEST_US)?;
        within("simulate_ms", self.simulate_ms, 0, LONGEST_MS)?;
        let parameters = Parameters {
            vcpus: self.vcpus,
            tasks_per_vcpu: self.tasks_per_vcpu,
            utilization: self.utilization,
            period_us: self.period_us,
            vcpu_period_us: self.vcpu_period_us,
        };
        let grain = Duration(self.grain_us * 1_000);
        let simulate = Duration(self.simulate_ms * 1_000_000);
        Ok(Box::new(Evaluation { parameters, server: self.server, grain, simulate }))
    }
}

/// Evaluates PCPUs.
pub(crate) struct Evaluation {
    parameters: Parameters,
    server: Kind,
    grain: Duration,
    simulate: Duration,
}

impl Worker for Evaluation {
    fn draws(&mut self, seed: u64, stream: u64) -> Result<(), Error> {
        self.parameters.sample(&mut Random::new(seed, stream)).map(drop)
    }

    fn row(&mut self, seed: u64, stream: u64) -> Result<Vec<Cell>, Error> {
        let system = self.parameters.sample(&mut Random::new(seed, stream))?;
        let outcome = evaluate(&system, self.server, self.grain, self.simulate)?;
        let mut row = vec![
            Cell::Bool(outcome.budgets_ppb.is_some()),
            Cell::Bool(outcome.schedulable),
            Cell::int(outcome.budgets_ppb),
        ];
        if self.simulate > Duration(0) {
            let seen = outcome.simulated;
            row.extend([
                Cell::int(seen.map(|it| it.jobs)),
                Cell::int(seen.map(|it| it.misses)),
                Cell::int(seen.and_then(|it| it.closest_ppm)),
                Cell::int(seen.map(|it| it.exceeded)),
            ]);
        }
        Ok(row)
    }
}
