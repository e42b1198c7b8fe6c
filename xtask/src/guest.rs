//! Bare-metal guests outside of this workspace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo;
use crate::elf;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;

/// The profile that [`Toolchain::cargo`] asks for, which the package need not have.
const PROFILE: [&str; 4] = [
    r#"profile.bare.inherits="release""#,
    r#"profile.bare.panic="abort""#,
    "profile.bare.lto=true",
    "profile.bare.codegen-units=1",
];

/// Builds the program of a package as a flat file.
pub fn run(workspace: &Workspace, folder: &Path, output: Option<PathBuf>) -> Result<()> {
    let manifest = folder.join("Cargo.toml");
    ensure!(manifest.is_file(), "there is no package in {}: no Cargo.toml", folder.display());
    let script = workspace.root().join("guests/rt/guest.ld");
    let mut command = Toolchain::chosen(workspace)?.cargo("rustc");
    command.current_dir(folder);
    for setting in PROFILE {
        command.args(["--config", setting]);
    }
    let link = format!("-Clink-arg=-T{}", script.display());
    let built = cargo::executables(command, &[&link, "-Clink-arg=-zmax-page-size=4096"])?;
    let [program] = &built[..] else {
        bail!("the package in {} has {} programs, expected one", folder.display(), built.len());
    };
    let flat = elf::flatten(&fs::read(&program.path)?)
        .with_context(|| format!("{} cannot be flattened", program.path.display()))?;
    let output = output.unwrap_or_else(|| folder.join(format!("{}.bin", program.name)));
    fs::write(&output, &flat.bytes)
        .with_context(|| format!("cannot write {}", output.display()))?;
    println!("{}: {} bytes for {:#x}", output.display(), flat.bytes.len(), flat.address);
    Ok(())
}
