//! Options of `bulkhead sim`.

use std::path::PathBuf;

use clap::Args;
use lab::simulate::SEED;
use model::{Assume, Assumptions, Contention, Execution};
use units::Duration;

/// Simulate the tasks and VCPUs of a system
///
/// VCPUs are chosen by the code that the hypervisor runs; jobs of tasks are released, execute
/// and end as the description says. Shows response times, missed deadlines, and what each
/// VCPU got. Ctrl-C shows the results so far.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead sim systems/demo.toml
  bulkhead sim systems/servers.toml --until hyperperiod
  bulkhead sim systems/servers.toml --execution uniform --seed 7 --until 1000s
  bulkhead sim systems/servers.toml --assume idle --trace build/sim.trace
  bulkhead sim systems/servers.toml --like build/run.trace --trace build/sim.trace

Exit status: 0 all deadlines were met, 1 one was missed, 2 bad input.")]
pub struct SimOptions {
    /// Description (.toml) or plan (.dts, .dtb)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Simulated time, or `hyperperiod`: the last offset and twice the time after which all repeats
    /// [default: 10s, with --like the length of the trace]
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub until: Option<Until>,
    /// Stop after so many releases, completions and timers
    #[arg(long, value_name = "N")]
    pub events: Option<u64>,
    /// How long jobs execute, and how often sporadic tasks release some
    #[arg(long, value_name = "MODEL", value_enum, default_value_t = Execution::Worst)]
    pub execution: Execution,
    /// What jobs and VCPUs have to do as in this trace, of `bulkhead run --trace`
    #[arg(long, value_name = "TRACE", conflicts_with = "execution")]
    pub like: Option<PathBuf>,
    /// Where random numbers start; equal seeds give equal simulations
    #[arg(long, value_name = "N", default_value_t = SEED)]
    pub seed: u64,
    /// What VCPUs without tasks do, and those of Linux besides their tasks
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Assume::Busy)]
    pub assume: Assume,
    /// How memory accesses of PCPUs delay each other, and what VCPUs access that are always busy
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Contention::Stream)]
    pub contention: Contention,
    /// Write all that happens to this file, for `bulkhead trace`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

impl SimOptions {
    /// What is assumed.
    pub fn assumptions(&self) -> Assumptions {
        let Self { execution, assume, contention, .. } = *self;
        Assumptions { execution, assume, contention }
    }
}

/// Where a simulation ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Until {
    /// At this time.
    Time(Duration),
    /// When all that repeats has repeated.
    Hyperperiod,
}

fn until(text: &str) -> Result<Until, String> {
    if text == "hyperperiod" {
        return Ok(Until::Hyperperiod);
    }
    match units::parse::<Duration>(text) {
        Ok(Duration(0)) => Err("the time must be more than 0".into()),
        Ok(time) => Ok(Until::Time(time)),
        Err(_) => Err("expected a time with a unit, such as 10s, or hyperperiod".into()),
    }
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
