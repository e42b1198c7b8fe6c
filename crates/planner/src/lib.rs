//! Allocation: tasks to VCPUs, cache colours to tasks and VCPUs, budgets to VCPUs.
//!
//! - [`published`]: Algorithms 1 to 5 of the vCache paper, and what its evaluation compares
//!   them with ([`baseline`]);
//! - [`exact`]: optimal allocations, with proof, where systems are small enough;
//! - [`least_utilization`]: the cache-to-task allocation with the least utilisation, exactly;
//! - [`search`]: the planner of this project;
//! - [`vcpus_to_pcpus`]: which VCPU runs on which PCPU;
//! - [`completion`]: decides the open parts of a description;
//! - [`report`]: the promises of a plan, and the use of the time of the PCPUs.
//!
//! The `analysis` crate always says whether tasks meet their deadlines
//! ([`Evaluator`]). Budgets are whole multiples of a grain, colours of a VCPU are numbered
//! from 0: which colours of the machine they are is decided last.
//!
//! ```
//! use analysis::Duration;
//! use planner::search::Planner;
//! use planner::{Setting, Slot, Task, Vm};
//!
//! let ms = |time: u64| Duration(time * 1_000_000);
//! // Execution times with 1, 2, 3 and 4 colours.
//! let task = |period, wcet: [u64; 4]| {
//!     let base = analysis::Task::new(ms(wcet[0]), ms(period))?;
//!     Ok::<_, planner::Error>(Task::new(base, &wcet.map(ms))?)
//! };
//! let tasks = vec![task(20, [6, 3, 3, 3])?, task(30, [9, 8, 6, 4])?, task(60, [9, 9, 9, 9])?];
//!
//! // Two VCPUs with a period of 5 ms; a colour takes 0.2 ms to load again.
//! let vms = [Vm::new(tasks, vec![Slot::new(ms(5)); 2])?];
//! let setting = Setting::new(4, Duration(200_000))?;
//! let plan = Planner::new(&vms, &setting).plan(4).expect("there is a way");
//! let vcpu = plan.vms[0].vcpus[0].as_ref().expect("the first VCPU has tasks");
//! assert_eq!(vcpu.tasks, [0, 1, 2]);
//! assert!(vcpu.point.budget < ms(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod baseline;
pub mod completion;
pub mod demand;
mod descent;
mod error;
mod evaluator;
pub mod exact;
pub mod least_utilization;
pub mod published;
pub mod report;
pub mod search;
mod setting;
mod task;
pub mod vcpus_to_pcpus;
mod vm;

pub use demand::{Demand, Point};
pub use error::Error;
pub use evaluator::Evaluator;
pub use setting::{Setting, Test};
pub use task::{Task, rate_monotonic};
pub use vm::{Coloring, Mask, Slot, TASKS_MAX, Vm, indices, mask};

#[cfg(test)]
mod tests {
    use analysis::Duration;

    use crate::Task;

    pub fn ms(ms: u64) -> Duration {
        Duration(ms * 1_000_000)
    }

    /// Returns a task with this period and these execution times in milliseconds.
    pub fn task(period: u64, wcet: &[u64]) -> Task {
        let base = analysis::Task::new(ms(1), ms(period)).unwrap();
        let wcet: Vec<_> = wcet.iter().map(|&wcet| ms(wcet)).collect();
        Task::new(base, &wcet).unwrap()
    }
}
