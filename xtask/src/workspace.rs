//! The places of things in the work tree.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Package of the hypervisor.
pub const HYPERVISOR: &str = "bulkhead-hypervisor";
/// Package of the bare-metal guests.
pub const GUESTS: &str = "bulkhead-programs";
/// Package of the library that guests use.
pub const GUEST_LIBRARY: &str = "bulkhead-rt";

/// The work tree.
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The work tree that this program belongs to; cargo tells where.
    pub fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .context("CARGO_MANIFEST_DIR is not set: run this program as `cargo xtask`")?;
        let root = Path::new(&manifest).parent().context("xtask lies in no folder")?.to_owned();
        Ok(Self { root })
    }

    /// Folder of the root `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below `build/`, where everything is put that is built for a run.
    pub fn build(&self, path: &str) -> PathBuf {
        self.root.join("build").join(path)
    }

    /// The hypervisor with its symbols.
    pub fn hypervisor_elf(&self) -> PathBuf {
        self.build("hypervisor.elf")
    }
}
