//! Options of `bulkhead run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lab::cachescope;

use crate::failure::Failure;
use crate::words::{append, time};

/// What runs a system.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum On {
    /// The hypervisor on a board of QEMU
    Qemu,
    /// Linux and KVM on this machine
    Kvm,
}

impl On {
    /// Refuses options that are given, and that have a meaning on QEMU only.
    pub fn refuse(self, only: &[(&str, bool)]) -> Result<(), Failure> {
        match only.iter().find(|(_, given)| *given) {
            Some((option, _)) if self == Self::Kvm => {
                let text = format!(
                    "`--{option}` has a meaning on QEMU only\nhelp: remove it, or `--on kvm`"
                );
                Err(Failure::new("usage", text))
            }
            _ => Ok(()),
        }
    }
}

/// Run a system on QEMU, or under KVM on this machine
///
/// The command shows the lines of all VMs, each with the name of its VM, and a summary at the end.
/// With --console, your keyboard belongs to one VM.
///
/// With --on kvm, Linux and KVM run the VMs of a system on the platform `linux-kvm`, with the servers and
/// priorities of the description. Times are then measured on this machine, and nothing is promised.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  bulkhead run systems/demo.toml --until-off --timeout 60s
  bulkhead run systems/demo.toml --console linux    Ctrl-] q leaves, Ctrl-] ? helps
  bulkhead run systems/demo.toml --consoles vms     a window for each VM, in which this runs:
                                                    socat -,raw,echo=0 UNIX-CONNECT:vms/linux.sock
  bulkhead run systems/demo.toml --append linux=bulkhead.job=demo
  bulkhead run demo.plan.dts --deterministic        the same run every time
  bulkhead run demo.plan.dts --deterministic --cachescope build/scope
                                                    which VM evicts whose cache lines
  bulkhead run systems/demo.toml --trace build/demo.trace
                                                    when each VCPU runs: `bulkhead trace`
  sudo bulkhead run --on kvm systems/kvm-first.toml real-time guests on this machine

Exit status: 0 all is well, 1 a VM crashed or was stopped, a task missed its deadline or
took longer than its bound, a guest printed FAILED, or the run took longer than --timeout,
2 bad input; 129, 130 and 143: ended by SIGHUP, SIGINT (Ctrl-C) and SIGTERM.")]
pub struct RunOptions {
    /// Description (.toml) or plan (.dts, .dtb)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The machine that runs it
    #[arg(long, value_name = "MACHINE", value_enum, default_value = "qemu")]
    pub on: On,
    /// Work at the console of this VM
    #[arg(long, value_name = "VM")]
    pub console: Option<String>,
    /// Open the console of each VM as a Unix socket NAME.sock in this folder, while the run lasts
    ///
    /// A client sees the last 8 KiB of its VM's output and all later output, without the name in front. Its input
    /// goes to the VM (with --on kvm, nowhere). A client that does not read is dropped when 256 KiB wait for it.
    #[arg(long, value_name = "DIR")]
    pub consoles: Option<PathBuf>,
    /// Append to the command line of a VM; may be given several times
    #[arg(long, value_name = "VM=ARGS", value_parser = append)]
    pub append: Vec<(String, String)>,
    /// Let each instruction take 1 ns, so that every run is the same; Linux shows its first line after half a minute
    #[arg(long)]
    pub deterministic: bool,
    /// Count which VM evicts whose cache lines, into this folder (needs --deterministic and `make cachescope`)
    #[arg(long, value_name = "DIR", requires = "deterministic")]
    pub cachescope: Option<PathBuf>,
    /// Pass an option to cachescope, such as preset=exynos-5422; may be given several times
    #[arg(long, value_name = "KEY=VALUE", requires = "cachescope", value_parser = cachescope::option)]
    pub cachescope_option: Vec<String>,
    /// Let QEMU execute 500 instructions of each CPU in turn: timers are then late by microseconds, not by a millisecond; the run takes twice as long (needs --deterministic and `make cachescope`)
    #[arg(long, requires = "deterministic", conflicts_with = "cachescope")]
    pub short_turns: bool,
    /// Record what the hypervisor does in this file, for `bulkhead trace`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Fail if a VM does not switch itself off
    #[arg(long)]
    pub until_off: bool,
    /// Stop the run after this time, with exit status 1
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub timeout: Option<Duration>,
    /// Write the bootable image to this file and do not run it
    #[arg(long, value_name = "OUT", conflicts_with_all = ["console", "consoles", "deterministic", "cachescope", "short_turns", "trace", "until_off", "timeout", "log"])]
    pub image_only: Option<PathBuf>,
    /// Write all output of the console to this file [default: a log beside the image, named after the system]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Image of the hypervisor [default: what BULKHEAD_HYPERVISOR names, or build/hypervisor.elf in this folder or in one above it]
    #[arg(long, value_name = "ELF")]
    pub hypervisor: Option<PathBuf>,
    /// Tell cachescope, in a host that QEMU emulates, which frames are the VMs' (`cargo xtask host-x86 --cachescope`)
    #[arg(long, hide = true)]
    pub tell_frames: bool,
    /// Pass this argument to QEMU; may be given several times
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub qemu_arg: Vec<String>,
}

impl RunOptions {
    /// Refuses what has a meaning on QEMU only.
    pub fn check(&self) -> Result<(), Failure> {
        let only = [
            ("console", self.console.is_some()),
            ("deterministic", self.deterministic),
            ("image-only", self.image_only.is_some()),
            ("hypervisor", self.hypervisor.is_some()),
            ("qemu-arg", !self.qemu_arg.is_empty()),
        ];
        if self.tell_frames && self.on == On::Qemu {
            let text = "`--tell-frames` has a meaning with `--on kvm` only\nhelp: remove it";
            return Err(Failure::new("usage", text));
        }
        self.on.refuse(&only)
    }
}
