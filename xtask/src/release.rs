//! Builds what a release consists of: two archives, a package for Debian from each, and a wheel for Python, with their digests;
//! the same bytes whenever they are built from a commit.

mod archive;
mod contents;
mod deb;
mod dependencies;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::cargo;
use crate::toolchain;
use crate::workspace::Workspace;
use archive::Archive;

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Writes `build/release`, with this program `maturin` for the wheel, or prints which files the archives have.
pub fn run(workspace: &Workspace, list: bool, maturin: Option<PathBuf>) -> Result<()> {
    if !list {
        ensure_committed(workspace)?;
        ensure_described(workspace)?;
    }
    let programs = Programs::new(workspace)?;
    let name = format!("bulkhead-{VERSION}-{}", toolchain::host()?);
    let mut archives = [
        Archive { name: name.clone(), files: contents::main(workspace, &programs)? },
        Archive {
            name: format!("bulkhead-cachescope-{VERSION}-{}", toolchain::host()?),
            files: contents::cachescope(workspace, &programs)?,
        },
    ];
    if list {
        for archive in &archives {
            archive.files.keys().for_each(|path| println!("{}.tar.gz: {path}", archive.name));
        }
        // What the command itself writes is known when it is built.
        println!("{name}.tar.gz: {}/bulkhead*.1", contents::MAN);
        contents::COMPLETIONS.iter().for_each(|(_, path)| println!("{name}.tar.gz: {path}"));
        return Ok(());
    }

    let maturin = wheel::maturin(maturin)?;
    programs.build(workspace)?;
    archives[0].files.extend(contents::written_by(&programs.command())?);
    let folder = workspace.build("release");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let time = git(workspace, &["log", "-1", "--format=%ct"])?;
    let mut paths = Vec::new();
    for archive in &archives {
        // Both archives unpack into one folder: the command looks for the plugin there.
        paths.push(archive.write(&folder, &name, time.trim())?);
    }
    for (package, archive) in [deb::MAIN, deb::CACHESCOPE].iter().zip(&archives) {
        paths.push(package.write(&archive.files, &folder, time.trim())?);
    }
    paths.push(wheel::write(workspace, &programs, &maturin, &folder, time.trim())?);
    let mut digests = String::new();
    for path in paths {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let digest: String = Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect();
        digests.push_str(&format!("{digest}  {file}\n"));
        println!("release: {}", path.display());
    }
    let sums = folder.join("SHA256SUMS");
    fs::write(&sums, digests).with_context(|| format!("cannot write {}", sums.display()))
}

/// The programs of a release. They have a target folder of their own, because they are built without the paths of this machine.
pub struct Programs {
    target: PathBuf,
    flags: String,
}

impl Programs {
    fn new(workspace: &Workspace) -> Result<Self> {
        let root = workspace.root().display();
        let cargo = match std::env::var_os("CARGO_HOME") {
            Some(cargo) => PathBuf::from(cargo),
            None => std::env::home_dir().context("HOME is not set")?.join(".cargo"),
        };
        let flags = format!(
            "--remap-path-prefix={root}=/bulkhead\u{1f}--remap-path-prefix={}=/cargo",
            cargo.display()
        );
        Ok(Self { target: workspace.root().join("target/archives"), flags })
    }

    /// The command.
    pub fn command(&self) -> PathBuf {
        self.target.join("release/bulkhead")
    }

    /// The plugin.
    pub fn plugin(&self) -> PathBuf {
        self.target.join("cachescope/release/libbulkhead_cachescope.so")
    }

    fn build(&self, workspace: &Workspace) -> Result<()> {
        let this = std::env::current_exe().context("this program has no path")?;
        let mut bare = Command::new(this);
        bare.args(["build", "hypervisor", "guests", "guests-x86"]);
        let mut command = toolchain::host_cargo("build");
        command.args(["--release", "--locked", "--package", "bulkhead"]);
        let mut plugin = toolchain::host_cargo("build");
        plugin.args(["--release", "--locked", "--manifest-path", "cachescope/Cargo.toml"]);
        for (mut build, folder) in [bare, command, plugin].into_iter().zip(["", "", "cachescope"]) {
            build.current_dir(workspace.root());
            self.settings(&mut build, folder);
            cargo::run(build)?;
        }
        Ok(())
    }

    /// Sets what a build of programs needs, into this folder of the target folder.
    fn settings(&self, build: &mut Command, folder: &str) {
        build
            .env("CARGO_ENCODED_RUSTFLAGS", &self.flags)
            .env("CARGO_TARGET_DIR", self.target.join(folder));
    }
}

/// Fails if the work tree is not what its last commit is.
fn ensure_committed(workspace: &Workspace) -> Result<()> {
    let changes = git(workspace, &["status", "--porcelain"])?;
    ensure!(
        changes.is_empty(),
        "a release is built from a commit, and these files differ from it: commit or remove them\n{changes}"
    );
    Ok(())
}

/// Fails if the changelog does not say what is in this version.
fn ensure_described(workspace: &Workspace) -> Result<()> {
    let path = workspace.root().join("CHANGELOG.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let sections = text.lines().filter_map(|line| line.strip_prefix("## "));
    if !sections.into_iter().any(|title| title.split_whitespace().next() == Some(VERSION)) {
        bail!(
            "CHANGELOG.md has no section `## {VERSION}`: rename `## Unreleased`, or change `version` in Cargo.toml"
        );
    }
    Ok(())
}

/// Returns the output of a command of git.
fn git(workspace: &Workspace, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(workspace.root()).args(arguments).output();
    let output = output.context("cannot start git")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "failed: git {}: {errors}", arguments.join(" "));
    String::from_utf8(output.stdout).context("git names a file that is not UTF-8")
}

/// The files below these paths that are in the last commit.
fn tracked(workspace: &Workspace, paths: &[&str]) -> Result<Vec<String>> {
    let list = git(workspace, &[&["ls-files", "-z", "--"], paths].concat())?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
