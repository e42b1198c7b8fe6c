//! The time that a step takes.

use crate::response::Response;
use crate::{Duration, LONGEST, Task};

/// The time from the activation of a step to its output.
///
/// The output for an event with nominal time `n` of a stream with jitter `J` comes `best` after its
/// event or later, and at `n + J + worst` or earlier. Delays [from events](Delay::new) keep to
/// `worst` after each event itself, as compositional analyses count; delays [from nominal
/// times](Delay::from_nominal) only to the latest time that the jitter allows. The latter are not
/// longer, and are shorter if jobs wait for earlier ones that came late.
///
/// Outputs come in the order of activations.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Delay {
    // Private: `best <= worst <= LONGEST`.
    best: u64,
    worst: u64,
    apart: u64,
    from_event: bool,
}

impl Delay {
    /// Makes a delay from each event; `None` if `best` is longer than `worst`, or `worst` than
    /// [`LONGEST`].
    pub fn new(best: Duration, worst: Duration) -> Option<Self> {
        let fits = best <= worst && worst <= LONGEST;
        fits.then_some(Self { best: best.0, worst: worst.0, apart: 0, from_event: true })
    }

    /// Makes a delay whose longest time counts from the nominal time, less the jitter of the
    /// events; `None` if `best` is longer than `worst`, or `worst` than [`LONGEST`].
    pub fn from_nominal(best: Duration, worst: Duration) -> Option<Self> {
        Self::new(best, worst).map(|delay| Self { from_event: false, ..delay })
    }

    /// Makes the delay of a task of the analysis: from the execution time in the best case to the
    /// response time, which contains the jitter with which the task was analysed. Outputs are
    /// `best` apart, because jobs of a task execute one after the other. `None` if `best` is longer
    /// than the response time.
    pub fn of_task(task: &Task, best: Duration, response: &Response) -> Option<Self> {
        let worst = Duration(response.time.0.saturating_sub(task.jitter));
        Self::from_nominal(best, worst).map(|delay| delay.with_apart(best))
    }

    /// Returns the same delay of a step whose outputs are always so far apart: the execution time
    /// in the best case of a task, whose jobs execute one after the other.
    #[must_use]
    pub fn with_apart(self, apart: Duration) -> Self {
        Self { apart: apart.0, ..self }
    }

    /// Returns the shortest time.
    pub fn best(&self) -> Duration {
        Duration(self.best)
    }

    /// Returns the longest time.
    pub fn worst(&self) -> Duration {
        Duration(self.worst)
    }

    /// Returns the least time between two outputs.
    pub fn apart(&self) -> Duration {
        Duration(self.apart)
    }

    /// Returns true if the longest time counts from each event.
    pub fn is_from_event(&self) -> bool {
        self.from_event
    }
}
