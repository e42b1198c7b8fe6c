//! The files of a release. They lie as in the work tree, where the command looks for them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use image::checkout::X86_GUESTS;

use super::archive::{Files, Source};
use super::dependencies::Dependencies;
use super::{Programs, tracked};
use crate::workspace::{GUESTS, HYPERVISOR, Workspace};

/// Files and folders of the work tree.
const TEXTS: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "docs",
    "experiments",
    "packaging",
    "systems",
];

/// The folder of man pages, below `share` as systems have it.
pub const MAN: &str = "share/man/man1";

/// Shells, and where each looks for completions.
pub const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/bulkhead"),
    ("fish", "share/fish/vendor_completions.d/bulkhead.fish"),
    ("zsh", "share/zsh/site-functions/_bulkhead"),
];

/// Returns the files that the command itself writes: man pages and completions.
pub fn written_by(command: &Path) -> Result<Files> {
    let print = |arguments: &[&str]| {
        let output = Command::new(command).args(arguments).output();
        let output = output.with_context(|| format!("cannot start {}", command.display()))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "failed: bulkhead {}: {errors}", arguments.join(" "));
        Ok(output.stdout)
    };
    let mut files = Files::new();
    for (shell, path) in COMPLETIONS {
        files.insert((*path).into(), Source::Bytes(print(&["completions", shell])?));
    }
    let folder = tempfile::tempdir().context("cannot make a folder for man pages")?;
    let path = folder.path().to_str().context("a folder's name is not UTF-8")?;
    print(&["man", path])?;
    for page in folder.path().read_dir().context("cannot read the man pages")? {
        let page = page.context("cannot read the man pages")?;
        let name = page.file_name().to_string_lossy().into_owned();
        files.insert(format!("{MAN}/{name}"), Source::Bytes(super::read(&page.path())?));
    }
    Ok(files)
}

/// The command, the hypervisor and the bare-metal guests, with systems, experiments, documents, and recipes for Buildroot and Yocto.
pub fn main(workspace: &Workspace, programs: &Programs) -> Result<Files> {
    let mut files = texts(workspace, TEXTS)?;
    files.insert("bulkhead".into(), Source::Program(programs.command()));
    files.insert("build/hypervisor.elf".into(), Source::File(workspace.hypervisor_elf()));
    let dependencies = Dependencies::of(&workspace.root().join("Cargo.toml"))?;
    let guests = dependencies.programs(GUESTS);
    ensure!(!guests.is_empty(), "package {GUESTS} has no programs");
    let x86 = X86_GUESTS.iter().map(|guest| format!("x86-64/{guest}"));
    for guest in guests.into_iter().map(String::from).chain(x86) {
        let path = format!("build/guests/{guest}.bin");
        files.insert(path, Source::File(workspace.build(&format!("guests/{guest}.bin"))));
    }
    dependencies.add(&["bulkhead", HYPERVISOR, GUESTS], "", &mut files)?;
    Ok(files)
}

/// The plugin for QEMU, whose licence asks for its sources.
pub fn cachescope(workspace: &Workspace, programs: &Programs) -> Result<Files> {
    let mut files = texts(workspace, &["cachescope"])?;
    let plugin = "cachescope/target/release/libbulkhead_cachescope.so";
    files.insert(plugin.into(), Source::File(programs.plugin()));
    let dependencies = Dependencies::of(&workspace.root().join("cachescope/Cargo.toml"))?;
    dependencies.add(&["bulkhead-cachescope"], "cachescope/", &mut files)?;
    Ok(files)
}

fn texts(workspace: &Workspace, paths: &[&str]) -> Result<Files> {
    let paths = tracked(workspace, paths)?;
    let source = |path: &String| Source::File(workspace.root().join(path));
    Ok(paths.into_iter().map(|path| (path.clone(), source(&path))).collect())
}
