//! Options of `bulkhead prove`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::words::{append, scope_option, time};

/// Prove that a system is isolated: with numbers, without and with its plan
///
/// Checks the system without isolation (the same VMs without colours and limits of memory
/// accesses) and with its plan, simulates the plan, runs both on QEMU in the time of the cache
/// model, and puts bound, simulation and execution of every task into one table. A run ends
/// when all VMs with tasks are off. Needs `make cachescope`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead prove systems/rover.toml -o build/demo --append linux=bulkhead.job=demo
  bulkhead prove system.toml --json > proof.json

The folder gets report.html, results.json, both plans, traces and counts.

Exit status: 0 everything holds with the plan, 1 something does not, 2 bad input; 129, 130 and 143:
ended by SIGHUP, SIGINT (Ctrl-C) and SIGTERM, and nothing is proven.")]
pub struct ProveOptions {
    /// Description (.toml)
    #[arg(value_name = "DESCRIPTION")]
    pub file: PathBuf,
    /// Where the results go [default: DESCRIPTION with the ending .proof]
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Append to the command line of a VM; may be given several times
    #[arg(long, value_name = "VM=ARGS", value_parser = append)]
    pub append: Vec<(String, String)>,
    /// A run that takes longer is stopped, and nothing is proven
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = time)]
    pub timeout: Duration,
    /// Simulated time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = simulated)]
    pub simulate: units::Duration,
    /// An option of cachescope, such as bus=20ns; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = scope_option)]
    pub cachescope_option: Vec<String>,
    /// The hypervisor [default: build/hypervisor.elf here or in a folder above]
    #[arg(long, value_name = "ELF", env = "BULKHEAD_HYPERVISOR", hide_env_values = true)]
    pub hypervisor: Option<PathBuf>,
}

fn simulated(text: &str) -> Result<units::Duration, String> {
    let time = time(text)?;
    u64::try_from(time.as_nanos()).map(units::Duration).map_err(|_| "the time is too long".into())
}
