//! VCPUs with servers on a PCPU: budgets are planned, response times bounded, and jobs simulated.
//!
//! The tasks of all VCPUs have a utilisation together (UUniFast) and log-uniform periods, at the
//! end of which their deadlines are; so have VCPUs. Shorter periods go first. Each VCPU gets
//! the least budget with which its tasks are in time if it gets that in each period.
//! Then the PCPU is analysed with all of them, and simulated: first releases at random times, all
//! jobs as long as they can be.

mod evaluate;
mod sweep;
mod system;

pub use evaluate::{Outcome, evaluate};
pub use sweep::Settings;
pub use system::{Parameters, System, Task, Vcpu};
