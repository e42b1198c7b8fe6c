//! The records of tasks, as lines on the console.

use crate::println;
use crate::taskset::{BY_BELL, TaskSet};
use crate::time::Clock;

/// Prints a line for each task, which begins with `guest`; the period of one that the bell releases is 0.
pub fn print(guest: &str, set: &TaskSet, clock: Clock) {
    for (task, record) in set.records() {
        let response = &record.response;
        println!(
            "{guest}: task {} period_us={} jobs={} misses={} response_min_ns={} response_mean_ns={} \
             response_max_ns={} overruns={}",
            task.name,
            if task.period == BY_BELL { 0 } else { task.period.as_micros() },
            response.count(),
            record.misses,
            clock.nanoseconds(response.min()),
            clock.nanoseconds(response.mean()),
            clock.nanoseconds(response.max()),
            record.overruns,
        );
    }
}
