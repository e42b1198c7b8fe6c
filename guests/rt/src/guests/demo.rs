//! `rt-demo`: three periodic tasks with short jobs of counted instructions.
//!
//! Boot arguments: `rt.seconds` (2), `rt.trace` (1).
//!
//! ```text
//! rt: start seconds=2 frequency_hz=62500000
//! rt: progress seconds=1
//! rt: task fast period_us=5000 jobs=400 misses=0 response_min_ns=... response_mean_ns=... response_max_ns=... overruns=0
//! rt: done
//! ```

use core::time::Duration;

use crate::arch::cpu;
use crate::scheduler::{self, Task};
use crate::taskset::Parameters;
use crate::time::Clock;
use crate::{arguments, println};

const fn task(name: &'static str, milliseconds: u64, priority: u8, body: fn(u64)) -> Task {
    let period = Duration::from_millis(milliseconds);
    let parameters =
        Parameters { name, period, offset: Duration::ZERO, deadline: period, priority };
    Task { parameters, body }
}

const TASKS: [Task; 3] = [
    task("fast", 5, 3, |_| cpu::burn(100_000)),
    task("medium", 10, 2, |_| cpu::burn(300_000)),
    task("slow", 20, 1, |_| cpu::burn(1_000_000)),
];

/// Runs the tasks for `rt.seconds` and prints a table.
pub fn main() {
    let seconds = arguments::number("rt.seconds", 2);
    let clock = Clock::of_machine();
    println!("rt: start seconds={seconds} frequency_hz={}", clock.frequency());
    let mut printed = 0;
    let result =
        scheduler::run(&TASKS, Duration::from_millis(1), Duration::from_secs(seconds), |elapsed| {
            if elapsed.as_secs() > printed {
                printed = elapsed.as_secs();
                println!("rt: progress seconds={printed}");
            }
        });
    let set = match result {
        Ok(set) => set,
        Err(error) => return println!("rt: {error}"),
    };
    for (task, record) in set.records() {
        let response = &record.response;
        println!(
            "rt: task {} period_us={} jobs={} misses={} response_min_ns={} response_mean_ns={} \
             response_max_ns={} overruns={}",
            task.name,
            task.period.as_micros(),
            response.count(),
            record.misses,
            clock.nanoseconds(response.min()),
            clock.nanoseconds(response.mean()),
            clock.nanoseconds(response.max()),
            record.overruns,
        );
    }
    println!("rt: done");
}
