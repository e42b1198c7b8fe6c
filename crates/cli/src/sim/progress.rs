//! The progress of a simulation.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};
use sim::{Limits, Simulation};

use super::forecast::Forecast;
use crate::output;

/// A bar on a terminal, nothing elsewhere; and a forecast, which is text.
pub struct Progress {
    bar: ProgressBar,
    limits: Limits,
    forecast: Option<Forecast>,
}

impl Progress {
    const STEPS: u64 = 1_000;

    /// A simulation begins, which ends at these limits.
    pub fn new(limits: Limits, forecast: Option<Forecast>) -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), limits, forecast };
        }
        let style = ProgressStyle::with_template("{msg}  {wide_bar} {elapsed}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        Self { bar: ProgressBar::new(Self::STEPS).with_style(style), limits, forecast }
    }

    /// Shows how far the simulation is, and says once how long the rest takes if there is a forecast.
    pub fn show(&mut self, simulation: &Simulation) {
        let part = |done: u64, all: u64| {
            (u128::from(done) * u128::from(Self::STEPS) / u128::from(all.max(1))) as u64
        };
        let time = part(simulation.now_ns(), self.limits.until);
        self.bar.set_position(time.max(part(simulation.events(), self.limits.events)));
        self.bar.set_message(format!("{} events", simulation.events()));
        if let Some(rest) = self.forecast.as_mut().and_then(|it| it.rest(simulation.now_ns())) {
            self.bar.suspend(|| output::error(&rest));
        }
    }

    /// Leaves nothing on the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
