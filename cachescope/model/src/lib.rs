//! A model of the caches and the memory bus of a multicore chip: their work for a stream of data accesses, and the owners on
//! whose account it goes.
//!
//! The crate knows nothing of QEMU: blocks of instructions and accesses by
//! physical address go into a [`Machine`], counts, time series and execution
//! times of jobs come out. `bulkhead-cachescope` feeds it from QEMU.
//!
//! ```
//! use bulkhead_cachescope_model::{Access, Block, Machine, Options, Position};
//!
//! let options = Options::parse(
//!     ["out=/tmp/x", "l1=none", "llc=64KiB:4", "vm=a:0x40000000+0x1000", "cpu=0:a"],
//!     |_| unreachable!("no file of ranges is named"),
//! )?;
//! let mut machine = Machine::new(options, 1);
//! machine.enter_block(0, Block { instructions: 1, first_access: 0, privileged: false });
//! let position = Position { at: 0, next: 1 };
//! machine.access(position, Access { address: 0x4000_0040, store: false });
//! assert_eq!(machine.summary().totals.llc_misses, 1);
//! # Ok::<(), bulkhead_cachescope_model::OptionError>(())
//! ```
#![forbid(unsafe_code)]

mod bus;
mod cache;
mod cpu;
mod format;
mod geometry;
mod guest_time;
mod hierarchy;
mod instruction;
mod jobs;
mod machine;
mod options;
mod output;
mod owners;
mod pace;
mod path;
mod preset;
mod ranges;
mod replacement;
mod series;
mod spaces;
mod start;
mod suffered;
mod summary;
mod tally;
mod time;

pub use bus::{Bus, Transfer};
pub use cache::{Cache, Found, Victim};
pub use cpu::{Counters, Cpu, Position};
pub use format::Format;
pub use geometry::{Geometry, GeometryError};
pub use guest_time::GuestTime;
pub use hierarchy::{Cost, Hierarchy, Request};
pub use instruction::{
    COUNTER_BYTES, LineOperation, Said, ZERO_BLOCK, accesses_memory, is_counter, is_mark,
    looks_for_interrupts, may_wait, new_space,
};
pub use jobs::{Event, Job, Jobs, Mark};
pub use machine::{ALL_TOLD, Access, Block, Machine, Operations, Skipped};
pub use options::{CPUS_MAX, OptionError, Options};
pub use output::{prepare, write};
pub use owners::{ADDRESS_END, OWNERS_MAX, Owner, Owners, OwnersError};
pub use path::{Limit, Longest, Path, PathCounts};
pub use replacement::{Policy, Replacement};
pub use series::{Row, Series};
pub use start::Start;
pub use suffered::Suffered;
pub use summary::Summary;
pub use tally::{ByColor, Eviction, Tally, Totals};
pub use time::{Clock, Duration};
