//! A guest that colours its own memory: it finds the colours of its last-level cache, takes pages of
//! its RAM by colour, and gives tasks stacks and data in pages of theirs.
//!
//! Under a virtual last-level cache the colours found are those of the VM, from 0 on, and a page of
//! guest colour `i` lies in the `i`-th colour that the VM has on the host (vCache, section 4.1).
//!
//! ```no_run
//! # #[cfg(target_os = "none")]
//! # fn guest() -> Result<(), Box<dyn core::error::Error>> {
//! use rt::coloring::{Memory, Task, geometry};
//!
//! let geometry = geometry()?;
//! let mut memory = Memory::take(geometry)?;
//! let mut task = Task::new(&mut memory, "0-2".parse()?, 64 << 10)?;
//! task.run(|data, _context| data.fill(1), 0);
//! # Ok(())
//! # }
//! ```

mod geometry;
#[cfg(target_os = "none")]
mod memory;

#[cfg(target_os = "none")]
pub use crate::arch::task::{Body, STACK_BYTES, Task, Thread};
#[cfg(target_os = "none")]
pub use geometry::geometry;
pub use geometry::{NoColors, geometry_of};
#[cfg(target_os = "none")]
pub use memory::{Memory, MemoryError, PageFrame};
