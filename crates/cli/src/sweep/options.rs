//! Options of `bulkhead sweep`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

/// Evaluate random systems over a grid of parameters
///
/// What share of systems is schedulable, what do schemes need, how close do simulations come to
/// bounds? Uses all CPUs here. The same experiment gives the same table, however many there are.
/// Ctrl-C keeps what is finished; the same command goes on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead sweep experiments/sweeps/servers.toml -o build/servers
  bulkhead sweep servers.toml --jobs 2 --json           writes servers.sweep/systems.parquet
  bulkhead sweep servers.toml --dask tcp://host:8786    the same table, computed by a cluster

Exit status: 0 done, 1 a simulation refutes an analysis, 2 bad input.")]
pub struct SweepOptions {
    /// Experiment (.toml)
    #[arg(value_name = "EXPERIMENT")]
    pub file: PathBuf,
    /// The folder for the table, and for what an interrupted sweep has finished [default: EXPERIMENT with the ending .sweep]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How many systems are evaluated at a time [default: one for each CPU]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Compute on the Dask cluster with this scheduler, as tcp://host:8786; needs the package `bulkhead` for Python there and here
    #[arg(long, value_name = "ADDRESS", conflicts_with = "jobs")]
    pub dask: Option<String>,
}

impl SweepOptions {
    /// The folder for results.
    pub fn folder(&self) -> PathBuf {
        match &self.output {
            Some(folder) => folder.clone(),
            None => Path::new(&self.file).with_extension("sweep"),
        }
    }
}
