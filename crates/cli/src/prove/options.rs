//! Options of `bulkhead prove`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lab::cachescope;

use crate::failure::Failure;
use crate::run::On;
use crate::words::{append, time};

/// Prove by analysis, simulation and execution that a system meets its deadlines
///
/// The command analyses the system with its plan, and without isolation: the same VMs without
/// colours and without limits on memory accesses. It simulates the plan, runs both variants on QEMU
/// in the time of the cache model, and compares bound, simulation and execution of every task in
/// one table. A run ends when all VMs with tasks are off. The command needs `make cachescope`.
///
/// With --on kvm, Linux and KVM run a system of the platform `linux-kvm` on this machine. Then nothing
/// is proven: times are measured, not promised. Without isolation VCPUs have no servers, but priorities alone.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead prove systems/rover.toml -o build/demo --append linux=bulkhead.job=demo
  bulkhead prove system.toml --json > proof.json
  bulkhead prove systems/channel.toml --certificate -o build/channel
  sudo bulkhead prove systems/kvm-demo.toml --on kvm -o build/on-my-pc

The folder then contains report.html, results.json, both plans, traces and counts (with --on kvm, no
plans and no counts).

Exit status: 0 everything holds with the plan, 1 something does not hold, 2 bad input; 129, 130 and
143: ended by SIGHUP, SIGINT (Ctrl-C) and SIGTERM, and nothing is proven.")]
pub struct ProveOptions {
    /// Description (.toml)
    #[arg(value_name = "DESCRIPTION")]
    pub file: PathBuf,
    /// The machine that runs it
    #[arg(long, value_name = "MACHINE", value_enum, default_value = "qemu")]
    pub on: On,
    /// Folder for the results [default: DESCRIPTION with the ending .proof]
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Append to the command line of a VM; may be given several times
    #[arg(long, value_name = "VM=ARGS", value_parser = append)]
    pub append: Vec<(String, String)>,
    /// Stop a run that takes longer, and prove nothing; results of an earlier proof are then kept
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = time)]
    pub timeout: Duration,
    /// Simulated time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = simulated)]
    pub simulate: units::Duration,
    /// Pass an option to cachescope, such as bus=20ns; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = cachescope::option)]
    pub cachescope_option: Vec<String>,
    /// Write the bounds as theorems, too, and have Coq check them if it is installed
    #[arg(long)]
    pub certificate: bool,
    /// Have Coq compile the proofs of `--certificate` again, which it otherwise does once (half a minute)
    #[arg(long, requires = "certificate")]
    pub compile_proofs: bool,
    /// Image of the hypervisor [default: what BULKHEAD_HYPERVISOR names, or build/hypervisor.elf in this folder or in one above it]
    #[arg(long, value_name = "ELF")]
    pub hypervisor: Option<PathBuf>,
}

impl ProveOptions {
    /// Refuses what has a meaning on QEMU only.
    pub fn check(&self) -> Result<(), Failure> {
        let only = [
            ("cachescope-option", !self.cachescope_option.is_empty()),
            ("certificate", self.certificate),
            ("hypervisor", self.hypervisor.is_some()),
        ];
        self.on.refuse(&only)
    }
}

fn simulated(text: &str) -> Result<units::Duration, String> {
    let time = time(text)?;
    u64::try_from(time.as_nanos()).map(units::Duration).map_err(|_| "the time is too long".into())
}
