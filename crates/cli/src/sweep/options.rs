//! Options of `bulkhead sweep`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::words::jobs;

/// Evaluate random systems over a grid of parameters
///
/// An experiment asks which share of systems is schedulable, how much each scheme needs, or how close simulations
/// come to bounds. The same experiment gives the same table, however many CPUs compute it. Ctrl-C keeps all finished
/// results, and the same command continues from them. For a complete sweep the command shows the table and computes
/// nothing.
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
    /// Folder for the table, and for what an interrupted sweep has finished [default: EXPERIMENT with the ending .sweep]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Evaluate this many systems at a time [default: one for each CPU]
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<NonZeroUsize>,
    /// Compute a complete sweep again, and replace its table
    #[arg(long)]
    pub again: bool,
    /// Compute on the Dask cluster with this scheduler, such as tcp://host:8786; the Python package `bulkhead` must be installed there and here
    #[arg(long, value_name = "ADDRESS", conflicts_with = "jobs")]
    pub dask: Option<String>,
}

impl SweepOptions {
    /// Returns the folder for results.
    pub fn folder(&self) -> PathBuf {
        match &self.output {
            Some(folder) => folder.clone(),
            None => Path::new(&self.file).with_extension("sweep"),
        }
    }
}
