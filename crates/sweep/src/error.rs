//! Errors of a sweep other than mistakes in an experiment.

use std::path::PathBuf;

/// The reason why a sweep cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A random system could not be drawn.
    #[error(transparent)]
    Draw(#[from] taskgen::Error),
    /// Tasks that cannot be allocated at all.
    #[error(transparent)]
    Planner(#[from] planner::Error),
    /// A task that cannot be analysed.
    #[error(transparent)]
    Task(#[from] analysis::TaskError),
    /// A server that cannot be analysed.
    #[error(transparent)]
    Server(#[from] analysis::ServerError),
    /// A system that cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] sim::Error),
    /// Parameters that make no system.
    #[error("{0}")]
    Parameters(String),
    /// A system of a sweep that failed.
    #[error("system {index} of point {point} ({values}): {error}")]
    System {
        /// The point, from 0.
        point: usize,
        /// Parameters of the system.
        values: String,
        /// The system, from 0.
        index: u64,
        /// The error.
        error: Box<Error>,
    },
    /// A file or folder that cannot be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// `read`, `write`, `lock` or `remove`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Results of another experiment, or of another version of this program.
    #[error(
        "{} has results of {whose}\nhelp: name another folder, or remove this one", path.display()
    )]
    Foreign {
        /// The file with these results.
        path: PathBuf,
        /// The owner of the results.
        whose: &'static str,
    },
    /// Another process uses the file.
    #[error("another process is writing to {}\nhelp: wait for it, or name another folder", path.display())]
    Busy {
        /// The file that is locked.
        path: PathBuf,
    },
    /// A shard that another process computed does not belong to this experiment.
    #[error("what a worker returned is no shard of this experiment: {0}")]
    Shard(String),
    /// A table that cannot be written.
    #[error("cannot write the table: {0}")]
    Table(String),
}
