//! Experiments over random systems: what share of them is schedulable, what do schemes need, how
//! close do simulations come to bounds?
//!
//! An [`Experiment`] is a grid of points with the same number of systems each. The work is cut into
//! [shards](Shard): some systems of one point. System `i` of point `p` is a stream of the seed of its own,
//! so that what comes out does not depend on how many workers there are, which of them computes what,
//! and in which order. Finished shards go into a [`Journal`], from which an interrupted sweep goes on;
//! when all are there they become one table in a Parquet file, the same to the byte each time.
//!
//! | module | what |
//! |---|---|
//! | [`allocation`] | systems of vCache: what schemes need to allocate them |
//! | [`locks`] | systems of vMPCP: whether they are schedulable, by server and analysis |
//! | [`servers`] | VCPUs with servers on a PCPU: planned, analysed, simulated |
//! | [`family`] | computations that do not depend on each other, on several threads |
//!
//! ```
//! use std::num::NonZeroUsize;
//! use sweep::{Experiment, Journal, Summary};
//!
//! let text = r#"
//! title = "Schedulable systems by utilisation"
//! seed = 1
//! systems = 20
//!
//! [grid]
//! utilization = { from = 0.2, to = 0.6, step = 0.2 }
//!
//! [servers]
//! vcpus = 2
//! simulate_ms = 200
//! "#;
//! let experiment = Experiment::from_toml("example.toml", text)?;
//! assert_eq!((experiment.points().len(), experiment.shards()), (3, 3));
//!
//! let folder = tempfile::tempdir()?;
//! let mut journal = Journal::open(folder.path(), &experiment)?;
//! let complete = journal.fill(&experiment, NonZeroUsize::MIN, |_| true)?;
//! assert!(complete);
//! let summary = Summary::new(&experiment, &journal);
//! assert!(summary.holds() && summary.points[0].systems == 20);
//! let table = journal.finish(&experiment)?;
//! assert!(table.ends_with("systems.parquet"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod allocation;
mod axis;
mod error;
mod experiment;
pub mod family;
mod journal;
mod kind;
mod lines;
pub mod locks;
mod parquet_file;
mod pool;
mod server_kind;
pub mod servers;
mod shard;
mod summary;
mod table;

pub use axis::Scalar;
pub use error::Error;
pub use experiment::{Experiment, Finished, Point};
pub use journal::{Journal, Recorded};
pub use shard::Shard;
pub use summary::{PointSummary, Summary};
pub use table::{Cell, Column, Summarize};

/// A digest of the sources on which results depend. It tells results of this version from results
/// of others.
pub const SOURCES: &str = env!("BULKHEAD_SOURCES");

/// The file with the table, in the folder of a sweep.
pub const TABLE: &str = "systems.parquet";
