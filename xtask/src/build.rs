//! Builds everything that a run of Bulkhead needs besides the `bulkhead` command.

use std::fs;

use anyhow::{Context, Result, bail};
use bulkhead_linux_guest::file;
use clap::ValueEnum;

use crate::cargo;
use crate::elf;
use crate::toolchain::Toolchain;
use crate::workspace::{GUESTS, HYPERVISOR, Workspace};

/// What can be built on its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Part {
    /// build/hypervisor.elf
    Hypervisor,
    /// build/guests/*.bin, the bare-metal guests
    Guests,
    /// build/linux/vmlinuz and build/linux/initrd.cpio
    Linux,
    /// build/linux/victims.cpio, the Linux guest with programs to measure
    LinuxVictims,
    /// build/linux/cyclictest.cpio, the Linux guest with cyclictest
    LinuxCyclictest,
}

/// Builds these parts, or all if none is named. Files that would not change are left untouched.
pub fn run(workspace: &Workspace, parts: &[Part]) -> Result<()> {
    for part in if parts.is_empty() { Part::value_variants() } else { parts } {
        match part {
            Part::Hypervisor => {
                hypervisor(workspace).context("the hypervisor cannot be built")?;
            }
            Part::Guests => {
                guests(workspace).context("the bare-metal guests cannot be built")?;
            }
            Part::Linux => {
                bulkhead_linux_guest::build(&workspace.build("cache"), &workspace.build("linux"))
                    .context("the Linux guest cannot be built")?;
            }
            Part::LinuxVictims => {
                let (cache, out) = (workspace.build("cache"), workspace.build("linux"));
                bulkhead_linux_guest::build_victims(&cache, &out)
                    .context("the programs of the Linux guest cannot be built")?;
            }
            Part::LinuxCyclictest => {
                let (cache, out) = (workspace.build("cache"), workspace.build("linux"));
                bulkhead_linux_guest::build_cyclictest(&cache, &out)
                    .context("the Linux guest with cyclictest cannot be built")?;
            }
        }
    }
    Ok(())
}

/// For the compiler: the image is smaller than 1 MiB, so that one instruction reaches all of it.
const CODE_MODEL: &str = "-Ccode-model=tiny";

/// Not in one command with the guests: cargo would give both the features that either of them asks for.
fn hypervisor(workspace: &Workspace) -> Result<()> {
    let mut command = Toolchain::chosen(workspace)?.cargo("rustc");
    command.current_dir(workspace.root()).args(["--package", HYPERVISOR, "--bins"]);
    let built = cargo::executables(command, &[CODE_MODEL])?;
    let [program] = built.as_slice() else {
        bail!("package {HYPERVISOR} has {} programs, expected one", built.len());
    };
    file::write_if_changed(&workspace.hypervisor_elf(), &file::read(&program.path)?)
}

/// A flat file for each program in the package of the guests.
fn guests(workspace: &Workspace) -> Result<()> {
    let mut command = Toolchain::chosen(workspace)?.cargo("build");
    command.current_dir(workspace.root()).args(["--package", GUESTS, "--bins"]);
    for program in cargo::executables(command, &[])? {
        let flat = elf::flatten(&fs::read(&program.path)?)
            .with_context(|| format!("{} cannot be flattened", program.path.display()))?;
        let path = workspace.build("guests").join(format!("{}.bin", program.name));
        file::write_if_changed(&path, &flat.bytes)?;
    }
    Ok(())
}
