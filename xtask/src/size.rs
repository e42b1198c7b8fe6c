//! Keeps the hypervisor small.

use anyhow::{Context, Result, ensure};
use linux_guest::file;

use crate::elf::{self, ReadOnly};
use crate::frames;
use crate::synchronised;
use crate::workspace::Workspace;

/// Most bytes of code and read-only data that the hypervisor may have.
pub const LIMIT: u64 = 188 * 1024;
/// Most bytes that a function may take from a stack at once; a CPU's stack in EL2 has 16 KiB.
const FRAME_LIMIT: u64 = 4096;

/// Prints the sizes and fails if they exceed the limit.
pub fn run(workspace: &Workspace) -> Result<()> {
    let size = measure(workspace)?;
    let total = size.total();
    println!(
        "hypervisor: {total} bytes (code {}, read-only data {}), limit {LIMIT}",
        size.code, size.rodata
    );
    ensure!(total <= LIMIT, "the hypervisor is {} bytes too large", total - LIMIT);
    let frame = frames::largest(&read(workspace)?)?;
    println!("largest frame: {} bytes, limit {FRAME_LIMIT}, {}", frame.bytes, frame.function);
    ensure!(frame.bytes <= FRAME_LIMIT, "{} takes too much of the stack", frame.function);
    let reads = synchronised::check(&read(workspace)?)?;
    println!("list registers: {reads} reads of what depends on them, all of them synchronised");
    Ok(())
}

/// The sizes of the hypervisor that was built last.
pub fn measure(workspace: &Workspace) -> Result<ReadOnly> {
    elf::read_only(&read(workspace)?)
        .with_context(|| format!("{} is not an ELF file", workspace.hypervisor_elf().display()))
}

fn read(workspace: &Workspace) -> Result<Vec<u8>> {
    file::read(&workspace.hypervisor_elf()).context("build it first: `make build`")
}
