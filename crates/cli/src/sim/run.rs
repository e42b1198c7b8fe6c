//! Simulates until an end or a signal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};
use sim::{Limits, Observer, Simulation};

use super::forecast::Forecast;
use crate::output;
use crate::signals::Signals;

/// Events between two looks for signals: some tens of milliseconds.
const EVENTS: u64 = 100_000;

/// Why a simulation ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ended {
    /// At the time that was given.
    Time,
    /// After the events that were given.
    Events,
    /// By this signal.
    Signal(i32),
    /// Jobs pile up.
    Overload(sim::Error),
}

impl Ended {
    /// The words in reports.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Events => "events",
            Self::Signal(_) => "interrupted",
            Self::Overload(_) => "overload",
        }
    }
}

/// Runs the simulation, and says how long that takes if there is a forecast; its results are those at the time of the end.
pub fn run<O: Observer>(
    simulation: &mut Simulation,
    limits: Limits,
    observer: &mut O,
    signals: &Signals,
    mut forecast: Option<Forecast>,
) -> Ended {
    let progress = Progress::new(limits);
    let ended = loop {
        let events = limits.events.min(simulation.events().saturating_add(EVENTS));
        match simulation.run(Limits { events, ..limits }, observer) {
            Err(error) => break Ended::Overload(error),
            Ok(sim::Ended::Time) => break Ended::Time,
            Ok(sim::Ended::Events) if events == limits.events => break Ended::Events,
            Ok(sim::Ended::Events) => {}
        }
        if let Some(signal) = signals.caught() {
            break Ended::Signal(signal);
        }
        progress.show(simulation);
        if let Some(rest) = forecast.as_mut().and_then(|it| it.rest(simulation.now_ns())) {
            progress.bar.suspend(|| output::error(&rest));
        }
    };
    progress.bar.finish_and_clear();
    if matches!(ended, Ended::Events | Ended::Signal(_)) {
        // All PCPUs come to the same time; no event lies before it.
        let now = Limits { until: simulation.now_ns(), events: u64::MAX };
        if let Err(error) = simulation.run(now, observer) {
            return Ended::Overload(error);
        }
    }
    ended
}

/// A bar on a terminal, nothing elsewhere.
struct Progress {
    bar: ProgressBar,
    limits: Limits,
}

impl Progress {
    const STEPS: u64 = 1_000;

    fn new(limits: Limits) -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden(), limits };
        }
        let style = ProgressStyle::with_template("{msg}  {wide_bar} {elapsed}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        Self { bar: ProgressBar::new(Self::STEPS).with_style(style), limits }
    }

    fn show(&self, simulation: &Simulation) {
        let part = |done: u64, all: u64| {
            (u128::from(done) * u128::from(Self::STEPS) / u128::from(all.max(1))) as u64
        };
        let time = part(simulation.now_ns(), self.limits.until);
        self.bar.set_position(time.max(part(simulation.events(), self.limits.events)));
        self.bar.set_message(format!("{} events", simulation.events()));
    }
}
