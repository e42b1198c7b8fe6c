//! Keeps the hypervisor small.

use anyhow::{Context, Result, ensure};
use bulkhead_linux_guest::file;

use crate::elf::{self, ReadOnly};
use crate::workspace::Workspace;

/// Most bytes of code and read-only data that the hypervisor may have.
pub const LIMIT: u64 = 120 * 1024;

/// Prints the sizes and fails if they exceed the limit.
pub fn run(workspace: &Workspace) -> Result<()> {
    let size = measure(workspace)?;
    let total = size.total();
    println!(
        "hypervisor: {total} bytes (code {}, read-only data {}), limit {LIMIT}",
        size.code, size.rodata
    );
    ensure!(total <= LIMIT, "the hypervisor is {} bytes too large", total - LIMIT);
    Ok(())
}

/// The sizes of the hypervisor that was built last.
pub fn measure(workspace: &Workspace) -> Result<ReadOnly> {
    let path = workspace.hypervisor_elf();
    let file = file::read(&path).context("build it first: `make build`")?;
    elf::read_only(&file).with_context(|| format!("{} is not an ELF file", path.display()))
}
