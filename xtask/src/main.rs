//! Builds, checks and measures what cargo alone cannot: bare-metal programs for
//! another architecture, and the files of the guests. Run it as `cargo xtask`.

#![forbid(unsafe_code)]

mod bench_exits;
mod bench_host_x86;
mod build;
mod cargo;
mod elf;
mod frames;
mod fuzz;
mod guest;
mod host_x86;
mod lint;
mod release;
mod size;
mod synchronised;
mod test;
mod toolchain;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use test::Tier;
use workspace::Workspace;

/// Builds, checks and measures what cargo alone cannot.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Count the EL2 instructions of every exit path in QEMU; fail above a limit.
    BenchExits(bench_exits::Options),
    /// Measure what VCPUs under KVM cost each other in the emulated x86 host, in instructions; fail above a limit.
    BenchHostX86(bench_host_x86::Options),
    /// Build the hypervisor, the bare-metal guests and the files of the Linux guest into build/.
    Build {
        /// Build only these parts.
        #[arg(value_enum)]
        parts: Vec<build::Part>,
    },
    /// Run every fuzz target.
    Fuzz {
        /// For how long to run each, in seconds.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Build a bare-metal guest that uses `bulkhead-rt`, a package of your own.
    Guest {
        /// The folder of the package, which has one program.
        folder: PathBuf,
        /// Where the flat file goes, the `kernel` of a VM [default: NAME.bin in the folder].
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Run a system under KVM in an emulated x86 host, in which each instruction takes 1 ns and every run is the same.
    HostX86(host_x86::Options),
    /// Run clippy on everything, for this machine and for bare metal, and build the documentation; warnings are errors.
    Lint,
    /// Build the archives, packages and wheel of a release into build/release, from a commit with a section in CHANGELOG.md.
    Release {
        /// Only print which files they have.
        #[arg(long)]
        list: bool,
        /// The program that builds the wheel for Python [default: maturin in PATH].
        #[arg(long)]
        maturin: Option<PathBuf>,
    },
    /// Print the size of the hypervisor's code and read-only data, and look at its stack frames and barriers; fail above the
    /// limit.
    Size,
    /// Build and run tests of the workspace, as many programs at once as there are CPUs: all but those that take long.
    Test {
        /// Only those of `cargo test`, which boot no machine.
        #[arg(long)]
        quick: bool,
        /// Those that take long, too.
        #[arg(long, conflicts_with = "quick")]
        all: bool,
        /// Also measure the figures that have limits, beside the tests: `bench-exits`.
        #[arg(long, conflicts_with = "quick")]
        figures: bool,
        /// Only build the tests.
        #[arg(long, conflicts_with = "figures")]
        no_run: bool,
    },
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        // Its exit status is that of the run.
        Task::HostX86(options) => return host_x86::run(&options),
        task => run(task),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let workspace = Workspace::find()?;
    match task {
        Task::BenchExits(options) => bench_exits::run(&workspace, &options),
        Task::BenchHostX86(options) => bench_host_x86::run(&workspace, &options),
        Task::Build { parts } => build::run(&workspace, &parts),
        Task::Fuzz { seconds } => fuzz::run(&workspace, seconds),
        Task::Guest { folder, output } => guest::run(&workspace, &folder, output),
        Task::HostX86(_) => unreachable!("it has an exit status of its own"),
        Task::Lint => lint::run(&workspace),
        Task::Release { list, maturin } => release::run(&workspace, list, maturin),
        Task::Size => size::run(&workspace),
        Task::Test { quick, all, figures, no_run } => {
            let tier = match (quick, all) {
                (true, _) => Tier::Quick,
                (false, false) => Tier::Usual,
                (false, true) => Tier::All,
            };
            match no_run {
                true => test::build(&workspace, tier).map(drop),
                false => test::run(&workspace, tier, figures),
            }
        }
    }
}
