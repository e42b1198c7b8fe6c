//! Simulates until an end.

use sim::{Limits, Observer, Simulation};

/// Events between two looks at whether somebody still waits: some tens of milliseconds.
const EVENTS: u64 = 100_000;

/// The end of a simulation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ended {
    /// The given time was reached.
    Time,
    /// The given number of events was reached.
    Events,
    /// Nobody waits any longer.
    Interrupted,
    /// Jobs pile up.
    Overload(sim::Error),
}

impl Ended {
    /// The words in documents.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Events => "events",
            Self::Interrupted => "interrupted",
            Self::Overload(_) => "overload",
        }
    }
}

/// Simulates until one of the limits, an overload, or until `stops`, which is asked some times in a second, returns true. Then
/// all PCPUs are at the same time, and the statistics are those of this time.
pub fn run<O: Observer>(
    simulation: &mut Simulation,
    limits: Limits,
    observer: &mut O,
    mut stops: impl FnMut(&Simulation) -> bool,
) -> Ended {
    let ended = loop {
        let events = limits.events.min(simulation.events().saturating_add(EVENTS));
        match simulation.run(Limits { events, ..limits }, observer) {
            Err(error) => return Ended::Overload(error),
            Ok(sim::Ended::Time) => return Ended::Time,
            Ok(sim::Ended::Events) if events == limits.events => break Ended::Events,
            Ok(sim::Ended::Events) => {}
        }
        if stops(simulation) {
            break Ended::Interrupted;
        }
    };
    // All PCPUs come to the same time; no event lies before it.
    let now = Limits { until: simulation.now_ns(), events: u64::MAX };
    match simulation.run(now, observer) {
        Err(error) => Ended::Overload(error),
        Ok(_) => ended,
    }
}
