//! Options of `bulkhead sim`.

use std::path::PathBuf;

use clap::Args;
use lab::simulate::SEED;
use model::{Assume, Assumptions, Contention, Execution};
use units::Duration;

use crate::words::{self, seed};

/// Simulate the tasks and VCPUs of a system
///
/// The code of the hypervisor chooses the VCPUs; jobs of tasks are released, execute and end as the
/// description says. The command shows response times, missed deadlines, and the processor time of
/// each VCPU. Ctrl-C shows the results so far. With `--until hyperperiod` it says first how much it
/// simulates, and after half a second about how long that takes.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead sim systems/demo.toml
  bulkhead sim systems/servers.toml --until hyperperiod
  bulkhead sim systems/servers.toml --execution uniform --seed 7 --until 1000s
  bulkhead sim systems/servers.toml --assume idle --trace build/sim.trace
  bulkhead sim systems/servers.toml --like build/run.trace --trace build/sim.trace

Exit status: 0 all deadlines were met, 1 a deadline was missed, 2 bad input, 130 ended by Ctrl-C.")]
pub struct SimOptions {
    /// Description (.toml) or plan (.dts, .dtb)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Simulated time, or `hyperperiod`: the largest offset plus two hyperperiods (the time after
    /// which all releases repeat) [default: 10s, with --like the length of the trace]
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub until: Option<Until>,
    /// Stop after this number of releases, completions and timers
    #[arg(long, value_name = "N")]
    pub events: Option<u64>,
    /// Execution times of jobs, and releases of sporadic tasks
    #[arg(long, value_name = "MODEL", value_enum, default_value_t = Execution::Worst)]
    pub execution: Execution,
    /// Take releases and execution times from this trace, which `bulkhead run --trace` wrote
    #[arg(long, value_name = "TRACE", conflicts_with = "execution")]
    pub like: Option<PathBuf>,
    /// Seed of the random numbers; equal seeds give equal simulations
    #[arg(
        long,
        value_name = "N",
        default_value_t = SEED,
        value_parser = seed,
        allow_negative_numbers = true
    )]
    pub seed: u64,
    /// Load of VCPUs without tasks, and of Linux VCPUs besides their tasks
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Assume::Busy)]
    pub assume: Assume,
    /// How memory accesses of PCPUs delay each other, and which accesses busy VCPUs make
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Contention::Stream)]
    pub contention: Contention,
    /// Write all events to this file, for `bulkhead trace`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

impl SimOptions {
    /// Returns the assumptions of the simulation.
    pub fn assumptions(&self) -> Assumptions {
        let Self { execution, assume, contention, .. } = *self;
        Assumptions { execution, assume, contention }
    }
}

/// The end of a simulation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Until {
    /// The simulation ends at this time.
    Time(Duration),
    /// The simulation ends after the largest offset plus two hyperperiods.
    Hyperperiod,
}

fn until(text: &str) -> Result<Until, String> {
    if text == "hyperperiod" {
        return Ok(Until::Hyperperiod);
    }
    let time = words::time(text).map_err(|why| format!("{why}, or hyperperiod"))?;
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok(Until::Time(Duration(nanoseconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_times_or_the_hyperperiod() {
        assert_eq!(until("hyperperiod"), Ok(Until::Hyperperiod));
        assert_eq!(until("1.5s"), Ok(Until::Time(Duration(1_500_000_000))));
        for wrong in ["0s", "10", "hyper", ""] {
            assert!(until(wrong).is_err(), "{wrong}");
        }
    }
}
