//! Builds everything that a run of Bulkhead needs besides the `bulkhead` command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use image::checkout::X86_GUESTS;
use linux_guest::file;

use crate::cargo;
use crate::elf;
use crate::toolchain::{self, Toolchain};
use crate::workspace::{GUESTS, HYPERVISOR, Workspace};

/// A part that can be built on its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Part {
    /// build/hypervisor.elf
    Hypervisor,
    /// build/guests/*.bin, the bare-metal guests
    Guests,
    /// build/guests/x86-64/*.bin, the guests for Linux/KVM on x86-64. Left out where rustup cannot add their target
    GuestsX86,
    /// build/linux/vmlinuz and build/linux/initrd.cpio
    Linux,
    /// build/linux/victims.cpio, the Linux guest with programs to measure
    LinuxVictims,
    /// build/linux/cyclictest.cpio, the Linux guest with cyclictest
    LinuxCyclictest,
    /// build/linux/bulkhead, the command for AArch64, and build/linux/measure.cpio with it.
    /// Only where it is named: it takes minutes
    LinuxMeasure,
    /// build/host-x86: an x86 host for QEMU, in which `cargo xtask host-x86` runs a system under KVM. Only where it is named:
    /// it takes minutes
    HostX86,
}

/// Builds these parts, or all if none is named. Files that would not change are left untouched.
pub fn run(workspace: &Workspace, parts: &[Part]) -> Result<()> {
    let named = |part: &Part| parts.contains(part);
    let takes_minutes = |part: &Part| matches!(part, Part::LinuxMeasure | Part::HostX86);
    let usual = |part: &Part| parts.is_empty() && !takes_minutes(part);
    for part in Part::value_variants().iter().filter(|part| named(part) || usual(part)) {
        match part {
            Part::Hypervisor => {
                hypervisor(workspace).context("the hypervisor cannot be built")?;
            }
            Part::Guests => {
                guests(workspace).context("the bare-metal guests cannot be built")?;
            }
            Part::GuestsX86 => {
                x86_guests(workspace).context("the guests for Linux/KVM cannot be built")?;
            }
            Part::Linux => {
                linux_guest::build(&workspace.build("cache"), &workspace.build("linux"))
                    .context("the Linux guest cannot be built")?;
            }
            Part::LinuxVictims => {
                let (cache, out) = (workspace.build("cache"), workspace.build("linux"));
                linux_guest::build_victims(&cache, &out)
                    .context("the programs of the Linux guest cannot be built")?;
            }
            Part::LinuxCyclictest => {
                let (cache, out) = (workspace.build("cache"), workspace.build("linux"));
                linux_guest::build_cyclictest(&cache, &out)
                    .context("the Linux guest with cyclictest cannot be built")?;
            }
            Part::LinuxMeasure => measure(workspace)
                .context("the bulkhead command for Linux on AArch64 cannot be built")?,
            Part::HostX86 => x86_host(workspace).context("the x86 host cannot be built")?,
        }
    }
    Ok(())
}

/// An option of the compiler: the image is smaller than 1 MiB, so that one instruction reaches all of it.
const CODE_MODEL: &str = "-Ccode-model=tiny";

fn hypervisor(workspace: &Workspace) -> Result<()> {
    compile_hypervisor(workspace, &[], &workspace.hypervisor_elf())
}

/// The hypervisor with marks where locks are taken and released, which no release has.
pub fn marked_hypervisor(workspace: &Workspace) -> Result<PathBuf> {
    let path = workspace.build("hypervisor-lock-marks.elf");
    compile_hypervisor(workspace, &["--features", "lock-marks"], &path)?;
    Ok(path)
}

/// Compiles the hypervisor, not in one command with the guests: cargo would give both the features that either of them asks for.
fn compile_hypervisor(workspace: &Workspace, features: &[&str], path: &Path) -> Result<()> {
    let mut command = Toolchain::chosen(workspace)?.cargo("rustc");
    command.current_dir(workspace.root()).args(["--package", HYPERVISOR, "--bins"]).args(features);
    let built = cargo::executables(command, &[CODE_MODEL])?;
    let [program] = built.as_slice() else {
        bail!("package {HYPERVISOR} has {} programs, expected one", built.len());
    };
    file::write_if_changed(path, &file::read(&program.path)?)
}

/// The whole command, for Linux guests and for boards.
fn measure(workspace: &Workspace) -> Result<()> {
    let (program, out) =
        (command(toolchain::guest_linux_cargo("build")?, workspace)?, workspace.build("linux"));
    file::write_if_changed(&out.join("bulkhead"), &program)?;
    linux_guest::build_measure(program, &workspace.build("cache"), &out)
}

fn x86_host(workspace: &Workspace) -> Result<()> {
    let program = command(toolchain::host_linux_cargo("build")?, workspace)?;
    linux_guest::host::build(program, &workspace.build("cache"), &workspace.build(X86_HOST))
}

/// The bytes of the `bulkhead` command, built by this cargo.
fn command(mut cargo: Command, workspace: &Workspace) -> Result<Vec<u8>> {
    cargo.current_dir(workspace.root()).args(["--release", "--package", "bulkhead"]);
    let built = cargo::executables(cargo, &[])?;
    let [program] = built.as_slice() else {
        bail!("package bulkhead has {} programs, expected one", built.len());
    };
    file::read(&program.path)
}

/// The folder of the x86 host in `build`.
pub const X86_HOST: &str = "host-x86";

/// A flat file for each program in the package of the guests.
fn guests(workspace: &Workspace) -> Result<()> {
    let mut command = Toolchain::chosen(workspace)?.cargo("build");
    command.args(["--package", GUESTS, "--bins"]);
    flat_files(workspace, command, &workspace.build("guests"))
}

fn x86_guests(workspace: &Workspace) -> Result<()> {
    let Some(mut command) = toolchain::x86_guest_cargo("build") else {
        println!(
            "left out: the guests for Linux/KVM, which need rustup and its target x86_64-unknown-none"
        );
        return Ok(());
    };
    command.args(["--package", GUESTS]);
    command.args(X86_GUESTS.iter().flat_map(|name| ["--bin", name]));
    flat_files(workspace, command, &workspace.build("guests").join("x86-64"))
}

/// Writes the programs that a command of cargo builds into a folder, as flat files.
fn flat_files(workspace: &Workspace, mut command: Command, folder: &Path) -> Result<()> {
    command.current_dir(workspace.root());
    for program in cargo::executables(command, &[])? {
        let flat = elf::flatten(&fs::read(&program.path)?)
            .with_context(|| format!("{} cannot be flattened", program.path.display()))?;
        file::write_if_changed(&folder.join(format!("{}.bin", program.name)), &flat.bytes)?;
    }
    Ok(())
}
