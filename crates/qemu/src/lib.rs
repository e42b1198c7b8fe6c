//! Starts images on QEMU's boards, reads their console and guards the process.
//!
//! ```no_run
//! use std::{path::Path, time::Duration};
//! use qemu::{Board, Machine, Options};
//!
//! let options = Options { timeout: Some(Duration::from_secs(60)), ..Options::default() };
//! let mut session = Machine::start(&Board::virt(), Path::new("build/demo.img"), &options)?;
//! session.wait_for("[bulkhead] ready", Duration::from_secs(10))?;
//! session.send(b"\x1d0");
//! let outcome = session.finish(Duration::from_secs(30));
//! assert!(outcome.log.contains("[bulkhead] power off"), "{outcome}");
//! # Ok::<(), qemu::Error>(())
//! ```
//!
//! No QEMU outlives its [`Session`]: it is killed when the session is dropped,
//! when [`Options::timeout`] is over, and by the kernel when the process that
//! started it dies, however that happens.

#![forbid(unsafe_code)]

mod board;
mod error;
mod log_file;
mod machine;
mod outcome;
mod process;
mod session;
mod version;

pub use board::Board;
pub use error::Error;
pub use log_file::{Log, LogEnd, LogFile};
pub use machine::{Machine, Options, PROGRAM_VARIABLE, Time};
pub use outcome::{Exit, Outcome};
pub use session::{Chunk, Input, Next, Session};
pub use version::{LEAST_VERSION, Version};
