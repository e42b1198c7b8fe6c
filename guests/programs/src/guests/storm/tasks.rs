//! The other victim: tasks that execute counted instructions, and the response times of their jobs.
//!
//! Boot arguments: `storm.start_ms` (30): their first release, after the start of the first period of all servers;
//! `storm.tasks_ms` (100): the milliseconds for which there are releases.
//!
//! ```text
//! storm: task short period_us=10000 jobs=10 misses=0 response_min_ns=... overruns=0
//! ```

use core::time::Duration;

use super::after_start;
use rt::arch::cpu;
use rt::scheduler::{self, Task};
use rt::taskset::Parameters;
use rt::time::Clock;
use rt::{arguments, println, records};

const fn task(name: &'static str, milliseconds: u64, priority: u8, body: fn(u64)) -> Task {
    let period = Duration::from_millis(milliseconds);
    let parameters =
        Parameters { name, period, offset: Duration::ZERO, deadline: period, priority };
    Task { parameters, body, local: 0 }
}

/// Instructions, which are nanoseconds where a CPU executes one in each.
const TASKS: [Task; 3] = [
    task("short", 10, 3, |_| cpu::burn(1_000_000)),
    task("middle", 20, 2, |_| cpu::burn(3_000_000)),
    task("long", 50, 1, |_| cpu::burn(8_000_000)),
];

/// Runs them and prints a table.
pub fn main() {
    let start = after_start(arguments::number("storm.start_ms", 30));
    let length = Duration::from_millis(arguments::number("storm.tasks_ms", 100));
    match scheduler::run(&TASKS, start, length, |_| ()) {
        Ok(set) => records::print("storm", &set, Clock::of_machine()),
        Err(error) => println!("storm: {error}"),
    }
}
