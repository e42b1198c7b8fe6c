//! The console's messages about the hypervisor, the VMs and their tasks.

mod lines;
mod messages;
mod tally;

pub use messages::{Report, Told};
pub use tally::{Known, Tally, Vm};
