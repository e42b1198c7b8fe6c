//! VCPUs with servers on a PCPU: budgets are planned, response times bounded, and jobs simulated.
//!
//! The tasks of all VCPUs together have a given utilisation (UUniFast). Tasks and VCPUs have
//! log-uniform periods; a deadline is the end of the period, and a shorter period has a higher
//! priority. Each VCPU gets the least budget with which its tasks meet their deadlines if the VCPU
//! gets this budget in each period. Then the PCPU is analysed with all VCPUs, and simulated: first
//! releases are at random times, and all jobs take their longest execution times.

mod evaluate;
mod sweep;
mod system;

pub use evaluate::{Outcome, evaluate};
pub use sweep::Settings;
pub use system::{Parameters, System, Task, Vcpu};
