//! The compiler that builds for bare metal.
//!
//! `scripts/setup` decides, since it knows what can be installed, and writes
//! its choice to `build/toolchain`; nothing else looks for compilers.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::Workspace;

/// The bare-metal target.
pub const TARGET: &str = "aarch64-unknown-none-softfloat";

/// The target of guests of Linux/KVM on x86-64.
const X86: &str = "x86_64-unknown-none";

/// Programs for Linux guests that need no libraries.
const GUEST_LINUX: &str = "aarch64-unknown-linux-musl";

/// Programs for Linux on x86-64 that need no libraries.
const HOST_LINUX: &str = "x86_64-unknown-linux-musl";

/// A compiler that can build for [`TARGET`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Toolchain {
    /// The toolchain that runs this program; rustup has installed the target.
    Rustup,
    /// Debian's packages `rustc-web`, `cargo-web`, `rust-web-src` and
    /// `binutils-aarch64-linux-gnu`; `core` and `alloc` are built from source.
    Debian,
}

impl Toolchain {
    /// The choice of `scripts/setup`.
    pub fn chosen(workspace: &Workspace) -> Result<Self> {
        let path = workspace.build("toolchain");
        let choice = fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}: run scripts/setup first", path.display()))?;
        match choice.trim() {
            "rustup" => Ok(Self::Rustup),
            "debian" => Ok(Self::Debian),
            other => bail!(
                "{} says `{other}`, expected `rustup` or `debian`: run scripts/setup again",
                path.display()
            ),
        }
    }

    /// `cargo <subcommand>` for the bare-metal target and its profile.
    pub fn cargo(self, subcommand: &str) -> Command {
        let mut command = match self {
            Self::Rustup => host_cargo(subcommand),
            Self::Debian => debian_cargo(subcommand),
        };
        command.args(["--profile", "bare", "--target", TARGET]);
        command
    }
}

/// `cargo <subcommand>` of the toolchain that runs this program.
pub fn host_cargo(subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand);
    command
}

/// `cargo <subcommand>` for guests of Linux/KVM on x86-64; `None` if rustup, which has the standard
/// library for them, cannot add it here.
pub fn x86_guest_cargo(subcommand: &str) -> Option<Command> {
    add_target(X86).ok()?;
    let mut command = host_cargo(subcommand);
    command.args(["--profile", "bare", "--target", X86]);
    Some(command)
}

/// Adds the standard library of a target, if it is not there.
fn add_target(target: &str) -> Result<()> {
    let folder =
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    let folder = folder.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    if folder.is_ok_and(|folder| !folder.is_empty() && Path::new(&folder).is_dir()) {
        return Ok(());
    }
    let installed = Command::new("rustup").args(["target", "add", target]).status();
    let installed = installed.with_context(|| {
        format!("cannot start rustup, which has the standard library for {target}: see https://rustup.rs")
    })?;
    ensure!(installed.success(), "failed: rustup target add {target}");
    Ok(())
}

/// `cargo <subcommand>` for programs of Linux on AArch64 that need no libraries there.
pub fn guest_linux_cargo(subcommand: &str) -> Result<Command> {
    musl_cargo(subcommand, GUEST_LINUX)
}

/// `cargo <subcommand>` for programs of Linux on x86-64 that need no libraries there.
pub fn host_linux_cargo(subcommand: &str) -> Result<Command> {
    musl_cargo(subcommand, HOST_LINUX)
}

/// The linker and the C library come with the compiler.
fn musl_cargo(subcommand: &str, target: &str) -> Result<Command> {
    add_target(target)?;
    let mut command = host_cargo(subcommand);
    let variable = format!("CARGO_TARGET_{}", target.replace('-', "_").to_uppercase());
    command
        .args(["--target", target])
        .env(format!("{variable}_LINKER"), "rust-lld")
        .env(format!("{variable}_RUSTFLAGS"), "-Clink-self-contained=yes -Cstrip=symbols");
    Ok(command)
}

/// The target of this machine, for example `x86_64-unknown-linux-gnu`.
pub fn host() -> Result<String> {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).output();
    let output = output.context("cannot start rustc")?;
    ensure!(output.status.success(), "rustc does not tell the target of this machine");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Debian ships no `core` for the target, so that it is built with the program.
/// A stable compiler allows this only under `RUSTC_BOOTSTRAP`.
fn debian_cargo(subcommand: &str) -> Command {
    let mut command = Command::new("/usr/bin/cargo");
    command
        .args([subcommand, "-Zbuild-std=core,alloc,compiler_builtins"])
        .env("RUSTC", "/usr/bin/rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_AARCH64_UNKNOWN_NONE_SOFTFLOAT_LINKER", "aarch64-linux-gnu-ld")
        // Libraries of the toolchain that runs this program.
        .env_remove("LD_LIBRARY_PATH");
    command
}
