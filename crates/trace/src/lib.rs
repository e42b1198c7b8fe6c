//! Traces: what happened on the PCPUs of a system, executed or simulated.
#![forbid(unsafe_code)]

mod event;
mod file;
mod header;
mod trace;

pub use event::{Entry, Event, JobMark, Step, VcpuId};
pub use file::{ReadError, Writer};
pub use header::{Header, Origin, ServerHeader, VcpuHeader, VmHeader};
pub use trace::{Clock, Trace};
