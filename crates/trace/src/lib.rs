//! Traces: what happened on the PCPUs of a system, executed or simulated: read, written,
//! compared, decided again, exported.
#![forbid(unsafe_code)]

pub mod compare;
pub mod csv;
mod event;
mod file;
pub mod gantt;
mod header;
pub mod live;
pub mod perfetto;
pub mod records;
mod replay;
pub mod rings;
pub mod simulation;
mod source;
pub mod timeline;
mod trace;

pub use event::{Entry, Event, JobMark, LockStep, Step, VcpuId};
pub use file::{ReadError, TraceFile, Writer};
pub use header::{Header, Origin, ServerHeader, TaskHeader, VcpuHeader, VmHeader};
pub use replay::{
    Choice, Impossible, Memory, Planned, Replay, ReplayError, Rules, Stopped, Why, replay,
    scheduler,
};
pub use simulation::Recorder;
pub use source::Source;
pub use trace::{Clock, Trace};
