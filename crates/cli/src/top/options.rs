//! Options of `bulkhead top`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::run::On;
use crate::words::{append, time};

/// Run a system, and show what its VCPUs and tasks do
///
/// On a terminal the screen shows, for each VCPU in the last interval, processor time, the part of its budget that it
/// used, and its accesses to memory, and for each task its jobs and misses since the start. The arrow keys scroll,
/// and q leaves. If the output is no terminal, the command prints a table in each interval. The log has the console
/// of the VMs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead top systems/locks.toml --deterministic
  bulkhead top systems/servers.toml --deterministic --short-turns
  bulkhead top systems/demo.toml --interval 200ms | tee top.txt
  bulkhead top systems/demo.toml --once --json

Times are those in the machine. A budget is used up if the VCPU executed for all of it in one go or in parts;
a VCPU is throttled if it had made all accesses that it may make.

Exit status: 0 all was well, 1 a VM crashed or was stopped, a task missed its deadline or took longer than
its bound, or the run took longer than --timeout, 2 bad input; 129, 130 and 143: ended by SIGHUP, SIGINT
(Ctrl-C) and SIGTERM.")]
pub struct TopOptions {
    /// Description (.toml) or plan (.dts, .dtb)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Time from one table to the next, on this host
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub interval: Duration,
    /// Show one table, of the first interval, and end the run
    #[arg(long)]
    pub once: bool,
    /// The machine that runs it
    #[arg(long, value_name = "MACHINE", value_enum, default_value = "qemu")]
    pub on: On,
    /// Append to the command line of a VM; may be given several times
    #[arg(long, value_name = "VM=ARGS", value_parser = append)]
    pub append: Vec<(String, String)>,
    /// Let each instruction take 1 ns, so that every run is the same
    #[arg(long)]
    pub deterministic: bool,
    /// Let QEMU execute 500 instructions of each CPU in turn, and count memory accesses for VMs with a limit on them (needs --deterministic and `make cachescope`)
    #[arg(long, requires = "deterministic")]
    pub short_turns: bool,
    /// Stop the run after this time, with exit status 1
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub timeout: Option<Duration>,
    /// Write all output of the console to this file [default: a log beside the image, named after the system]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Image of the hypervisor [default: what BULKHEAD_HYPERVISOR names, or build/hypervisor.elf in this folder or in one above it]
    #[arg(long, value_name = "ELF")]
    pub hypervisor: Option<PathBuf>,
    /// Pass this argument to QEMU; may be given several times
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub qemu_arg: Vec<String>,
}

impl TopOptions {
    /// Refuses what has a meaning on QEMU only.
    pub fn check(&self) -> Result<(), Failure> {
        let only = [
            ("deterministic", self.deterministic),
            ("hypervisor", self.hypervisor.is_some()),
            ("qemu-arg", !self.qemu_arg.is_empty()),
        ];
        self.on.refuse(&only)
    }
}
