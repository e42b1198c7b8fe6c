//! Tasks in different VCPUs that share resources, under vMPCP (Kim, Wang and Rajkumar, "vMPCP: A
//! Synchronization Framework for Multi-Core Virtual Machines", RTSS 2014, as corrected).
//!
//! A [`System`] contains the sections of each task with each resource, and all priorities; the
//! [`Host`]s describe how its VCPUs get processor time. [`Analyzer`] gives bounds in one of two
//! ways:
//!
//! - [`Variant::Published`]: Eq. 1 to 16 as they are printed;
//! - [`Variant::Sound`]: equations that hold for the simulated protocol. They differ where the
//!   published bounds can be exceeded, or are larger than necessary.
//!
//! | | published | sound |
//! |---|---|---|
//! | local sections that block (Eq. 7) | ceiling above the priority of the task | above or equal: the task itself may want that resource |
//! | requests ahead in a queue (Eq. 11) | of VCPUs of higher priority | and of tasks above in the same VCPU; VCPUs of the same priority on other PCPUs may be ahead |
//! | jobs that make them | `ceil(B / T_h) + 1` | `ceil((B + D_h) / T_h)`, which is no more, if they are in time; else `ceil((B + R_h) / T_h)` |
//! | jitter of tasks above (Eq. 6) | `T^v - C^v + W_h - C_h` | `W_h - C_h` of those that wait for others, else none: gaps of the supply delay all tasks of the VCPU alike |
//! | supply (Eq. 6) | budgets come as late as the period ends | as late as Eq. 5 says |
//! | servers that a VCPU is below (Eq. 5) | | the same |
//!
//! # Assumptions
//!
//! - Sections are not nested; the lengths of all of them, and the execution time of the task, are
//!   never exceeded. Resources are handed over without delay.
//! - Resources that tasks of one VCPU use are local, under PCP; others are global. Their queues are
//!   in the order of VCPU priorities, then of task priorities.
//! - While a task holds a global resource it is above all others of its VCPU, and under
//!   [`Protocol::Vmpcp`] its VCPU is above all others of its PCPU, each in the order of their
//!   normal priorities.
//! - While a periodic server is the one to run and its VCPU waits, no VCPU below it runs:
//!   `policy::cpu` behaves like this, and Eq. 2 relies on it.
//! - Published bounds assume that all tasks that use global resources are in time: a late task can
//!   make more requests in a window than were counted. Sound bounds count these (`pending`). For
//!   other VMs only the limits of the hypervisor count, if they are given ([`System::enforced`]).
//!
//! ```
//! use analysis::vmpcp::{Analyzer, Host, Protocol, Section, System, Task, Variant, Vcpu};
//! use analysis::{Duration, Kind, Server};
//!
//! let ms = |time: u64| Duration(time * 1_000_000);
//! let task = |length| -> Result<Task, analysis::TaskError> {
//!     let task = analysis::Task::new(ms(5), ms(200))?;
//!     let section = Section { resource: 0, length: ms(length), inter_vm: false };
//!     Ok(Task { task, sections: vec![section] })
//! };
//! let server = Server::new(Kind::Deferrable, ms(3), ms(10))?;
//! // Two PCPUs with a VCPU each.
//! let system = System::new(&[
//!     vec![Vcpu { priority: 2, tasks: vec![task(1)?] }],
//!     vec![Vcpu { priority: 1, tasks: vec![task(2)?] }],
//! ])?;
//! let hosts = [Host::new(server, true); 2];
//! let mut analyzer = Analyzer::new(Variant::Published, Protocol::Vmpcp);
//! let bounds = analyzer.response_times(&system, &hosts);
//! // Itself 5 ms, the section of the other 2 ms, and 4 gaps of 7 ms.
//! assert_eq!(bounds.tasks[0].map(|bound| bound.time), Ok(ms(5 + 2 + 4 * 7)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analyzer;
mod bound;
pub mod budget;
mod endless;
mod flat;
mod guest;
mod host;
mod local;
mod pending;
mod prepare;
mod protocol;
mod remote;
mod section;
mod servers;
mod system;
mod turns;

pub use analyzer::Analyzer;
pub use bound::{Bound, Bounds};
pub use guest::Enforced;
pub use host::Host;
pub use prepare::SystemError;
pub use protocol::{Protocol, Variant};
pub use system::{Section, System, Task, Vcpu};
