//! A task whose execution time depends on its cache colours.

use analysis::Duration;

use crate::Error;

/// A task with its execution time as a function of the number of its colours: `C(k)`.
/// More colours never take longer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Task {
    /// The task with 1, 2, ... colours; not empty.
    by_colors: Vec<analysis::Task>,
    working_set: u64,
}

impl Task {
    /// Returns `base` with the execution times `wcet` for 1, 2, ... colours instead of its own.
    ///
    /// A time that is shorter than one with more colours is raised to it, which is safe.
    ///
    /// # Errors
    ///
    /// There is no execution time, or one that the analyses cannot handle.
    pub fn new(base: analysis::Task, wcet: &[Duration]) -> Result<Self, Error> {
        let mut by_colors = Vec::with_capacity(wcet.len());
        let mut longest = Duration(0);
        for &time in wcet.iter().rev() {
            base.with_wcet(time)?;
            longest = longest.max(time);
            by_colors.push(base.with_wcet(longest)?);
        }
        if by_colors.is_empty() {
            return Err(Error::NoWcet);
        }
        by_colors.reverse();
        Ok(Self { by_colors, working_set: 0 })
    }

    /// Returns the same task with a working set of this number of bytes in each job.
    pub fn with_working_set(self, working_set: u64) -> Self {
        Self { working_set, ..self }
    }

    /// Returns the task with this number of colours (at least 1); colours beyond the last given
    /// time change nothing.
    pub fn with_colors(&self, colors: usize) -> &analysis::Task {
        let last = self.by_colors.len() - 1;
        &self.by_colors[colors.saturating_sub(1).min(last)]
    }

    /// Returns the number of colours beyond which more change nothing.
    pub(crate) fn colors(&self) -> usize {
        self.by_colors.len()
    }

    /// Returns the execution time with this number of colours: `C(k)`.
    pub fn wcet(&self, colors: usize) -> Duration {
        self.with_colors(colors).wcet()
    }

    /// Returns the least time between two arrivals: `T`.
    pub fn period(&self) -> Duration {
        self.by_colors[0].period()
    }

    /// Returns the time from arrival to deadline: `D`.
    pub fn deadline(&self) -> Duration {
        self.by_colors[0].deadline()
    }

    /// Bytes that a job touches.
    pub fn working_set(&self) -> u64 {
        self.working_set
    }
}

/// Puts tasks into rate-monotonic order, the highest priority first; those with one
/// period stay in their order.
pub fn rate_monotonic(tasks: &mut [Task]) {
    tasks.sort_by_key(Task::period);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration(ms * 1_000_000)
    }

    #[test]
    fn more_colors_never_take_longer() {
        let base = analysis::Task::new(ms(1), ms(10)).unwrap();
        let task = Task::new(base, &[ms(5), ms(2), ms(3), ms(3), ms(1)]).unwrap();
        let times: Vec<_> = (1..=7).map(|k| task.wcet(k).0 / 1_000_000).collect();
        assert_eq!(times, [5, 3, 3, 3, 1, 1, 1]);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let base = analysis::Task::new(ms(1), ms(10)).unwrap();
        assert_eq!(Task::new(base, &[]), Err(Error::NoWcet));
        assert!(Task::new(base, &[ms(1), Duration(0)]).is_err());
        assert!(Task::new(base, &[Duration(u64::MAX), ms(1)]).is_err());
    }
}
