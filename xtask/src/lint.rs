//! Clippy on everything, each crate for the machine that it runs on, and the links of the documentation.

use anyhow::Result;
use image::checkout::X86_GUESTS;

use crate::cargo;
use crate::toolchain::{self, Toolchain};
use crate::workspace::{GUEST_LIBRARY, GUESTS, HYPERVISOR, Workspace};

/// Fails on any warning.
pub fn run(workspace: &Workspace) -> Result<()> {
    // The first leaves out tests with `test = false`.
    for targets in [&["--all-targets"][..], &["--test", "*"]] {
        let mut host = toolchain::host_cargo("clippy");
        host.current_dir(workspace.root())
            .arg("--workspace")
            .args(targets)
            .args(["--", "--deny", "warnings"]);
        cargo::run(host)?;
    }

    let mut documentation = toolchain::host_cargo("doc");
    documentation
        .current_dir(workspace.root())
        .args(["--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "--deny warnings");
    cargo::run(documentation)?;

    // The Python package is a workspace of its own, which only `make test-python` and releases build.
    let mut lock = toolchain::host_cargo("update");
    lock.current_dir(workspace.root().join("python")).args(["--workspace", "--locked", "--quiet"]);
    cargo::run(lock)?;

    let cachescope = workspace.root().join("cachescope");
    let mut plugin = toolchain::host_cargo("clippy");
    plugin
        .current_dir(&cachescope)
        .args(["--workspace", "--all-targets", "--locked", "--target-dir", "target"])
        .args(["--", "--deny", "warnings"]);
    cargo::run(plugin)?;

    let toolchain = Toolchain::chosen(workspace)?;
    if toolchain == Toolchain::Debian {
        eprintln!("lint: bare-metal code is left out: Debian's compiler comes without clippy");
        return Ok(());
    }
    let mut bare = toolchain.cargo("clippy");
    bare.current_dir(workspace.root())
        .args(["--package", HYPERVISOR, "--package", GUEST_LIBRARY, "--package", GUESTS])
        .args(["--", "--deny", "warnings"]);
    cargo::run(bare)?;

    let Some(mut x86) = toolchain::x86_guest_cargo("clippy") else {
        eprintln!("lint: guests for Linux/KVM are left out: rustup cannot add their target");
        return Ok(());
    };
    x86.current_dir(workspace.root())
        .args(["--package", GUESTS])
        .args(X86_GUESTS.iter().flat_map(|name| ["--bin", name]))
        .args(["--", "--deny", "warnings"]);
    cargo::run(x86)
}
