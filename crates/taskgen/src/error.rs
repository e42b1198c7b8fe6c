//! Errors of drawing random numbers.

/// Why nothing was drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No tasks, or more than the tables of a generator can hold.
    #[error("cannot draw {count} numbers: ask for 1 to {most}")]
    Count {
        /// The requested number.
        count: usize,
        /// The most that can be.
        most: usize,
    },
    /// A number that is not finite, or below its least value.
    #[error("{what} is {value}: it must be a number of at least {least}")]
    Number {
        /// Name of the parameter.
        what: &'static str,
        /// Its value.
        value: f64,
        /// Its least value.
        least: f64,
    },
    /// A lower limit above the upper one.
    #[error("{what} starts at {min}, but ends at {max}: swap the two")]
    Range {
        /// Name of the range.
        what: &'static str,
        /// Its start.
        min: f64,
        /// Its end.
        max: f64,
    },
    /// The sum is outside what the limits allow.
    #[error("numbers within these limits have sums of {min} to {max}, not {sum}")]
    Sum {
        /// The sum that was asked for.
        sum: f64,
        /// The smallest possible sum.
        min: f64,
        /// The largest possible sum.
        max: f64,
    },
    /// Tasks that cannot be shared out to mutexes.
    #[error(
        "{tasks} tasks cannot be shared out to mutexes with {lockers} lockers each: it must be 2 or more, and divide {tasks}"
    )]
    Lockers {
        /// All tasks.
        tasks: usize,
        /// Tasks of a mutex.
        lockers: usize,
    },
    /// No trial succeeded.
    #[error(
        "none of {trials} trials stayed within the limits: `randfixedsum` and `capped` need none"
    )]
    Trials {
        /// Number of trials.
        trials: u32,
    },
}

/// Returns `value` if it is a number of at least `least`.
pub(crate) fn at_least(what: &'static str, value: f64, least: f64) -> Result<f64, Error> {
    if value.is_finite() && value >= least {
        Ok(value)
    } else {
        Err(Error::Number { what, value, least })
    }
}

/// Returns `count` if it is at least 1 and at most `most`.
pub(crate) fn count(count: usize, most: usize) -> Result<usize, Error> {
    if (1..=most).contains(&count) { Ok(count) } else { Err(Error::Count { count, most }) }
}
