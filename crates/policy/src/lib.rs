//! The decisions that Bulkhead takes at run time.
//!
//! The hypervisor, the simulator and the tools call the same code, so that
//! what is simulated and tested is what runs. It is pure: no clock, no I/O, no
//! allocation (state that depends on the size of the machine lies in slices of
//! the caller), bounded work per call, and the same results for the same calls.
//!
//! - [`channel`]: which messages between VMs pass, and when they interrupt;
//! - [`color`]: which memory lies in which part of the last-level cache;
//! - [`server`]: how much processor time a VCPU gets, and when;
//! - [`bandwidth`]: how many memory accesses a VCPU may make, and when;
//! - [`cpu`]: which VCPU a physical CPU runs;
//! - [`task`]: which of its tasks a VCPU runs;
//! - [`lock`]: which task may use what several of them share;
//! - [`pace`]: how often a CPU is interrupted for VCPUs that do not run there;
//! - [`rate`]: how often VCPUs enter sections, and ring for channels;
//! - [`restart`]: after which ends a VM starts again;
//! - [`time`]: instants and durations for all of them.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod bandwidth;
pub mod channel;
pub mod color;
pub mod cpu;
pub mod lock;
pub mod pace;
pub mod rate;
pub mod restart;
pub mod server;
pub mod task;
pub mod time;
