//! Upper bounds for the response times of tasks in VCPUs on physical CPUs.
//!
//! The bounds are for the schedulers of Bulkhead: VCPUs by fixed priorities with the servers of
//! `policy::server`, and in each VCPU tasks by fixed priorities with preemption.
//!
//! - [`mod@response`]: the tasks of a VCPU, under any [`supply`] of processor time;
//! - [`vcpu`]: whether the VCPUs of a PCPU get their budgets;
//! - [`hierarchy`]: both together, for PCPUs with VCPUs with tasks;
//! - [`vcache`]: the same as published in the vCache paper (Eq. 1 to 4);
//! - [`memory`]: what other PCPUs cost by their memory accesses, and budgets against that
//!   (XenThrottle, Eq. 3.1 to 3.8, as published and as they hold);
//! - [`overheads`]: the time that the hypervisor takes;
//! - [`chain`]: how long data takes through several tasks and channels;
//! - [`vmpcp`]: tasks that share resources across VCPUs (vMPCP, Eq. 1 to 16, as published and as
//!   they hold);
//! - [`crpd`]: the delays that tasks cause each other in the cache; [`utilization`]: shares of a processor.
//!
//! All times are whole nanoseconds, and no floating point is used. Each search ends, with a
//! bound or with a typed [`Failure`]. Debug builds compare short windows with a brute-force
//! search.
//!
//! ```
//! use analysis::response::{Workload, response_times};
//! use analysis::supply::{ServerSupply, Supply};
//! use analysis::{Duration, Kind, Server, Task};
//!
//! let ms = |time: u64| Duration(time * 1_000_000);
//! let control = Task::new(ms(1), ms(10))?;
//! let vision = Task::new(ms(5), ms(40))?.with_deadline(ms(30))?;
//! let tasks = [control, vision];
//!
//! // On a PCPU of their own, and in a VCPU that gets 4 ms in each 10 ms.
//! let alone = Workload::new(&tasks);
//! let server = Server::new(Kind::Deferrable, ms(4), ms(10))?;
//! let shared = alone.with_supply(Supply::Server(ServerSupply::new(server)));
//!
//! let time = |workload, task: usize| response_times(&workload)[task].map(|it| it.time);
//! assert_eq!(time(alone, 1), Ok(ms(6)));
//! assert_eq!(time(shared, 1), Ok(ms(26))); // 5, 3 of control, and gaps of 6, 6 and 6
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod brute_force;
pub mod chain;
pub mod crpd;
mod divisor;
mod failure;
pub mod hierarchy;
mod limits;
pub mod memory;
pub mod overheads;
pub mod response;
mod server;
pub mod supply;
mod task;
pub mod terms;
pub mod utilization;
pub mod vcache;
pub mod vcpu;
pub mod vmpcp;
mod window;

pub use crpd::Caches;
pub use failure::{Failure, Reason};
pub use limits::Limits;
pub use policy::server::kind::Kind;
pub use server::{Server, ServerError};
pub use task::{Task, TaskError};
pub use window::TOO_LONG;

/// A length of time in nanoseconds.
pub use units::Duration;

/// The longest time that analyses count with, more than 36 years: sums of a few of them fit into
/// 63 bits.
pub const LONGEST: Duration = Duration((1 << 60) - 1);
