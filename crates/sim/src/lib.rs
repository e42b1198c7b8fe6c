//! A discrete-event simulator of physical CPUs, VCPUs and tasks.
//!
//! [`policy::cpu`], which is the code that the hypervisor runs, decides which VCPU runs, and until
//! when; [`policy::task`] decides which task runs in a VCPU.
//! The simulator adds what happens outside: jobs are released, execute for a
//! time, and end; they access memory ([`Accesses`]), for which VCPUs have budgets
//! ([`policy::bandwidth`]) and which delays others ([`Contention`]); they hold resources in critical
//! sections ([`Locks`]), which go to them as [`policy::lock`] says. Time is whole nanoseconds. A simulation is a function of the
//! system and the seed, and its memory does not grow with simulated time.
//!
//! ```
//! use sim::{
//!     Accesses, Execution, Limits, Pcpu, Release, Silent, Simulation, System, Task, Vcpu,
//! };
//! use policy::server::{Parameters, Policy};
//! use policy::time::{Duration, Instant};
//!
//! let task = Task {
//!     name: "control".into(),
//!     offset: 0,
//!     period: 10_000_000,
//!     deadline: 10_000_000,
//!     release: Release::Periodic,
//!     execution: Execution::Always(3_000_000),
//!     accesses: Accesses::None,
//! };
//! let server = Policy::Deferrable(Parameters {
//!     budget: Duration(2_000_000),
//!     period: Duration(5_000_000),
//!     start: Instant(0),
//!     overrun: Duration::ZERO,
//! });
//! let vcpu = Vcpu::new("rt/0", server, vec![task]);
//! let system = System::new(vec![Pcpu { vcpus: vec![vcpu] }]);
//! let mut simulation = Simulation::new(&system, 1)?;
//! simulation.run(Limits { until: 1_000_000_000, events: u64::MAX }, &mut Silent)?;
//! let control = simulation.task(0, 0, 0);
//! assert_eq!((control.jobs, control.misses), (100, 0));
//! assert_eq!(control.response_max_ns, 6_000_000); // 2 ms, a gap of 3 ms, 1 ms
//! # Ok::<(), sim::Error>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod job;
mod locks;
mod memory;
mod observer;
mod passage;
mod pcpu;
mod random;
mod rings;
mod simulation;
mod statistics;
mod system;
mod tasks;
mod time;
mod vcpu;

pub use error::Error;
pub use observer::{Event, Observer, Silent};
pub use simulation::{Ended, Limits, Simulation};
pub use statistics::{TaskStatistics, VcpuStatistics};
pub use system::{
    Accesses, Channel, Compensation, Contention, Execution, Locks, Memory, MemoryBudget, NO_RANK,
    Overheads, Pcpu, Pool, RESOURCES_MAX, Release, Section, Sections, System, Task, TaskPlace,
    Vcpu,
};
pub use tasks::{TASKS_MAX, TaskSet};
